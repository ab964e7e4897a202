"""
Clusters of any shape
=====================

k-means wants balls. A kernel bends them a little, at one bandwidth for all. ``feature_map="graph"`` asks instead
who is a neighbour of whom, and follows moons, rings and spirals as far as neighbours lead. Blobs cost it nothing.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs, make_circles, make_moons

from powerkmeans import KernelPowerKMeans
from powerkmeans.metrics import clustering_accuracy


def spirals(n_rows, n_arms=3):
    """Arms that turn once around the middle."""
    rng = np.random.default_rng(0)
    y = np.arange(n_rows) % n_arms
    turned = rng.uniform(0.15, 1, n_rows)
    angle = 2 * np.pi * (turned + y / n_arms)
    X = turned[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return X + rng.normal(0, 0.02, X.shape), y


shapes = {
    "moons": make_moons(500, noise=0.07, random_state=0),
    "rings": make_circles(500, factor=0.45, noise=0.06, random_state=0),
    "spirals": spirals(600),
    "blobs": make_blobs(600, centers=5, cluster_std=[0.4, 1.0, 0.5, 1.4, 0.8], random_state=6),
}

# %%
# The same three methods on each, in the columns as they are. Landmarks of a kernel get more than they would by
# default, so that it is not their number that they fail by.
methods = {
    "k-means": lambda k: KMeans(k, n_init=10, random_state=0),
    "landmarks of a kernel": lambda k: KernelPowerKMeans(
        k, feature_map="nystroem", n_components=300, random_state=0
    ),
    "graph": lambda k: KernelPowerKMeans(k, feature_map="graph", random_state=0),
}
figure, axes = plt.subplots(len(methods), len(shapes), figsize=(10, 7.6), layout="constrained")
for column, (shape, (X, y)) in zip(axes.T, shapes.items(), strict=True):
    for axis, make in zip(column, methods.values(), strict=True):
        labels = make(y.max() + 1).fit_predict(X)
        axis.scatter(*X.T, c=[f"C{label}" for label in labels], s=5)
        axis.set_title(f"{shape}: {clustering_accuracy(y, labels):.2f}", fontsize=10)
        axis.set(aspect="equal", adjustable="datalim", xticks=[], yticks=[])
for axis, method in zip(axes[:, 0], methods, strict=True):
    axis.set_ylabel(method)
plt.show()
