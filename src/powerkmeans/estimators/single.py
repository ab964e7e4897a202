"""What a fitted model of one view says of samples."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from powerkmeans.compute.lazy import at_cluster
from powerkmeans.estimators.base import Path, PowerKMeansBase, target
from powerkmeans.estimators.kinds import answers_alike
from powerkmeans.inputs.views import check_single_view
from powerkmeans.objective.block import block_probabilities
from powerkmeans.types import Array, Views


class SingleViewAnswers(PowerKMeansBase):
    """Answers for one table of samples."""

    @answers_alike
    def predict(
        self, X: Any, *, noise_threshold: float | None = None, out: Path = None, overwrite: bool = False
    ) -> Array:
        """Return the cluster of each sample: the one of largest probability.

        With ``noise_threshold``, samples whose outlier score is above it get -1. With ``out``, answers go to that
        .npy file as they come, and are returned as a memory map of it; a file that exists is kept, which is an
        error, unless ``overwrite=True``.
        """
        return self._labels(self._new(X), noise_threshold, target(out, overwrite))

    @answers_alike
    def predict_proba(self, X: Any, *, out: Path = None, overwrite: bool = False) -> Array:
        """Return each sample's membership of each cluster; rows sum to one.

        ``out`` and ``overwrite`` are as in :meth:`predict`.
        """
        return self._apply(self._new(X), block_probabilities, target(out, overwrite))

    @answers_alike
    def transform(self, X: Any, *, out: Path = None, overwrite: bool = False) -> Array:
        """Return the distance of each sample to each centroid in feature space.

        ``out`` and ``overwrite`` are as in :meth:`predict`.
        """
        return self._distances(self._new(X), target(out, overwrite))

    @answers_alike
    def typicality(self, X: Any, *, out: Path = None, overwrite: bool = False) -> Array:
        """Return how typical each sample is of its nearest cluster, in [0, 1].

        An error for ``membership="fuzzy"`` without a graph, which has no notion of it.
        ``out`` and ``overwrite`` are as in :meth:`predict`.
        """
        return self._typicality(self._new(X), target(out, overwrite))

    @answers_alike
    def outlier_score(self, X: Any, *, out: Path = None, overwrite: bool = False) -> Array:
        """Return ``1 - typicality``: the larger, the farther from every cluster.

        It approaches 1 in a graph and for ``feature_map="identity"``. In the feature space of a kernel no sample
        is farther than a bounded distance, so scores have a ceiling below 1: rank by them. An error for
        ``membership="fuzzy"`` without a graph; fit with ``"auto"`` or ``"possibilistic"`` to find outliers.
        ``out`` and ``overwrite`` are as in :meth:`predict`.
        """
        return self._typicality(self._new(X), target(out, overwrite), scores=True)

    def medoid_indices(self, X: Any, *, sample_weight: Any = None) -> Array:
        """Return for each cluster the index of the row of ``X`` that stands for it.

        It is the one nearest to the centroid in feature space among the cluster's own rows, the first of equals;
        -1 where the cluster has no row of positive weight. Of the training rows ``medoid_indices_`` are known:
        ``X[model.medoid_indices_]`` is a real sample for each cluster.
        """
        return self._medoids(self._new(X, sample_weight))

    def cluster_means(self, X: Any, *, sample_weight: Any = None) -> Array:
        """Return the weighted mean of each cluster's rows in the columns of ``X``, (n_clusters, n_features).

        Centroids are points of a feature space, which may have no counterpart among rows; these are in the units
        of the columns that were passed. NaN where a cluster has no row of positive weight.
        """
        (means,) = self._means(self._new(X, sample_weight)).values()
        return means

    def score(self, X: Any, y: None = None, sample_weight: Any = None) -> float:
        r"""Return how well the clusters fit the kernel: 1 at best, 0 where they explain nothing.

        It is the centred alignment of the kernel with that of the clusters (same cluster or not),

        .. math:: \frac{T - W}{\sqrt{k - 1}\, \|K\|},

        with T the mean squared distance of the samples to the mean of the training samples in feature space, W
        that to their nearest centroid, and :math:`\|K\|` the root mean square of the centred kernel over all
        pairs, on at most 1000 samples. What k clusters explain by chance they explain the more easily the fewer
        directions a kernel has, and :math:`T / \|K\|` is the root of that number. So scores of different
        bandwidths and kernels can be compared: a kernel that is too flat has fewer directions than clusters, one
        that is too narrow far more. A graph is drawn for its clusters, and scores higher than kernels do. Numbers
        of clusters are not compared by it (:func:`choose_k` is for them), nor are thin shapes good clusters to any
        kernel.
        """
        return self._score(self._new(X, sample_weight))

    def _check_new(self, X: Any, present: Any, sample_weight: Any) -> Views:
        if present is not None:
            raise ValueError("present= is for several views; KernelPowerKMeans has one.")
        return self._new(X, sample_weight)

    def _new(self, X: Any, sample_weight: Any = None) -> Views:
        check_is_fitted(self)
        with at_cluster(self.engine):
            return check_single_view(self, X, sample_weight, fitting=False)
