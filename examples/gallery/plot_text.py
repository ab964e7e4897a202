"""
Texts about topics of uneven size
=================================

Word counts are rows of very different totals with mostly zeros. ``metric="cosine"`` compares them by their mix of
words, and sparse rows stay sparse. Large topics tempt every k-means to split them and to merge small ones; neighbours
do not care how many others there are.
"""

# %%
# Texts of 30 to 150 words: half of the words everybody uses, half come from the topic.
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
    mix = 0.75 * common + 0.25 * of_topic / of_topic.sum()
    return rng.multinomial(rng.integers(30, 150), mix)


y = np.repeat(np.arange(len(TOPICS)), [size for size, _ in TOPICS.values()])
words = [words for _, words in TOPICS.values()]
X = csr_array(np.array([text(words[topic]) for topic in y], dtype=float))
print(f"{X.shape[0]} texts, {X.shape[1]} words, {X.nnz / np.prod(X.shape):.0%} of the counts are not zero")
