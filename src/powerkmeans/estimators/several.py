"""What a fitted model of several views says of samples."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from powerkmeans.compute.lazy import at_cluster
from powerkmeans.estimators.base import Path, PowerKMeansBase, target
from powerkmeans.estimators.kinds import answers_alike
from powerkmeans.inputs.views import check_new_views
from powerkmeans.objective.block import block_probabilities
from powerkmeans.types import Array, Views


class SeveralViewsAnswers(PowerKMeansBase):
    """Answers for views of samples, some of which may be missing."""

    @answers_alike
    def predict(
        self,
        X: Any,
        *,
        present: Any = None,
        noise_threshold: float | None = None,
        out: Path = None,
        overwrite: bool = False,
    ) -> Array:
        """Return the cluster of each sample: the one of largest probability.

        With ``noise_threshold``, samples whose outlier score is above it get -1. With ``out``, answers go to that
        .npy file as they come, and are returned as a memory map of it; a file that exists is kept, which is an
        error, unless ``overwrite=True``. ``present`` is as in :meth:`fit`.
        """
        return self._labels(self._check_new(X, present), noise_threshold, target(out, overwrite))

    @answers_alike
    def predict_proba(self, X: Any, *, present: Any = None, out: Path = None, overwrite: bool = False) -> Array:
        """Return each sample's membership of each cluster; rows sum to one.

        ``out`` and ``overwrite`` are as in :meth:`predict`; ``present`` as in :meth:`fit`.
        """
        return self._apply(self._check_new(X, present), block_probabilities, target(out, overwrite))

    @answers_alike
    def transform(self, X: Any, *, present: Any = None, out: Path = None, overwrite: bool = False) -> Array:
        """Return the distance of each sample to each centroid, over all views by their weights.

        ``out`` and ``overwrite`` are as in :meth:`predict`; ``present`` as in :meth:`fit`.
        """
        return self._distances(self._check_new(X, present), target(out, overwrite))

    @answers_alike
    def typicality(self, X: Any, *, present: Any = None, out: Path = None, overwrite: bool = False) -> Array:
        """Return how typical each sample is of its nearest cluster, in [0, 1].

        An error for ``membership="fuzzy"`` without a graph, which has no notion of it.
        ``out`` and ``overwrite`` are as in :meth:`predict`; ``present`` as in :meth:`fit`.
        """
        return self._typicality(self._check_new(X, present), target(out, overwrite))

    @answers_alike
    def outlier_score(self, X: Any, *, present: Any = None, out: Path = None, overwrite: bool = False) -> Array:
        """Return ``1 - typicality``: the larger, the farther from every cluster.

        It approaches 1 in a graph and for ``feature_map="identity"``. With a kernel no sample is farther than a
        bounded distance, so scores have a ceiling below 1: rank by them; an error for ``membership="fuzzy"``.
        ``out`` and ``overwrite`` are as in :meth:`predict`; ``present`` as in :meth:`fit`.
        """
        return self._typicality(self._check_new(X, present), target(out, overwrite), scores=True)

    def medoid_indices(self, X: Any, *, present: Any = None, sample_weight: Any = None) -> Array:
        """Return for each cluster the index of the sample of ``X`` that stands for it, -1 where it has none.

        It is the one nearest to the centroid over all views by their weights; see
        :meth:`KernelPowerKMeans.medoid_indices`. ``present`` is as in :meth:`fit`.
        """
        return self._medoids(self._check_new(X, present, sample_weight))

    def cluster_means(self, X: Any, *, present: Any = None, sample_weight: Any = None) -> dict[str, Array]:
        """Return the weighted means of each cluster's rows, by view, in its own columns.

        Of the samples that have the view; NaN where a cluster has none. See
        :meth:`KernelPowerKMeans.cluster_means`. ``present`` is as in :meth:`fit`.
        """
        return self._means(self._check_new(X, present, sample_weight))

    def score(self, X: Any, y: None = None, sample_weight: Any = None, present: Any = None) -> float:
        """Return how well the clusters fit the kernels: 1 at best, 0 where they explain nothing.

        As :meth:`KernelPowerKMeans.score`, with what is explained, and norms of kernels, added over the views by
        their weights.
        """
        return self._score(self._check_new(X, present, sample_weight))

    def _check_new(self, X: Any, present: Any, sample_weight: Any = None) -> Views:
        check_is_fitted(self)
        with at_cluster(self.engine):
            return check_new_views(self, X, sample_weight, present)
