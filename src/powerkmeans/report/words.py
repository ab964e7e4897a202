"""What the page calls near, typical and explained: with centroids, and with a graph of neighbours."""

from __future__ import annotations

from typing import NamedTuple

from powerkmeans.estimators.base import PowerKMeansBase


class Words(NamedTuple):
    """Sentences that depend on what the features of a model are.

    space : what the first map shows
    apart : what the second map shows
    far_from : whose distance makes an outlier
    usual, share : what stands below the figures of typicality and of what is explained
    cluster, typicality, explained, separation : entries of the glossary
    """

    space: str
    apart: str
    far_from: str
    usual: str
    share: str
    cluster: str
    typicality: str
    explained: str
    separation: str


CENTROIDS = Words(
    space="the feature space",
    apart="The same samples, by the two directions of the feature space that best tell their clusters apart "
    "(discriminants). It makes the most of every gap; how far clusters are from each other means little here.",
    far_from="distance to the nearest centroid",
    usual="median; 1 is on a centroid",
    share="of the spread is between clusters",
    cluster="A group of samples that are near the same centroid in the feature space.",
    typicality="How near a sample is to its centroid at all, from 1 (on it) to 0; the outlier score is one minus "
    "that. A sample may be a clear member of a cluster and still be far from it.",
    explained="The share of the spread that lies between clusters rather than within them: of the feature space, "
    "of a view or of a column.",
    separation="How much nearer samples are to their own centroid than to the next one, within one view; at 0 the "
    "view does not tell the clusters apart.",
)
NEIGHBOURS = Words(
    space="the columns",
    apart="The same samples by their coordinates in the graph, turned so that clusters cover each other least: "
    "a sample with neighbours in two clusters stands between them. Within a cluster samples are spread by their "
    "columns, enlarged to be seen; how far clusters are from each other means little here.",
    far_from="distance to its neighbours",
    usual="median; 0.67 amid a cluster",
    share="of neighbours are of one cluster, beyond chance",
    cluster="A group of samples that chains of near neighbours connect.",
    typicality="How near a sample's neighbours are, and how many of them are of one cluster: about 0.67 for a "
    "usual sample amid its cluster, towards 0 for one that is far from everyone; the outlier score is one "
    "minus that.",
    explained="Of all samples or of a view: how many of a sample's neighbours are of its cluster, beyond what "
    "chance gives. Of a column: the share of its spread that lies between clusters rather than within "
    "them.",
    separation="By how much neighbours in one view vote for a sample's own cluster rather than for the next one; "
    "at 0 the view does not tell the clusters apart.",
)


def words_of(estimator: PowerKMeansBase) -> Words:
    """The words for a model."""
    return NEIGHBOURS if estimator._fit.model.fuses else CENTROIDS
