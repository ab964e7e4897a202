from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from powerkmeans.metrics import clustering_accuracy, normalized_mutual_info, purity

labels = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30)


@given(labels)
def test_accuracy_is_the_best_over_all_matchings(pairs):
    true, pred = np.array(pairs).T
    best = max(np.mean(np.array(p)[pred] == true) for p in permutations(range(4)))
    assert clustering_accuracy(true, pred) == pytest.approx(best)


@given(labels)
def test_purity_is_never_below_accuracy(pairs):
    true, pred = np.array(pairs).T
    majority = sum(np.bincount(true[pred == j]).max() for j in np.unique(pred))
    assert purity(true, pred) == pytest.approx(majority / len(true))
    assert purity(true, pred) >= clustering_accuracy(true, pred) - 1e-12


def test_nmi_is_geometric_by_default():
    true, pred = [0, 0, 0, 1, 1, 2], [0, 0, 1, 1, 1, 1]
    joint = np.array([[2, 1], [0, 2], [0, 1]]) / 6
    rows, columns = joint.sum(axis=1), joint.sum(axis=0)
    information = sum(p * np.log(p / (rows[i] * columns[j])) for (i, j), p in np.ndenumerate(joint) if p > 0)
    entropies = [-np.sum(p * np.log(p)) for p in (rows, columns)]
    assert normalized_mutual_info(true, pred) == pytest.approx(information / np.sqrt(np.prod(entropies)))
    assert normalized_mutual_info(true, pred, average_method="arithmetic") == pytest.approx(
        information / np.mean(entropies)
    )


def test_names_of_labels_do_not_matter():
    true, pred = ["a", "a", "b", "c"], [7, 7, -1, 3]
    assert clustering_accuracy(true, pred) == 1.0
    assert purity(true, pred) == 1.0
    assert normalized_mutual_info(true, pred) == pytest.approx(1.0)


@pytest.mark.parametrize("metric", [clustering_accuracy, normalized_mutual_info, purity])
@pytest.mark.parametrize(
    ("true", "pred", "message"),
    [
        ([0, 1], [0], "y_true has 2 labels and y_pred has 1"),
        ([], [], "y_true must be a non-empty 1-D array"),
        ([0, 1], [[0, 1]], "y_pred must be a non-empty 1-D array of labels, got shape"),
        ([0, np.nan], [0, 1], "y_true contains NaN"),
    ],
)
def test_bad_labels_are_named(metric, true, pred, message):
    with pytest.raises(ValueError, match=message):
        metric(true, pred)
