"""
Does it get stuck?
==================

k-means ends in the optimum that is nearest to where it starts. The same data, twenty starts each: how much
more than the best known cost does each run pay?
"""

# %%
# A grid of five by five blobs, in which k-means++ often puts two centroids into one of them.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans

from powerkmeans import KernelPowerKMeans

rng = np.random.default_rng(0)
grid = np.stack(np.meshgrid(np.arange(5), np.arange(5)), axis=-1).reshape(-1, 2)
X = np.repeat(grid, 40, axis=0) + 0.15 * rng.normal(size=(1000, 2))

# %%
# ``feature_map="identity"`` works on the columns as they are, so that the costs are those of k-means.
kmeans = [KMeans(25, n_init=1, random_state=seed).fit(X).inertia_ for seed in range(20)]
ours = [KernelPowerKMeans(25, feature_map="identity", random_state=seed).fit(X).inertia_ for seed in range(20)]
best = min(kmeans + ours)
print(f"mean cost over the best: k-means {np.mean(kmeans) / best:.3f}, ours {np.mean(ours) / best:.3f}")

# %%
figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", width_ratios=[1, 1.3])
stuck = KMeans(25, n_init=1, random_state=int(np.argmax(kmeans))).fit(X)
axes[0].scatter(*X.T, c=stuck.labels_, s=5, cmap="prism", alpha=0.5)
axes[0].plot(*stuck.cluster_centers_.T, "kx", markersize=8, markeredgewidth=2)
axes[0].set(title="the worst of the runs of k-means", aspect="equal", xticks=[], yticks=[])
axes[1].plot(sorted(np.array(kmeans) / best), "o-", color="C1", label="KMeans(n_init=1)")
axes[1].plot(sorted(np.array(ours) / best), "o-", color="C0", label="KernelPowerKMeans")
axes[1].set(
    xlabel="run, from best to worst",
    ylabel="cost / best known cost",
    title="twenty starts",
    xticks=range(0, 20, 5),
)
axes[1].legend(frameon=False)
plt.show()
