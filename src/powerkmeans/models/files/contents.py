"""The table of what a model file holds: every entry of its header and every array.

Sizes by their letters: V views were given and L of them are used, with P coordinates in all; there are k clusters,
n labels, h lines of history and c chunks of a stream. View number # has d# columns, r# frequencies or landmarks
and p# outputs. Rows that a stream has collected are m, with z# numbers where they are sparse.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from powerkmeans.features.maps.packing import Packing, PlainEntry
from powerkmeans.features.maps.registry import classes_by_file_name
from powerkmeans.inputs.metric import METRICS
from powerkmeans.models.files.schema import (
    ALL,
    Check,
    Numbers,
    Scope,
    anything,
    flag,
    integer,
    largest,
    listed,
    mapping,
    number,
    one_of,
    optional,
    record,
    smallest,
    text,
)
from powerkmeans.objective.membership import MEMBERSHIPS
from powerkmeans.types import Status

FORMAT = "powerkmeans-model"
VERSION = 2

PRECISION = "float32 float64"


def _membership(value: Any, where: str, scope: Scope) -> None:
    one_of(*MEMBERSHIPS)(value, where, scope)  # those that are registered when a file is read


_LENGTH = number(smallest("float64"), largest("float64"))
_EXPONENT = number(high=0)
_NEGATIVE = number(high=-5e-324, word="-inf")

_RESTART = {
    "init": text,
    "s_init": _NEGATIVE,
    "s": _NEGATIVE,
    "n_iter": integer(0),
    "status": one_of(*(status.value for status in Status)),
    "hard_objective": number(),
    "hard_loss": number(),
    "n_moves": integer(0),
}

_STREAM = {"weight": _LENGTH, "n_fitted": integer(1), "n_seen": _LENGTH, "n_learnt": integer(0)}

_COLLECTED = {"n_fitted": integer(0), "sparse": listed(flag, "V"), "masked": flag}


def _kind_of_map(value: Any, where: str, scope: Scope) -> None:
    """A kind of map that there is by then."""
    one_of(*classes_by_file_name())(value, where, scope)


_MAP = {
    "kind": _kind_of_map,
    "scale": _LENGTH,
    "dtype": one_of(*PRECISION.split()),
    "plain": anything,  # by its kind
}

HEADER = record(
    {
        "format": one_of(FORMAT),
        "version": integer(1, VERSION),
        "estimator": text,
        "parameters": mapping(anything),  # as for a fit
        "n_features_in": integer(1),
        "feature_names_in": optional(listed(text, "columns")),
        "layout": record({"labels": anything, "columns": anything}),
        "view_names": listed(text, "V"),
        "used_views": listed(integer(0)),
        "view_widths": listed(integer(1), "V"),
        "metrics": listed(one_of(*METRICS), "V"),
        "dtype": one_of(*PRECISION.split()),
        "membership": _membership,
        "fuzziness": number(above=1),
        "entropy": number(above=0, word="inf"),
        "s": _NEGATIVE,
        "splits": listed(integer(0), "L+1"),
        "dual": listed(flag),
        "maps": listed(record(_MAP), "L"),
        "objective": number(),
        "inertia": number(0),
        "bandwidths": listed(optional(_LENGTH), "L"),
        "critical": optional(_EXPONENT),
        "n_used": integer(1),
        "n_apart": integer(1),
        "best": integer(0),
        "troubles": listed(text),
        "advice": listed(text),
        "restarts": listed(record(_RESTART, later=("hard_loss", "n_moves"))),
        "stream": record(_STREAM, later=("n_learnt",)),
        "collected": record(_COLLECTED),
        "extra": anything,  # for whoever wrote it
    },
    lacking=("metrics", "layout", "stream", "collected", "extra"),
    later=("used_views", "view_widths", "dual", "troubles", "advice"),
)


def _squares(shape: str, *, positive: bool = False, signed: bool = False) -> Numbers:
    """Squared distances and sums of them, which may be as large as the squares of what has a square."""
    most, least = largest("float64") ** 2, smallest("float64") ** 2
    return Numbers(shape, low=-most if signed else least if positive else 0.0, high=most)


_ARRAYS = {
    "labels": Numbers("n", "int32", 0, below="k"),
    "centers": Numbers("k P"),
    "view_weights": Numbers("L", low=0, high=1),
    "reference_distance": _squares("L", positive=True),
    "scatter": _squares("L", positive=True),
    "history.s": Numbers("h", low=-ALL, high=-5e-324),
    "history.objective": _squares("h", signed=True),
    "history.inertia": _squares("h"),
    "history.shift": Numbers("h", low=0),
    "history.n_distinct": Numbers("h", "int64 int32", 1),
    "history.view_weights": Numbers("h L", low=0, high=1),
    "history.groups": Numbers("h groups", "int32", 0, below="k"),
}
MAY_LACK = {"baseline": _squares("L", signed=True), "medoids": Numbers("k", "int64", -1)}

_STREAM_ARRAYS = {
    "stream.mass": Numbers("k L", low=0),
    "stream.moment": _squares("k P", signed=True),
    "stream.scatter": _squares("k L", signed=True),
    "stream.residual": Numbers("k L", low=0),
    "stream.sizes": Numbers("k", low=0),
    "stream.loss": _squares(""),
    "stream.hard_cost": _squares(""),
    "stream.lines": _squares("c 4", signed=True),
}

_SPARSE_ROWS = {
    "data": Numbers("z#", PRECISION),
    "indices": Numbers("z#", "int32 int64", 0),
    "indptr": Numbers("m+1", "int32 int64", 0),
}
_DENSE_ROWS = {"rows": Numbers("m d#", PRECISION)}


def check_map(entry: Mapping[str, Any], scope: Scope) -> None:
    """Hold what a map has beside its arrays to the table of its class."""
    entries = map_packing(entry).entries
    record({name: _check_of(one) for name, one in entries.items()})(entry["plain"], "header.maps", scope)


def map_packing(entry: Mapping[str, Any]) -> Packing:
    """How a map lies in the file, by what it is called there."""
    return classes_by_file_name()[entry["kind"]].packing


def _check_of(entry: PlainEntry) -> Check:
    if entry.squared:
        return number(smallest("float64") ** 2, largest("float64") ** 2)
    if entry.kind is float:
        return _LENGTH if entry.positive else number(entry.low, largest("float64"))
    if entry.kind is int:
        return integer(entry.low)
    return flag if entry.kind is bool else one_of(*entry.words)


def _map_arrays(entry: Mapping[str, Any]) -> dict[str, Numbers]:
    table = map_packing(entry).arrays(entry["plain"])
    return {name: Numbers(*array) for name, array in table.items()}


def fuses(header: Mapping[str, Any]) -> bool:
    """Whether one map takes all views together."""
    return any(classes_by_file_name()[entry["kind"]].fuses for entry in header["maps"])


def places_of_maps(header: Mapping[str, Any]) -> list[tuple[int, Mapping[str, Any]]]:
    """Each map and the number of its view; a map that fuses has the number after all of them."""
    numbers = [len(header["view_names"])] if fuses(header) else header["used_views"]
    return list(zip(numbers, header["maps"], strict=True))


def arrays_of(header: Mapping[str, Any]) -> dict[str, Numbers]:
    """The arrays that a file with this header has, those of settings apart; some may be lacking."""
    table = _ARRAYS | MAY_LACK
    for index, (view, entry) in enumerate(places_of_maps(header)):
        table |= _numbered(f"map{index}.", _map_arrays(entry), view)
    if "stream" in header:
        table |= _STREAM_ARRAYS
    if "collected" in header:
        table |= _collected_arrays(header["collected"])
    return table


def _collected_arrays(entry: Mapping[str, Any]) -> dict[str, Numbers]:
    table = {"collected.weight": Numbers("m", PRECISION, 0)}
    if entry["masked"]:
        table["collected.present"] = Numbers("m V", "bool")
    for view, sparse in enumerate(entry["sparse"]):
        table |= _numbered(f"collected{view}.", _SPARSE_ROWS if sparse else _DENSE_ROWS, view)
    return table


def _numbered(prefix: str, table: Mapping[str, Numbers], view: int) -> dict[str, Numbers]:
    return {prefix + name: row._replace(shape=row.shape.replace("#", str(view))) for name, row in table.items()}
