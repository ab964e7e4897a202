"""What both estimators share: how a result becomes attributes, and how a fitted model answers."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import check_is_fitted

from powerkmeans.callbacks import CallbackSupportMixin
from powerkmeans.estimators.chunks import Collected
from powerkmeans.fit import apply, fit_views, model_statistics, warn_if_unwell
from powerkmeans.gram import check_exact_views
from powerkmeans.model import FitResult, history_table, stream_table
from powerkmeans.model_io import load_estimator, save_estimator
from powerkmeans.objective.block import PassInput, block_distances, block_labels, block_outlier_scores
from powerkmeans.online import learn, rows_to_begin
from powerkmeans.progress import make_listener
from powerkmeans.settings import Settings
from powerkmeans.streams import draw_seed
from powerkmeans.types import Array, Block, Views
from powerkmeans.values import SHARE
from powerkmeans.values import path as check_path
from powerkmeans.views import Layout

Path = str | os.PathLike[str] | None


class PowerKMeansBase(
    CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator
):
    """Answers of a fitted model on checked views; subclasses check what users pass."""

    _fit: FitResult
    _layout: Layout | None
    _collected: Collected | None = None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one .npz file that contains no pickle; see :func:`powerkmeans.load`."""
        check_is_fitted(self)
        save_estimator(self, check_path("path", path))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that ``save`` wrote."""
        loaded: Self = load_estimator(check_path("path", path), {cls.__name__: cls})
        return loaded

    def _check_new(self, X: Any, present: Any, sample_weight: Any) -> Views:
        """Check samples for a fitted model."""
        raise NotImplementedError

    def _fit_views(self, views: Views, settings: Settings, X: Any, layout: Layout | None = None) -> None:
        check_exact_views(views, settings, X)
        seed = draw_seed(self.random_state)
        listener = make_listener(self, X, settings.verbose)
        result = fit_views(views, settings, seed, listener)
        self._keep(result)
        self._layout = layout
        self._collected = None
        warn_if_unwell(result)

    def _learn(self, chunk: Views) -> None:
        """Go on from what was fitted or learnt."""
        self._keep(learn(self._fit, chunk, self.engine))

    def _collect(self, chunk: Views, layout: Layout | None, settings: Settings) -> None:
        """Collect the first rows of a stream, and fit to them each time they have doubled."""
        before = self._collected
        collected = Collected(chunk, layout) if before is None else before.with_chunk(chunk, layout)
        self._collected = collected
        enough = collected.n_rows >= rows_to_begin(settings.n_clusters)
        if enough:
            self._fit_views(collected.views, settings, collected.views.arrays, collected.layout)
        elif collected.n_rows >= max(settings.n_clusters, 2 * collected.n_fitted):
            self._fit_early(collected, settings)

    def _fit_early(self, collected: Collected, settings: Settings) -> None:
        """Fit to few rows, so that there are answers; if they say nothing yet, there are none."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                self._fit_views(collected.views, settings, collected.views.arrays, collected.layout)
            except ValueError:
                if hasattr(self, "_fit"):
                    del self._fit
        self._collected = replace(collected, n_fitted=collected.n_rows)

    @property
    def _learns(self) -> bool:
        """Whether a model is there to go on from, and not one of the first rows alone."""
        return hasattr(self, "_fit") and self._collected is None

    def _apply(self, views: Views, function: Any, out: Path = None, *, entire: bool = False) -> Array:
        return apply(self._fit.model, views, self.engine, function, entire=entire, out=out)

    def _labels(self, views: Views, noise_threshold: float | None, out: Path) -> Array:
        if noise_threshold is None:
            return self._apply(views, block_labels, out)
        self._check_threshold(noise_threshold)
        labels = partial(_labels_without_noise, threshold=float(noise_threshold))
        return self._apply(views, labels, out, entire=True)

    def _check_threshold(self, threshold: Any) -> None:
        if self._fit.model.problem.membership.name == "fuzzy":
            raise ValueError("noise_threshold needs outlier scores; fit with membership='possibilistic'.")
        SHARE("noise_threshold", threshold)

    def _distances(self, views: Views, out: Path = None) -> Array:
        return apply(self._fit.model, views, self.engine, block_distances, precise=True, out=out)

    def _score(self, views: Views) -> float:
        sums = model_statistics(self._fit.model, views, self.engine)
        return -float(sums.loss) / float(np.sum(views.weight, dtype=np.float64))

    def _keep(self, result: FitResult) -> None:
        """Spread a result over the public attributes; fitting and loading both end here."""
        model, restart = result.model, result.restarts[result.best]
        self._fit = result
        self.labels_ = result.labels
        self.view_weights_ = model.for_all_views(model.parameters.view_weights, 0.0)
        self.view_names_in_ = np.array(model.view_names, dtype=object)
        self.critical_exponent_ = result.critical
        self.s_init_, self.s_ = restart.s_init, restart.s
        self.n_iter_ = restart.n_iter
        self.objective_, self.inertia_ = result.objective, result.inertia
        self.history_ = history_table(result)
        self.status_ = restart.status
        self.restarts_ = [dict(vars(r)) for r in result.restarts]
        self.best_restart_ = result.best
        self.stream_history_ = stream_table(result)
        self.n_samples_seen_ = len(result.labels) if result.stream is None else round(result.stream.n_seen)
        self.drift_ = float(self.stream_history_["drift"][-1]) if len(self.stream_history_["drift"]) else 0.0
        self._keep_views(result)

    def _keep_views(self, result: FitResult) -> None:
        """Set the attributes that have one entry a view."""
        raise NotImplementedError

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_fit")

    @property
    def _n_features_out(self) -> int:
        return len(self._fit.model.parameters.centers)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        tags.classifier_tags = ClassifierTags()  # scikit-learn reads them wherever there is predict_proba
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def learns_from_streams(estimator: Any) -> bool:
    """Whether there is ``partial_fit``; the error says why not."""
    choice = estimator.feature_map
    several = isinstance(choice, (list, tuple)) or (isinstance(choice, np.ndarray) and choice.ndim == 1)
    chosen = choice.values() if isinstance(choice, Mapping) else choice if several else [choice]
    if any(isinstance(one, str) and one == "exact" for one in chosen):
        raise AttributeError(
            "feature_map='exact' keeps all its training rows, so it cannot learn from a stream (partial_fit); use "
            "feature_map='rff' or 'nystroem'."
        )
    return True


def _labels_without_noise(block: Block, inputs: PassInput, threshold: float) -> Array:
    """Labels, -1 where the outlier score is above the threshold."""
    labels = block_labels(block, inputs)
    labels[block_outlier_scores(block, inputs) > threshold] = -1
    return labels
