"""The feature space in the plane: clusters, centroids and outliers."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.decomposition import PCA

from powerkmeans.compute.engine import some_rows
from powerkmeans.estimators.base import PowerKMeansBase
from powerkmeans.models.answers import apply
from powerkmeans.models.graph_answers import picture_columns
from powerkmeans.objective.block import block_distances, block_labels, weighted_features
from powerkmeans.objective.space import gram_matrix
from powerkmeans.objective.updates import column_scale
from powerkmeans.plotting.checks import check_model, has_typicality
from powerkmeans.plotting.style import Axes, Figure, Palette, bare, halo, one_axes, palette_of, small
from powerkmeans.support.install import needed
from powerkmeans.support.values import SHARE, integer, integers, numbers, same_length, word, wrong
from powerkmeans.types import Array, Views

_METHODS = ("auto", "pca", "centroids", "umap")
# beyond this many clusters their labels would cover the picture
_MOST_LABELS = 30


class _Plane(NamedTuple):
    """Points and centroids in the plane, and what the axes are."""

    points: Array
    centers: Array | None
    axis_names: tuple[str, str]


def _in_plane(name: str, value: Any) -> Array:
    found = numbers(2)(name, value)
    if found.shape[1] != 2:
        raise ValueError(f"{name} must have two columns, the coordinates in the plane. Got {found.shape[1]}.")
    return found


class EmbeddingDisplay:
    """Samples in a plane of the feature space, coloured by cluster, outliers marked.

    Parameters
    ----------
    points : array-like of shape (n_samples, 2)
        Samples in the plane.
    labels : array-like of shape (n_samples,)
        Their clusters, from 0 on.
    outlier : array-like of bool, of shape (n_samples,), or None, default=None
        Which samples are marked as outliers.
    centers : array-like of shape (n_clusters, 2) or None, default=None
        Centroids in the plane; where there are none, labels sit at the medians of the clusters.
    axis_names : pair of str, default=("", "")
        What the axes are.

    Attributes
    ----------
    ax_ : Axes
    figure_ : Figure

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from powerkmeans import KernelPowerKMeans
    >>> from powerkmeans.plotting import EmbeddingDisplay
    >>> X, _ = make_blobs(300, centers=3, random_state=0)
    >>> model = KernelPowerKMeans(3, membership="possibilistic", random_state=0).fit(X)
    >>> display = EmbeddingDisplay.from_estimator(model, X)  # doctest: +SKIP

    """

    ax_: Axes
    figure_: Figure

    def __init__(
        self,
        points: Any,
        labels: Any,
        *,
        outlier: Any = None,
        centers: Any = None,
        axis_names: tuple[str, str] = ("", ""),
    ) -> None:
        self.points, self.labels = _in_plane("points", points), integers("labels", labels)
        none = np.zeros(len(self.labels), dtype=bool)
        self.outlier = none if outlier is None else integers("outlier", outlier).astype(bool)
        same_length(points=self.points, labels=self.labels, outlier=self.outlier)
        self.centers = None if centers is None else _in_plane("centers", centers)
        if self.centers is not None and np.max(self.labels) >= len(self.centers):
            raise ValueError(f"centers has {len(self.centers)} rows, but labels go up to {np.max(self.labels)}.")
        if not isinstance(axis_names, (tuple, list)) or [type(name) for name in axis_names] != [str, str]:
            raise wrong("axis_names", "a pair of str", axis_names)
        self.axis_names = axis_names

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        present: Any = None,
        method: str = "auto",
        outlier_share: float = 0.02,
        max_samples: int = 5000,
        ax: Any = None,
    ) -> Self:
        """Draw samples as a fitted estimator sees them.

        Parameters
        ----------
        estimator : fitted KernelPowerKMeans or MultiViewPowerKMeans
            The model.
        X : as in the estimator's ``predict``
            Samples.
        present : as in :meth:`MultiViewPowerKMeans.predict`, optional
            Which samples have which views; a view that a sample lacks is at its mean in the picture.
        method : {"auto", "pca", "centroids", "umap"}, default="auto"
            ``"pca"``: the two directions of largest variance of the features (with a graph: of the columns),
            views by their weights;
            ``"centroids"``: the plane in which the centroids vary most; ``"umap"``: UMAP of the features, if
            ``umap-learn`` is installed. ``"auto"`` is ``"pca"``, but ``"centroids"`` for ``feature_map="exact"``,
            which has no coordinates.
        outlier_share : float, default=0.02
            The share of the samples with the highest outlier scores that is marked, if the model is possibilistic.
        max_samples : int, default=5000
            At most so many distinct samples are drawn, chosen by their content.
        ax : Axes or None, default=None
            Where to draw.

        Returns
        -------
        EmbeddingDisplay

        """
        check_model(estimator, cls.__name__)
        method = word(*_METHODS)("method", method)
        outlier_share, max_samples = SHARE("outlier_share", outlier_share), integer(1)("max_samples", max_samples)
        views = some_rows(estimator._check_new(X, present, None), estimator.engine, max_samples)
        labels = apply(estimator._fit.model, views, estimator.engine, block_labels)
        plane = _plane(estimator, views, labels, method)
        outlier = None
        if has_typicality(estimator) and outlier_share > 0:
            scores = estimator._typicality(views, scores=True)
            outlier = scores > np.quantile(scores, 1 - outlier_share)
        display = cls(plane.points, labels, outlier=outlier, centers=plane.centers, axis_names=plane.axis_names)
        return display.plot(ax)

    @classmethod
    def from_predictions(cls, points: Any, labels: Any, *, outlier: Any = None, ax: Any = None) -> Self:
        """Draw points of a plane of your own with their labels; see the class for what each is."""
        return cls(points, labels, outlier=outlier).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw samples, outliers, centroids and their numbers."""
        ax = one_axes(ax, (5.6, 5.0))
        palette = palette_of(ax)
        inner = ~self.outlier
        size = float(np.clip(16000 / max(1, len(self.points)), 5, 30))
        for cluster in np.unique(self.labels):
            members = inner & (self.labels == cluster)
            colour, marker = palette.cluster(int(cluster)), palette.marker(int(cluster))
            ax.scatter(*self.points[members].T, s=size, color=colour, marker=marker, alpha=0.7, lw=0)
        if np.any(self.outlier):
            n_outliers = int(np.sum(self.outlier))
            name = f"{n_outliers} {'outlier' if n_outliers == 1 else 'outliers'}"
            ax.scatter(*self.points[self.outlier].T, s=24, color=palette.orange, marker="x", lw=1.2, label=name)
            ax.legend(loc="best", frameon=False, handletextpad=0.2, fontsize=small(ax), labelcolor=palette.ink)
        self._draw_numbers(ax, palette)
        ax.set(xlabel=self.axis_names[0], ylabel=self.axis_names[1])
        ax.set_xticks([])
        ax.set_yticks([])
        bare(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_numbers(self, ax: Axes, palette: Palette) -> None:
        """The number of each cluster, at its centroid if there is one."""
        clusters = np.unique(self.labels)
        if len(clusters) > _MOST_LABELS:
            return
        for cluster in clusters:
            if self.centers is not None:
                place = self.centers[int(cluster)]
            else:
                place = np.median(self.points[self.labels == cluster], axis=0)
            ax.text(
                *place, str(cluster), ha="center", va="center", color=palette.ink, weight="bold", clip_on=True,
                path_effects=halo(palette, 3),
            )  # fmt: skip


def _plane(estimator: PowerKMeansBase, views: Views, labels: Array, method: str) -> _Plane:
    dual = bool(estimator._fit.model.problem.dual)
    if method == "centroids" or (dual and method == "auto"):
        return _centroid_plane(estimator, views)
    if dual:
        raise ValueError(f"feature_map='exact' has no coordinates for method={method!r}; use method='centroids'.")
    model = estimator._fit.model
    if model.fuses:  # in the few coordinates of a graph a cluster may be one point
        features = picture_columns(model, views, labels)
    else:
        features = apply(model, views, estimator.engine, weighted_features)
    if method == "umap":
        umap = needed("umap", None, "for method='umap'", package="umap-learn")
        return _Plane(umap.UMAP(random_state=0).fit_transform(features), None, ("UMAP 1", "UMAP 2"))
    pca = PCA(min(2, *features.shape), random_state=0).fit(features.astype(np.float64))
    shares = pca.explained_variance_ratio_
    names = [f"principal direction {i + 1}: {share:.0%} of the variance" for i, share in enumerate(shares)]
    axes = (names[0], names[1] if len(names) > 1 else "")
    if model.fuses:
        return _Plane(_two(pca.transform(features)), None, axes)
    centers = model.parameters.centers * column_scale(model.parameters.view_weights, model.problem)
    return _Plane(_two(pca.transform(features)), _two(pca.transform(centers)), axes)


def _centroid_plane(estimator: PowerKMeansBase, views: Views) -> _Plane:
    """Where distances to the centroids place samples in the plane in which those vary most.

    With ``C`` the centroids in that plane about their mean, ``b`` their squared lengths and ``d`` the squared
    distances of a sample to them, its place is ``C^T (b - d) / 2`` over the plane's eigenvalues.
    """
    model = estimator._fit.model
    squared = apply(model, views, estimator.engine, block_distances, precise=True).astype(np.float64) ** 2
    gram = gram_matrix(model.parameters.centers, model.parameters.view_weights, model.problem)
    centring = np.eye(len(gram)) - 1 / len(gram)
    gram = centring @ gram @ centring
    values, vectors = np.linalg.eigh(gram)
    kept = [i for i in (-1, -2) if len(values) >= -i and values[i] > 1e-12 * np.trace(gram)]
    centers = vectors[:, kept] * np.sqrt(values[kept])
    points = (np.diagonal(gram) - squared) @ centers / 2 / values[kept]
    if len(kept) == 2:
        return _Plane(points, centers, ("first direction of the centroids", "second direction of the centroids"))
    away = np.min(squared[:, :, None] - (points[:, None] - centers) ** 2, axis=(1, 2)) if kept else squared[:, 0]
    points = np.column_stack([points if kept else np.zeros(len(squared)), np.sqrt(np.maximum(away, 0))])
    return _Plane(points, _two(centers), ("direction of the centroids", "distance from their line"))


def _two(points: Array) -> Array:
    """Points with two coordinates, zero where they have fewer."""
    return np.column_stack([points, np.zeros((len(points), 2 - points.shape[1]))])
