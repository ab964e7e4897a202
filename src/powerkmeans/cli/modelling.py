"""Options as an estimator's parameters, and a fit that is watched."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from powerkmeans.cli.errors import Exit, UserError, near, usage
from powerkmeans.cli.inputs import Inputs
from powerkmeans.cli.progress import FitListener
from powerkmeans.cli.terminal import Terminal
from powerkmeans.cli.wording import in_options
from powerkmeans.compute.options import NumpyOptions, TorchOptions
from powerkmeans.estimators import KernelPowerKMeans, MultiViewPowerKMeans
from powerkmeans.estimators.labels import calling_columns
from powerkmeans.estimators.listeners import listening
from powerkmeans.features.maps.registry import MAPS
from powerkmeans.inputs.metric import COSINE, EUCLIDEAN
from powerkmeans.inputs.settings import AUTO, check_settings
from powerkmeans.objective.membership import MEMBERSHIPS
from powerkmeans.preparing.scaling import ROWS
from powerkmeans.support.tensors import open_devices

# parameters that are set by options of their own
_ELSEWHERE = {"n_clusters": "-k", "random_state": "--seed", "views": "--view", "verbose": "--quiet"}


@dataclass(frozen=True)
class ModelOptions:
    """The options that say how clusters are looked for."""

    n_clusters: int
    feature_map: str = AUTO
    kernel: str = "rbf"
    metric: str | None = None
    scale: str = "auto"
    bandwidth: str = "median"
    n_components: str = "auto"
    n_neighbors: str = "auto"
    rows_per_landmark: int = 1
    membership: str = "auto"
    entropy: str | None = None
    n_init: str = "auto"
    max_iter: int = 300
    tol: float = 1e-4
    engine: str = "auto"
    threads: int | None = None
    device: str | None = None
    seed: int = 0
    advice: bool = True
    set_parameters: tuple[str, ...] = ()

    def parameters(self, *, several: bool) -> dict[str, Any]:
        """Parameters of the estimator, checked before anything is read."""
        values: dict[str, Any] = {
            "n_clusters": self.n_clusters,
            "feature_map": self.feature_map,
            "kernel": self.kernel,
            "bandwidth": _value(self.bandwidth),
            "n_components": _value(self.n_components),
            "n_neighbors": _value(self.n_neighbors),
            "rows_per_landmark": self.rows_per_landmark,
            "membership": self.membership,
            "n_init": _value(self.n_init),
            "max_iter": self.max_iter,
            "tol": self.tol,
            "engine": self._engine(),
            "random_state": self.seed,
        }
        if several and self.entropy is not None:
            values["entropy"] = _value(self.entropy)
        if not self.advice:  # choose-k has no such option, and choose_k no such parameter
            values["advice"] = False
        values |= {"metric": self.metric} | given_parameters(self.set_parameters)
        values["metric"] = chosen_metric(values["metric"], self.scale)
        return checked(values, several=several)

    def _engine(self) -> Any:
        if self.device is not None:
            return self._on_device(self.device)
        if self.threads is None:
            return self.engine
        return NumpyOptions(n_threads=self.threads, kernel=self.engine)

    def _on_device(self, device: str) -> TorchOptions:
        other = "--threads" if self.threads is not None else f"--engine {self.engine}"
        if self.threads is not None or self.engine != "auto":
            raise usage(f"--device {device} is the engine of PyTorch; leave {other} out.")
        try:
            options = TorchOptions(device=tuple(device.split(",")))
            open_devices(options.device)
        except (ValueError, ImportError) as error:
            raise usage(str(error)) from error
        return options


def has_scores(membership: str, feature_map: str) -> bool:
    """Whether such a fit scores outliers, or may."""
    fuses = isinstance(feature_map, str) and MAPS[feature_map].fuses
    return fuses or membership == AUTO or MEMBERSHIPS[membership](2.0).bounded


def chosen_metric(given: Any, scale: str) -> Any:
    """The metric of a fit, for each view if it was given so; ``--scale rows`` stands for the cosine."""
    if given is None:
        return COSINE if scale == ROWS else EUCLIDEAN
    if scale == ROWS and given != COSINE:
        raise usage(f"--scale rows compares rows by direction, as --metric cosine; leave --metric {given} out.")
    return _value(given) if isinstance(given, str) else given


def checked(values: dict[str, Any], *, several: bool) -> dict[str, Any]:
    """Reject values that the estimator does not take; the message names the parameter."""
    known = MultiViewPowerKMeans().get_params() if several else KernelPowerKMeans().get_params()
    for name in values:
        if name not in known and several:
            raise usage(f"There is no parameter {name!r}{near(name, list(known)) or '.'}")
    given = {name: value for name, value in values.items() if name in known}
    try:
        check_settings({**known, **given}, several_views=several)
    except (ValueError, TypeError) as error:
        raise usage(in_options(str(error))) from error
    return given


def given_parameters(texts: Sequence[str]) -> dict[str, Any]:
    """``--set name=value``, the value as JSON has it, or a word."""
    values: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name:
            raise usage(f"--set {text!r} is not of the form parameter=value.")
        if name in _ELSEWHERE:
            raise usage(f"{name} is set with {_ELSEWHERE[name]}, not with --set.")
        values[name] = _value(value.strip())
    return values


def _value(text: str) -> Any:
    """A number, a JSON value, or the word itself."""
    if text in ("inf", "-inf"):
        return float(text)
    if text in ("None", "none", "null"):
        return None
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        return text
    return text if isinstance(value, float) and value != value else value  # noqa: PLR0124 - NaN


def fit_estimator(
    inputs: Inputs, parameters: dict[str, Any], terminal: Terminal, checkpoint: str | None = None
) -> Any:
    """Fit the estimator for one view or for several, with a bar and warnings as notes.

    A checkpoint is gone on from if it is there.
    """
    n_samples, k = inputs.samples.n_samples, parameters["n_clusters"]
    if n_samples < k:
        raise UserError(f"There are {n_samples} samples, fewer than the {k} clusters that -k asks for.")
    estimator = (MultiViewPowerKMeans if inputs.several else KernelPowerKMeans)(**parameters)
    bar = terminal.bar("Fitting")
    watched = listening(FitListener(bar, n_samples))
    with bar, terminal.hearing_warnings(), watched, calling_columns(inputs.labels):
        bar.wait("preparing")
        return fitted(estimator, inputs.X, inputs.weight, **_files(checkpoint))


def _files(checkpoint: str | None) -> dict[str, str]:
    if checkpoint is None:
        return {}
    begun = os.path.exists(checkpoint) and os.path.getsize(checkpoint) > 0
    return {"resume_from" if begun else "checkpoint": checkpoint}


def fitted(estimator: Any, X: Any, weight: Any = None, **files: str) -> Any:
    """Fit; what the library has to say against the data is the user's to mend."""
    try:
        return estimator.fit(X, sample_weight=weight, **files)
    except (ValueError, TypeError) as error:
        raise UserError(in_options(str(error))) from error
    except MemoryError as error:
        raise UserError(f"Not enough memory: {error or 'the data does not fit'}.", Exit.FAILED) from error
