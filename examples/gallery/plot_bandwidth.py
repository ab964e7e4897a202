"""
The bandwidth follows the shape
===============================

The default bandwidth of a kernel is the median distance between samples. It is right for compact clusters; thin
shapes need about their own width, or a graph, which has no bandwidth. What the kernel looks like from one sample
shows why.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import rbf_kernel

from powerkmeans import KernelPowerKMeans
from powerkmeans.metrics import clustering_accuracy

X, y = make_moons(500, noise=0.06, random_state=0)

# %%
# Top: how similar every sample is to the one that is marked. Bottom: the clusters.
figure, axes = plt.subplots(2, 3, figsize=(9, 5), layout="constrained", sharex=True, sharey=True)
marked = int(np.argmin(np.linalg.norm(X - [-0.5, 0.8], axis=1)))
for (above, below), bandwidth in zip(axes.T, ["median", 0.5, 0.2], strict=True):
    model = KernelPowerKMeans(
        2, feature_map="nystroem", bandwidth=bandwidth, n_components=300, random_state=0
    ).fit(X)
    similar = rbf_kernel(X, X[[marked]], gamma=1 / (2 * model.bandwidth_**2)).ravel()
    above.scatter(*X.T, c=similar, s=8, cmap="viridis", vmin=0, vmax=1)
    above.plot(*X[marked], "o", color="none", markeredgecolor="C3", markersize=12, markeredgewidth=2)
    above.set_title(f"bandwidth {model.bandwidth_:.2f}" + (" (median)" if bandwidth == "median" else ""))
    below.scatter(*X.T, c=np.array(["C0", "C1"])[model.labels_], s=8)
    below.set_title(f"accuracy {clustering_accuracy(y, model.labels_):.2f}")
for axis in axes.flat:
    axis.set(aspect="equal", xticks=[], yticks=[])
plt.show()
