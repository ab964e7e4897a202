"""What both estimators share: how a result becomes attributes, and how a fitted model answers."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from contextlib import closing, suppress
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import check_is_fitted

from powerkmeans.advice.findings import Findings, findings
from powerkmeans.compute.engine import engine_for
from powerkmeans.compute.lazy import at_cluster, check_rows_of_engine, kept_rows, lazy_answers
from powerkmeans.compute.options import TorchOptions
from powerkmeans.estimators.callbacks import CallbackSupportMixin
from powerkmeans.estimators.chunks import Collected, collect, owned
from powerkmeans.estimators.labels import called_columns
from powerkmeans.estimators.listeners import make_listener
from powerkmeans.estimators.notebook import with_clusters
from powerkmeans.exceptions import DataGuidanceWarning
from powerkmeans.features.maps.exact import PRECOMPUTED
from powerkmeans.features.maps.registry import MAPS
from powerkmeans.fitting.checkpoints import kept_in, open_journal
from powerkmeans.fitting.fit import fit_views
from powerkmeans.inputs.kernel_matrices import check_exact_views
from powerkmeans.inputs.settings import AUTO, Settings, check_settings
from powerkmeans.inputs.views import Layout
from powerkmeans.models.alignment import alignment
from powerkmeans.models.answers import apply, labels_without_noise, typicality
from powerkmeans.models.model import FitResult, Model, history_table, stream_table
from powerkmeans.models.online import learn, rows_to_begin
from powerkmeans.models.representatives import cluster_means, medoid_indices
from powerkmeans.models.saving import load_estimator, save_estimator
from powerkmeans.objective.block import block_distances, block_labels
from powerkmeans.sources.dask import are_lazy, is_dask, with_known_chunks
from powerkmeans.support.draws import draw_seed
from powerkmeans.support.files import Target
from powerkmeans.support.tensors import open_devices
from powerkmeans.support.values import SHARE, flag
from powerkmeans.support.values import path as check_path
from powerkmeans.support.warn import warn_caller
from powerkmeans.types import Array, Views

Path = str | os.PathLike[str] | None
Files = tuple[Path, Path]


class PowerKMeansBase(
    CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator
):
    """Answers of a fitted model on checked views; subclasses check what users pass."""

    _fit: FitResult
    _layout: Layout | None
    _collected: Collected | None = None

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False, labels: bool = True) -> None:
        """Write the fitted model to one .npz file that contains no pickle; see :func:`powerkmeans.load`.

        A file that exists and is not empty is kept, which is an error, unless ``overwrite=True``. Only regular
        files are written, whole or not at all; a link is followed to the file that it leads to.

        In the middle of a stream the rows that ``partial_fit`` has collected are kept too, so the stream goes on
        from the file as it would have without. With ``random_state=None``, or a generator, later fits draw anew.

        ``labels=False`` leaves out the cluster of each training sample; ``labels_`` of the model that is loaded is
        empty, and all else is the same. What else a file tells of samples is in the guide, "Files and privacy".
        """
        labels = flag("labels", labels)
        if self._collected is not None and not hasattr(self, "_fit"):
            raise NotFittedError(
                f"The {self._collected.n_rows} rows that partial_fit has collected give no model yet, so there is "
                f"none to save. Go on with partial_fit until there are {self.n_clusters} different ones and more."
            )
        check_is_fitted(self)
        save_estimator(self, check_path("path", path), overwrite=overwrite, labels=labels)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that ``save`` wrote; a bad file raises ``powerkmeans.exceptions.ModelFileError``."""
        loaded: Self = load_estimator(check_path("path", path), {cls.__name__: cls})
        return loaded

    def to_device(self, device: Any) -> Self:
        """Return the same estimator, fitted or not, for work on another device.

        It is a copy whose ``engine`` is ``TorchOptions(device=device)``, with other options as they were if it was
        one already: rows of any kind are sent there when it fits or answers. ``None`` stands for
        ``engine="auto"``: where tensors are, and else on the processor without PyTorch. A model itself is on no
        device.
        """
        other = copy(self)
        if device is None:
            return other.set_params(engine="auto")
        before = self.engine if isinstance(self.engine, TorchOptions) else TorchOptions()
        options = replace(before, device=device)
        open_devices(options.device)
        return other.set_params(engine=options)

    def _check_new(self, X: Any, present: Any, sample_weight: Any) -> Views:
        """Check samples for a fitted model."""
        raise NotImplementedError

    def _fit_views(
        self, views: Views, settings: Settings, X: Any, layout: Layout | None = None, files: Files = (None, None)
    ) -> None:
        """Fit to checked views; ``files`` are the checkpoint to write and the one to go on from."""
        settings = replace(settings, engine=engine_for(settings.engine, views))
        check_exact_views(views, settings, X)
        check_rows_of_engine(views, settings.engine)
        journal = open_journal(*files, views, settings, self.random_state)
        seed = draw_seed(self.random_state) if journal is None else journal.seed
        listener = make_listener(self, X, settings.verbose, int(views.arrays[0].shape[0]))
        with closing(listener), kept_in(journal):
            fitted = fit_views(kept_rows(views, settings.engine), settings, seed, listener)
        found = findings(fitted, self._labels_of(views, layout), advice=settings.advice)
        for note in found.notes:
            listener.note(note)
        self._keep(replace(fitted.result, shortfalls=found.shortfalls, advice=found.advice))
        if are_lazy(views):
            self.labels_ = self._labels(views, None, None)
        self._layout = layout
        self._collected = None
        _warn(found)

    def _labels_of(self, views: Views, layout: Layout | None) -> dict[str, Any]:
        """The names of columns by views, None where they have none."""
        called = called_columns(views.names)
        if called is not None:
            return called
        alone = [getattr(self, "feature_names_in_", None)]
        return dict(zip(views.names, alone if layout is None else layout.labels, strict=True))

    def _learn(self, chunk: Views) -> None:
        """Go on from what was fitted or learnt."""
        self._keep_learnt(learn(self._fit, chunk, self.engine))
        if are_lazy(chunk):
            self.labels_ = self._labels(chunk, None, None)

    def __getstate__(self) -> dict[str, Any]:
        """Everything but labels that Dask would make: they hold the rows, or where these are."""
        state: dict[str, Any] = super().__getstate__()
        lazy = "labels_" in state and is_dask(state["labels_"])
        return {**state, "labels_": np.empty(0, dtype=np.int32)} if lazy else state

    def _collect(self, chunk: Views, layout: Layout | None, settings: Settings) -> None:
        """Collect the first rows of a stream, and fit to them each time they have doubled."""
        before = self._collected
        enough = len(chunk.weight) + (0 if before is None else before.n_rows) >= rows_to_begin(settings.n_clusters)
        chunk = chunk if enough else owned(chunk)
        collected = collect(chunk, layout) if before is None else before.with_chunk(chunk, layout)
        self._collected = collected
        if enough:
            self._fit_collected(collected, settings)
        elif collected.n_rows >= max(settings.n_clusters, 2 * collected.n_fitted):
            self._fit_early(collected.joined(), settings)
        self.n_samples_seen_ = collected.n_rows

    def _fit_collected(self, collected: Collected, settings: Settings) -> None:
        (views,) = collected.joined().chunks
        self._fit_views(views, settings, views.arrays, collected.layout)

    def _fit_early(self, collected: Collected, settings: Settings) -> None:
        """Fit to few rows, so that there are answers; if they say nothing, an earlier model stays."""
        with warnings.catch_warnings(), suppress(ValueError):
            warnings.simplefilter("ignore")
            self._fit_collected(collected, replace(settings, advice=False))
        self._collected = replace(collected, n_fitted=collected.n_rows)

    def _resume(self, rows: Views, n_fitted: int) -> None:
        """Go on with rows that were collected before."""
        self._collected = collect(rows, self._layout, n_fitted)
        self.n_samples_seen_ = self._collected.n_rows

    @property
    def _learns(self) -> bool:
        """Whether a model is there to go on from, and not one of the first rows alone."""
        return hasattr(self, "_fit") and self._collected is None

    def _apply(self, views: Views, function: Any, out: Target | None = None, *, precise: bool = False) -> Array:
        """What a function of blocks tells: a label, or a number for each cluster."""
        answer = partial(apply, self._fit.model, function=function, precise=precise)
        kind = (np.int32, None) if function is block_labels else (None, self._n_features_out)
        return self._answered(answer, views, out, *kind)

    def _labels(self, views: Views, noise_threshold: float | None, out: Target | None) -> Array:
        if noise_threshold is None:
            return self._apply(views, block_labels, out)
        self._check_threshold(noise_threshold)
        answer = partial(labels_without_noise, self._fit.model, threshold=float(noise_threshold))
        return self._answered(answer, views, out, np.int32)

    def _typicality(self, views: Views, out: Target | None = None, *, scores: bool = False) -> Array:
        self._check_scores("outlier_score" if scores else "typicality")
        return self._answered(partial(typicality, self._fit.model, scores=scores), views, out)

    def _answered(
        self, answer: Any, views: Views, out: Target | None, dtype: Any = None, width: int | None = None
    ) -> Array:
        """What a model says of rows: now where they are here, and when it is asked for where Dask has them."""
        if not are_lazy(views):
            return answer(views=views, engine=self.engine, out=out)
        if width is not None and self._wants_frames():
            raise ValueError(
                "set_output makes frames in memory, but Dask has these rows; use set_output(transform='default')."
            )
        if out is not None:
            raise ValueError(
                "out= is for rows of this machine; answers for rows that Dask has are Dask's too, and are written "
                "by it: dask.array.to_zarr, or to_npy_stack."
            )
        return lazy_answers(answer, views, self.engine, dtype or self._fit.model.dtype, width)

    def _wants_frames(self) -> bool:
        chosen = getattr(self, "_sklearn_output_config", {}).get("transform")
        return (chosen or get_config()["transform_output"]) != "default"

    def _check_threshold(self, threshold: Any) -> None:
        self._check_scores("noise_threshold")
        SHARE("noise_threshold", threshold)

    def _check_scores(self, asked: str) -> None:
        """Reject what needs outlier scores where there are none.

        Distances are no scores: without a bound on its pull, a far sample gets a centroid to itself.
        """
        if not self._fit.model.scores_outliers:
            raise ValueError(
                f"{asked} needs outlier scores; fit with membership='possibilistic' or feature_map='graph'. The "
                "distance to the nearest centroid is transform(X).min(axis=1)."
            )

    def _distances(self, views: Views, out: Target | None = None) -> Array:
        return self._apply(views, block_distances, out, precise=True)

    def _score(self, views: Views) -> float:
        with at_cluster(self.engine):
            return alignment(self._fit.model, with_known_chunks(views), self.engine)

    def _medoids(self, views: Views) -> Array:
        with at_cluster(self.engine):
            return medoid_indices(self._fit.model, with_known_chunks(views), self.engine)

    @property
    def medoid_indices_(self) -> Array:
        """The training row nearest to each centroid, as ``fit`` found it."""
        check_is_fitted(self)  # whose error is an AttributeError
        if self._fit.medoids is None:
            raise AttributeError(
                "medoid_indices_ is not known: the model has learnt from a stream since it was fitted, or was "
                "saved without labels or by an earlier version. Use medoid_indices(X) with rows of your choice."
            )
        return self._fit.medoids

    def _means(self, views: Views) -> dict[str, Array]:
        with at_cluster(self.engine):
            means = cluster_means(self._fit.model, with_known_chunks(views), self.engine)
        return dict(zip(views.names, means, strict=True))

    def _keep(self, result: FitResult) -> None:
        """Spread a result over the public attributes; fitting and loading both end here."""
        restart = result.restarts[result.best]
        self.critical_exponent_ = result.critical
        self.s_init_, self.s_ = restart.s_init, restart.s
        self.n_iter_ = restart.n_iter
        self.history_ = history_table(result)
        self.status_ = restart.status
        self.restarts_ = [dict(vars(r)) for r in result.restarts]
        self.best_restart_ = result.best
        self._keep_learnt(result)

    def _keep_learnt(self, result: FitResult) -> None:
        """Set the attributes that a chunk of a stream changes."""
        model, stream = result.model, result.stream
        self._fit = result
        self.labels_ = result.labels
        self.view_weights_ = model.view_weights
        self.objective_, self.inertia_ = result.objective, result.inertia
        self.stream_history_ = stream_table(result)
        fitted = len(result.labels) or model.n_training
        self.n_samples_seen_ = fitted if stream is None else stream.n_fitted + stream.n_learnt
        self.drift_ = float(self.stream_history_["drift"][-1]) if len(self.stream_history_["drift"]) else 0.0
        self._keep_views(result)

    def _keep_views(self, result: FitResult) -> None:
        """Set the attributes that have one entry per view."""
        raise NotImplementedError

    def _repr_html_inner(self) -> str:
        return with_clusters(self, super()._repr_html_inner())

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        shown: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        return {kind: with_clusters(self, text) if kind == "text/html" else text for kind, text in shown.items()}

    @property
    def view_names_in_(self) -> Array:
        """The name of each view: no numbers, so not among the arrays that scikit-learn's dispatch is about."""
        return np.array(self._fit.model.view_names, dtype=object)

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
        tags.array_api_support = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def chosen_maps(estimator: Any, model: Model) -> list[str]:
    """The map of each view by its name, also where the fit has chosen it; empty for a view that is not used."""
    several = "views" in estimator.get_params(deep=False)
    settings = check_settings(estimator.get_params(deep=False), several_views=several)
    words = [one.feature_map for one in settings.of_views(model.view_names)]
    kinds = [""] * len(words)
    for place, view in enumerate(model.used_views):
        kinds[view] = model.maps[0 if model.fuses else place].base.packing.name
    return [kind if word == AUTO else word for word, kind in zip(words, kinds, strict=True)]


