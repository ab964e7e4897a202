"""
Texts about topics of uneven size
=================================

Word counts are rows of very different totals with mostly zeros. ``metric="cosine"`` compares them by their mix of
words, and sparse rows stay sparse. A cost of the k-means kind gains more from a large topic cut in two than from a
small one found; neighbours of a text are about its topic, however small that is.
"""

# %%
# Texts of 30 to 150 words, of which everybody uses most; one in seven or so comes from the topic.
import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse import csr_array

from powerkmeans import KernelPowerKMeans
from powerkmeans.metrics import clustering_accuracy

TOPICS = {
    "cooking": (600, "oven butter onion simmer garlic flour pepper roast dough basil"),
    "sailing": (250, "anchor rudder harbour tide mast keel knot deck compass buoy"),
    "astronomy": (100, "orbit comet galaxy telescope nebula planet eclipse meteor lunar quasar"),
    "chess": (40, "bishop gambit checkmate rook pawn castle endgame knight queen opening"),
    "bees": (20, "hive nectar pollen swarm honey drone wax larva comb apiary"),
}
rng = np.random.default_rng(0)
filler = [f"word{i}" for i in range(400)]
vocabulary = np.array(filler + [word for _, words in TOPICS.values() for word in words.split()])
common = np.concatenate([rng.dirichlet(np.full(400, 0.5)), np.zeros(len(vocabulary) - 400)])


def text(words):
    """Counts of one text about a topic that has these words."""
    of_topic = np.isin(vocabulary, words.split()).astype(float)
    mix = 0.85 * common + 0.15 * of_topic / of_topic.sum()
    return rng.multinomial(rng.integers(30, 150), mix)


y = np.repeat(np.arange(len(TOPICS)), [size for size, _ in TOPICS.values()])
words = [words for _, words in TOPICS.values()]
X = csr_array(np.array([text(words[topic]) for topic in y], dtype=float))
print(f"{X.shape[0]} texts, {X.shape[1]} words, {X.nnz / np.prod(X.shape):.0%} of the counts are not zero")

# %%
# Landmarks of a kernel, and the graph. Where topics have hardly a word in common it may be the other way round:
# the guide to the graph says why, among its limits.
models = {
    name: KernelPowerKMeans(len(TOPICS), feature_map=name, metric="cosine", random_state=0).fit(X)
    for name in ("nystroem", "graph")
}
for name, model in models.items():
    print(f"{name}: accuracy {clustering_accuracy(y, model.labels_):.2f}, sizes {np.bincount(model.labels_)}")


# %%
# What a cluster is about: the words that make up more of its texts than of the others'.
def top_words(labels, cluster):
    inside, outside = (np.asarray(X[rows].sum(axis=0)).ravel() for rows in (labels == cluster, labels != cluster))
    best = np.argsort(outside / outside.sum() - inside / inside.sum())[:4]
    return "{} {}\n{} {}".format(*vocabulary[best])


figure, axes = plt.subplots(1, 2, figsize=(10.5, 3.8), layout="constrained", sharex=True)
for axis, (name, model) in zip(axes, models.items(), strict=True):
    order = np.argsort(np.bincount(model.labels_))
    left = np.zeros(len(order))
    for topic, title in enumerate(TOPICS):
        counts = np.array([np.sum((model.labels_ == cluster) & (y == topic)) for cluster in order])
        axis.barh(range(len(order)), counts, left=left, color=f"C{topic}", label=title)
        left += counts
    axis.set_yticks(range(len(order)), [top_words(model.labels_, cluster) for cluster in order])
    axis.set_title(f"{name}: accuracy {clustering_accuracy(y, model.labels_):.2f}")
    axis.set(xlabel="texts", xlim=(0, 650))
axes[1].legend(frameon=False, title="written about")
plt.show()
