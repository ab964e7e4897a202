"""
How many clusters?
==================

``choose_k`` sets what k clusters explain beside what they explain of noise, asks whether the clusters come
back under resampling, and says in words what it recommends.
"""

# %%
import matplotlib.pyplot as plt
from sklearn.datasets import make_blobs

from powerkmeans import choose_k
from powerkmeans.plotting import KChoiceDisplay

X, _ = make_blobs(400, centers=5, n_features=8, cluster_std=2.5, random_state=1)
choice = choose_k(X, k_max=9, random_state=0)
print(choice.reason)

# %%
KChoiceDisplay.from_choice(choice)
plt.show()

# %%
# Where there is nothing, it says so.
nothing, _ = make_blobs(400, centers=1, n_features=8, random_state=1)
print(choose_k(nothing, k_max=9, random_state=0).reason)