def learns_from_streams(estimator: Any) -> bool:
    """Whether there is ``partial_fit``; the error says why not."""
    given = any(isinstance(one, str) and one == PRECOMPUTED for one in _of_each(estimator.kernel))
    for one in [*_of_each(estimator.feature_map), *(["exact"] if given else [])]:  # which "auto" is then
        if isinstance(one, str) and one in MAPS and not MAPS[one].learns_from_streams:
            raise AttributeError(
                f"feature_map={str(one)!r} keeps all its training rows, so it cannot learn from a stream "
                "(partial_fit); use feature_map='rff' or 'nystroem'."
            )
    return True


def _of_each(parameter: Any) -> list[Any]:
    """The values of a parameter, whether it was given once or for single views."""
    if isinstance(parameter, Mapping):
        return list(parameter.values())
    several = isinstance(parameter, (list, tuple)) or (isinstance(parameter, np.ndarray) and parameter.ndim == 1)
    return list(parameter) if several else [parameter]


def _warn(found: Findings) -> None:
    """Tell what a user should know about the fit and the data, in one warning."""
    sentences = (*found.shortfalls, *found.advice)
    if sentences:
        warn_caller("\n- ".join(sentences), ConvergenceWarning if found.shortfalls else DataGuidanceWarning)


def target(out: Path, overwrite: bool) -> Target | None:
    """The file that answers go to, if one was named."""
    overwrite = flag("overwrite", overwrite)
    return None if out is None else Target(check_path("out", out), overwrite)


def files(checkpoint: Path, resume_from: Path) -> Files:
    """The files that a fit writes its state to and goes on from, if they were named."""
    named = {"checkpoint": checkpoint, "resume_from": resume_from}
    found = [None if path is None else check_path(name, path) for name, path in named.items()]
    return found[0], found[1]
