"""
A stream that changes
=====================

``partial_fit`` learns from chunks of any size; ``drift_`` tells when a chunk is not what the model has
learnt.
"""

# %%
# Four clusters; after forty chunks they begin to wander.
import matplotlib.pyplot as plt
import numpy as np

from powerkmeans import KernelPowerKMeans

rng = np.random.default_rng(0)
centers = 8 * rng.normal(size=(4, 5))
way = rng.normal(size=(4, 5))
model = KernelPowerKMeans(4, feature_map="identity", random_state=0)
for chunk in range(80):
    moved = centers + 0.15 * max(0, chunk - 40) * way
    model.partial_fit(moved[rng.integers(4, size=200)] + rng.normal(size=(200, 5)))

# %%
# The first chunks are collected until there are enough for a fit, so the history begins after them.
history = model.stream_history_
figure, axis = plt.subplots(figsize=(7, 3), layout="constrained")
axis.plot(history["n_seen"], history["drift"], ".-")
axis.axvline(41 * 200, color="0.3", linestyle=":")
axis.text(41 * 200, axis.get_ylim()[1], " clusters begin to move", va="top", color="0.3")
axis.set(xlabel="samples seen", ylabel="drift_", title="mean loss of a chunk beside the running one")
plt.show()
