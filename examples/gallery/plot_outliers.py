"""
Outliers: harmless, and named
=============================

With ``membership="possibilistic"`` a sample that is far from every centroid hardly pulls on any of them, and
its typicality tells that it is far.
"""

# %%
# Three clusters, and 80 samples from nowhere.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import roc_auc_score

from powerkmeans import KernelPowerKMeans

clean, y = make_blobs(300, centers=[[0, 0], [4, 0], [2, 3.5]], cluster_std=0.6, random_state=0)
noise = np.random.default_rng(0).uniform([-12, -8], [16, 12], size=(80, 2))
X = np.vstack([clean, noise])

# %%
# Take a quantile of the scores for the threshold; what lies above it is labelled -1.
model = KernelPowerKMeans(3, feature_map="nystroem", membership="possibilistic", random_state=0).fit(X)
scores = model.outlier_score(X)
labels = model.predict(X, noise_threshold=np.quantile(scores, 0.8))
auc = roc_auc_score(np.arange(len(X)) >= len(clean), scores)
print(f"AUC of the outlier score: {auc:.3f}")

# %%
figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained", sharex=True, sharey=True)
kmeans = KMeans(3, n_init=10, random_state=0).fit(X)
axes[0].scatter(*X.T, c=[f"C{label}" for label in kmeans.labels_], s=10)
axes[0].plot(*kmeans.cluster_centers_.T, "kx", markersize=9, markeredgewidth=2)
axes[0].set_title("k-means")
axes[1].scatter(*X.T, c=["0.6" if label < 0 else f"C{label}" for label in labels], s=10)
axes[1].set_title("ours, a fifth set aside")
points = axes[2].scatter(*X.T, c=scores, s=10, cmap="viridis")
axes[2].set_title("outlier score")
figure.colorbar(points, ax=axes[2])
for axis in axes:
    axis.set(xticks=[], yticks=[])
plt.show()
