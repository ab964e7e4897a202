"""
Several views, one of them noise, some of them missing
======================================================

Handwritten digits as the upper and the lower half of the image, and a third view that has nothing to do with
them. A fifth of the samples lacks the lower half.
"""

# %%
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from powerkmeans import MultiViewPowerKMeans, explain_views
from powerkmeans.metrics import clustering_accuracy
from powerkmeans.plotting import ConvergenceDisplay, ViewContributionDisplay

X, y = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
views = {"upper half": X[:, :32], "lower half": X[:, 32:].copy(), "noise": rng.normal(size=(len(X), 20))}
lacking = rng.random(len(X)) < 0.2
views["lower half"][lacking] = np.nan  # a row of NaN is a missing view

# %%
# One graph of all views, and a kernel for each view. The latter warns that one view has nothing to do with the
# clusters.
graph = MultiViewPowerKMeans(10, feature_map="graph", random_state=0).fit(views)
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    kernels = MultiViewPowerKMeans(10, feature_map="nystroem", random_state=0).fit(views)
print(told[0].message)

# %%
# Samples that lack a view are labelled by those that they have.
for name, rows in {"with all views": ~lacking, "without the lower half": lacking}.items():
    for title, model in {"graph": graph, "kernels": kernels}.items():
        print(f"{title}, accuracy {name}: {clustering_accuracy(y[rows], model.labels_[rows]):.2f}")
table = explain_views(graph, views)
print(table)

# %%
# What each view contributes to the graph, by the neighbours that samples have in it.
ViewContributionDisplay.from_predictions(table)
plt.show()

# %%
# The weights of kernels are learnt along the annealing.
ConvergenceDisplay.from_estimator(kernels)
plt.show()
