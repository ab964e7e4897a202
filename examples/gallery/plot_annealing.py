"""
How the annealing opens clusters
================================

All centroids start next to each other, at the mean. As the exponent ``s`` falls they stay there until the
*critical exponent*; beyond it the largest structure opens first, and smaller ones follow.
"""

# %%
# Six clusters in thirty dimensions: two groups of three.
import warnings

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

from powerkmeans import KernelPowerKMeans, critical_exponent

rng = np.random.default_rng(0)
groups = 0.8 * rng.normal(size=(2, 30))
centers = (groups[:, None] + 0.6 * rng.normal(size=(2, 3, 30))).reshape(6, 30)
X = np.repeat(centers, 100, axis=0) + rng.normal(size=(600, 30))

# %%
# The critical exponent comes from the data alone, before anything is fitted.
critical = critical_exponent(X)
print(f"critical exponent {critical:.2f}")

# %%
# A slow annealing that starts a little before it. With a given ``s_init`` nothing is done but the annealing, so
# that a fit of at most ``n`` iterations shows where the centroids are after ``n`` of them.
slow = KernelPowerKMeans(
    6,
    feature_map="identity",
    init="cloud",
    s_init=0.9 * critical,
    anneal_every=6,
    max_iter=400,
    tol=0,
    random_state=0,
)
paths, exponents = [], []
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ConvergenceWarning)  # stopped on the way, on purpose
    for n_iter in range(1, 400, 10):
        model = slow.set_params(max_iter=n_iter).fit(X)
        found = model.cluster_centers_
        if paths:  # every fit numbers its clusters anew
            found = found[linear_sum_assignment(cdist(paths[-1], found))[1]]
        paths.append(found)
        exponents.append(model.history_["s"][-1])
paths, exponents = np.array(paths), np.array(exponents)
spread = np.linalg.norm(paths - paths.mean(axis=1, keepdims=True), axis=2).T

# %%
# On the left the paths of the centroids through the plane of the two largest principal components; on the right
# how far each is from their middle.
plane = PCA(2).fit(X)
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
left.scatter(*plane.transform(X).T, s=6, color="0.8")
for cluster in range(6):
    left.plot(*plane.transform(paths[:, cluster]).T, color=f"C{cluster}")
    left.plot(*plane.transform(paths[-1:, cluster]).T, "o", color=f"C{cluster}", markeredgecolor="white")
    right.plot(-exponents, spread[cluster], color=f"C{cluster}")
left.set(xlabel="first principal component", ylabel="second", title="paths of the centroids")
right.axvline(-critical, color="0.3", linestyle=":")
right.text(-critical, right.get_ylim()[1], " critical exponent", va="top", color="0.3")
right.set(xscale="log", xlabel="|s|", ylabel="distance from their middle", title="what opens when")
plt.show()
