"""What a fit leaves behind: enough to label any sample, and nothing of the size of the data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from powerkmeans.features.maps.centred import CentredMap
from powerkmeans.inputs.metric import with_metrics
from powerkmeans.objective.membership import Possibilistic
from powerkmeans.sources import join_views
from powerkmeans.types import Array, Iteration, Membership, Parameters, PassStatistics, Problem, Status, Views


@dataclass(frozen=True)
class Model:
    """Feature maps, centroids in their centred space, and the objective they were found under.

    ``view_names``, ``view_widths`` and ``metrics`` are those of all views that were given; everything else is of
    the used ones, in the order of their names, at ``used_views`` among them (constant views are not used).
    """

    view_names: tuple[str, ...]
    used_views: tuple[int, ...]
    view_widths: tuple[int, ...]
    metrics: tuple[str, ...]
    maps: tuple[CentredMap, ...]
    parameters: Parameters
    problem: Problem
    s: float
    dtype: np.dtype[Any]

    def used(self, views: Views) -> Views:
        """The views that the model uses, in its order, with rows as its maps take them."""
        scaled = with_metrics(self._selected(views), tuple(self.metrics[view] for view in self.used_views))
        return join_views(scaled) if self.fuses else scaled

    def _selected(self, views: Views) -> Views:
        if self.used_views == tuple(range(len(self.view_names))):
            return views
        rest = views.select(list(self.used_views))
        if rest.present is not None and not np.all(np.any(rest.present, axis=1)):
            row = int(np.argmin(np.asarray(np.any(rest.present, axis=1))))
            raise ValueError(f"Sample {row} has no view but those that were constant in fit and say nothing.")
        return rest

    @property
    def fuses(self) -> bool:
        """Whether one map takes all views together."""
        return self.maps[0].base.fuses

    @property
    def n_training(self) -> int:
        """How many rows it was fitted to, where a map keeps them all; else zero."""
        return max((m.n_outputs for m in self.maps if m.dual), default=0)

    @property
    def scores_outliers(self) -> bool:
        """Whether it tells how typical samples are: by their neighbours, or by a bounded membership."""
        return self.fuses or self.problem.membership.bounded

    @property
    def view_weights(self) -> Array:
        """The weight of each view that was given; 0 for one that is not used."""
        return self.for_all_views(
            self.maps[0].base.view_weights if self.fuses else self.parameters.view_weights, 0.0
        )

    def for_all_views(self, values: Array, otherwise: float) -> Array:
        """Values of the used views, the last axis, among those of all views."""
        values = np.asarray(values, dtype=np.float64)
        result = np.full((*values.shape[:-1], len(self.view_names)), otherwise)
        result[..., list(self.used_views)] = values
        return result

    def cluster_centers(self) -> list[Array]:
        """Centroids as points of each view's own (uncentred) feature space; none where a view is not used."""
        if self.fuses:
            return [self.maps[0].uncentred(self.parameters.centers).astype(self.dtype)]
        centers = [np.zeros((len(self.parameters.centers), 0), dtype=self.dtype) for _ in self.view_names]
        for view, feature_map, part in zip(self.used_views, self.maps, self.problem.view_slices, strict=True):
            centers[view] = feature_map.uncentred(self.parameters.centers[:, part]).astype(self.dtype)
        return centers


def scoring_membership(model: Model) -> Membership:
    """The membership whose degrees outlier scores are: by the neighbours in a graph ``1 / (1 + d)``."""
    return Possibilistic(2.0) if model.fuses else model.problem.membership


@dataclass(frozen=True)
class Restart:
    """One run of the solver: where it started and what it reached.

    ``hard_objective`` is the objective at ``s = -inf``, by which restarts are compared, ``hard_loss`` the data's
    part of it; ``n_moves`` counts centroids that were moved after the annealing.
    """

    init: str
    s_init: float
    s: float
    n_iter: int
    status: Status
    hard_objective: float
    hard_loss: float
    n_moves: int = 0


class StreamLine(NamedTuple):
    """One chunk of a stream.

    n_seen : samples seen with it, by their weight
    loss : its mean loss before it was learnt from
    drift : by what share that loss exceeds the running one
    shift : the largest step of a centroid
    """

    n_seen: float
    loss: float
    drift: float
    shift: float


@dataclass(frozen=True, eq=False)
class StreamLines:
    """The lines of a stream, a row each, in room that doubles when it is full: adding lines is linear overall.

    What goes on from it shares the room. A row of NaN is free; where another has taken it, the rows are copied.
    """

    room: Array = field(default_factory=lambda: np.full((0, len(StreamLine._fields)), np.nan))
    n_lines: int = 0

    def with_line(self, line: StreamLine) -> StreamLines:
        """The same lines and one more."""
        room, at = self.room, self.n_lines
        if at == len(room) or not np.isnan(room[at, 0]):
            room = np.full((max(16, 2 * at), room.shape[1]), np.nan)
            room[:at] = self.room[:at]
        room[at] = line
        return StreamLines(room, at + 1)

    @property
    def table(self) -> Array:
        """The lines, read only."""
        lines = self.room[: self.n_lines]
        lines.flags.writeable = False
        return lines


@dataclass(frozen=True)
class Stream:
    """What a model has seen, to go on from: running sums, in which samples count less the longer ago they were.

    ``sums`` are scaled to ``weight``, which the ``n_fitted`` samples of the fit had; their scatter is about the
    origin, so that it does not matter where centroids were. ``n_seen`` counts samples by their weight, in units of
    those of the fit; ``n_learnt`` is how many there were in all chunks since.
    """

    sums: PassStatistics
    weight: float
    n_fitted: int
    n_seen: float
    n_learnt: int = 0
    lines: StreamLines = field(default_factory=StreamLines)


@dataclass(frozen=True)
class FitResult:
    """A fitted model and the story of its fit.

    ``n_used`` clusters have samples; ``n_apart`` centroids are apart from all others. ``shortfalls`` tells what
    went wrong in the fit, ``advice`` what the data make unwise, if that was asked for. ``medoids`` are the
    training rows nearest to the centroids, -1 for clusters without any; None where they are not known.
    """

    model: Model
    labels: Array
    objective: float
    inertia: float
    bandwidths: tuple[float | None, ...]
    n_used: int
    n_apart: int
    history: tuple[Iteration, ...]
    restarts: tuple[Restart, ...] = ()
    best: int = 0
    critical: float | None = None
    stream: Stream | None = None
    shortfalls: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    medoids: Array | None = None


def history_table(result: FitResult) -> dict[str, Array]:
    """The history as one array per column."""
    lines = result.history
    return {
        "s": np.array([line.s for line in lines]),
        "objective": np.array([line.objective for line in lines]),
        "inertia": np.array([line.hard_cost for line in lines]),
        "shift": np.array([line.shift for line in lines]),
        "n_distinct": np.array([line.n_distinct for line in lines]),
        "view_weights": _weights_of(result),
        "groups": np.array([line.groups for line in lines], dtype=np.int32).reshape(len(lines), -1),
    }


def _weights_of(result: FitResult) -> Array:
    """The weights of all views in each iteration; those of a map that fuses views are known before."""
    model = result.model
    if model.fuses:
        return np.tile(model.view_weights, (len(result.history), 1))
    return model.for_all_views([line.view_weights for line in result.history], 0.0)


def stream_table(result: FitResult) -> dict[str, Array]:
    """The chunks of a stream as one array per column."""
    lines = StreamLines() if result.stream is None else result.stream.lines
    return dict(zip(StreamLine._fields, lines.table.T, strict=True))
