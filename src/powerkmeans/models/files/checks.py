"""What the table of a model file cannot say: how its entries go together, and that its numbers give answers."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from powerkmeans.features.maps.exact import PRECOMPUTED
from powerkmeans.features.maps.registry import classes_by_file_name
from powerkmeans.inputs.metric import COSINE
from powerkmeans.models.files.archive import Member
from powerkmeans.models.files.contents import (
    HEADER,
    MAY_LACK,
    arrays_of,
    check_map,
    fuses,
    map_packing,
    places_of_maps,
)
from powerkmeans.models.files.flaws import Flaw
from powerkmeans.models.files.schema import Scope
from powerkmeans.models.files.values import check_packed
from powerkmeans.models.files.versions import upgraded
from powerkmeans.support.precision import HALF_THE_DIGITS
from powerkmeans.types import Array


def check_announced(header: Any, members: Mapping[str, Member], version: int) -> tuple[dict[str, Any], Scope]:
    """Check the header, and what arrays are announced, before any is unpacked; the header comes back in full."""
    scope = Scope(version)
    scope.sizes |= {"0": 0, "4": 4}
    HEADER(header, "header", scope)
    for entry in header["maps"]:
        check_map(entry, scope)
    header = upgraded(header, members)
    _check_views(header, scope)
    _check_maps(header, scope)
    _check_members(header, members, scope)
    _check_sizes(header, scope)
    return header, scope


def check_arrays(header: Mapping[str, Any], arrays: Mapping[str, Array], scope: Scope) -> None:
    """Check the numbers that arrays hold."""
    for name, numbers in arrays_of(header).items():
        if name in arrays:
            numbers.check_values(name, arrays[name], scope)
    for name in _referred(header["parameters"], "header.parameters", arrays):
        if not np.all(np.isfinite(arrays[name])):
            raise Flaw(f"{name!r} holds numbers that are not finite")
    _check_sum("view_weights", arrays["view_weights"])
    if not np.all(arrays["view_weights"] > 0):
        raise Flaw("'view_weights' has a weight of zero")
    if np.max(arrays["history.n_distinct"]) > scope.sizes["k"]:
        raise Flaw("'history.n_distinct' counts more centroids than there are")
    n_rows = scope.sizes["n"]
    if n_rows and "medoids" in arrays and np.max(arrays["medoids"]) >= n_rows:
        raise Flaw("'medoids' names a row that there is not")


def _check_sum(name: str, values: Array) -> None:
    if not abs(float(np.sum(values)) - 1) < HALF_THE_DIGITS:
        raise Flaw(f"{name!r} must add up to 1")


def _check_views(header: Mapping[str, Any], scope: Scope) -> None:
    names, used, splits = (header[name] for name in ("view_names", "used_views", "splits"))
    _check_fused(header, scope)
    scope.bind("V", len(header["view_widths"]), "header.view_widths")
    if len(set(names)) < len(names) or any(_unprintable(name) for name in names):
        raise Flaw("header.view_names has a name twice, or one that is no text")
    if not used or len(set(used)) < len(used) or max(used) >= len(names):
        raise Flaw("header.used_views must be some of the views, each once")
    if splits[0] != 0 or any(b <= a for a, b in pairwise(splits)):
        raise Flaw("header.splits must rise from 0")
    for view, width in enumerate(header["view_widths"]):
        scope.bind(f"d{view}", width, "header.view_widths")
    scope.bind("P", splits[-1], "header.splits")
    dual = [_is_dual(entry) for entry in header["maps"]]
    if header["dual"] != (dual if any(dual) else []):
        raise Flaw("header.dual does not tell which maps are exact")


def _check_fused(header: Mapping[str, Any], scope: Scope) -> None:
    """Hold the number of maps to that of views: one for each, or one that fuses all."""
    used, widths = header["used_views"], header["view_widths"]
    if not fuses(header):
        scope.bind("L", len(used), "header.used_views")
    elif len(header["maps"]) > 1:
        raise Flaw("header.maps has another map beside one that fuses all views")
    elif all(isinstance(view, int) and view < len(widths) for view in used):
        marks = len(used) if len(used) > 1 else 0
        scope.bind(f"d{len(header['view_names'])}", sum(widths[view] for view in used) + marks, "header.maps")


def _is_dual(entry: Mapping[str, Any]) -> bool:
    return classes_by_file_name()[entry["kind"]].dual


def _unprintable(name: str) -> bool:
    return any("\ud800" <= letter <= "\udfff" for letter in name)


def _check_maps(header: Mapping[str, Any], scope: Scope) -> None:
    """Hold what each map puts out to the width of its place among the coordinates."""
    parts = zip(places_of_maps(header), pairwise(header["splits"]), header["bandwidths"], strict=True)
    for index, ((view, entry), (start, end), bandwidth) in enumerate(parts):
        plain, where = entry["plain"], f"the map of view {header['view_names'][header['used_views'][index]]!r}"
        n_outputs, rest = divmod(end - start, 2 if _is_dual(entry) else 1)
        scope.bind(f"p{view}", n_outputs, where)
        if rest or plain.get("n_components", n_outputs) != n_outputs:
            raise Flaw(f"{where} does not put out what its place holds")
        if (bandwidth is None) == map_packing(entry).has_bandwidth(plain):
            raise Flaw(f"{where} has a bandwidth without a kernel, or none with one")
        if "bandwidth" in plain and plain["bandwidth"] != (bandwidth or 0):
            raise Flaw(f"{where} has two bandwidths")
        if header["metrics"][header["used_views"][index]] == COSINE and plain.get("kernel") == PRECOMPUTED:
            raise Flaw(f"{where} takes kernels, which have no direction")


def _check_members(header: Mapping[str, Any], members: Mapping[str, Member], scope: Scope) -> None:
    table = arrays_of(header)
    settings = set(_referred(header["parameters"], "header.parameters", members))
    for name in ("extra", "layout"):
        entries = {name: {"dict": header[name]} if name == "layout" else header[name]} if name in header else {}
        settings |= set(_referred(entries, "header", members))
    optional = set(MAY_LACK) | ({"history.groups"} if scope.version == 1 else set())
    for name in table:
        if name not in members and name not in optional:
            raise Flaw(f"{name!r} is missing")
    for name, member in members.items():
        if name in table:
            table[name].check_shape(name, member, scope)
        elif name not in settings:
            raise Flaw(f"it has the member {name!r}, which is none of this model")
    for index, (view, entry) in enumerate(places_of_maps(header)):
        flaw = map_packing(entry).flaw(_sizes_of(view, scope))
        if flaw is not None:
            raise Flaw(f"map{index}: {flaw}")


def _sizes_of(view: int, scope: Scope) -> dict[str, int]:
    """Sizes of one view by their letters alone."""
    names = {letter.rstrip("0123456789") for letter in scope.sizes}
    return {name: scope.sizes[f"{name}{view}"] for name in names if f"{name}{view}" in scope.sizes}


def _referred(entries: Mapping[str, Any], where: str, names: Mapping[str, Any]) -> set[str]:
    return {name for entry, value in entries.items() for name in check_packed(value, f"{where}.{entry}", names)}


def _check_sizes(header: Mapping[str, Any], scope: Scope) -> None:
    sizes = scope.sizes
    for letter, what in {"k": "clusters", "h": "lines of history"}.items():
        if sizes[letter] < 1:
            raise Flaw(f"it has no {what}")
    if sizes.get("groups", 0) not in (0, sizes["k"]):
        raise Flaw("'history.groups' must have a column for each cluster")
    if header["n_used"] > sizes["k"] or header["n_apart"] > sizes["k"]:
        raise Flaw("header.n_used or header.n_apart counts more clusters than there are")
    if header["best"] >= len(header["restarts"]):
        raise Flaw("header.best is none of the runs")
    if "collected" in header and not 1 <= header["collected"]["n_fitted"] <= sizes["m"]:
        raise Flaw("header.collected.n_fitted must be at most the rows collected")
    if "collected" in header and "stream" not in header:
        raise Flaw("it has collected rows, but no stream to go on from")


def restored_rows(name: str, parts: Mapping[str, Array], width: int) -> Any:
    """Sparse rows of their parts, if these are in order."""
    shape = (len(parts["indptr"]) - 1, width)
    try:
        rows = csr_array((parts["data"], parts["indices"], parts["indptr"]), shape=shape)
        rows.check_format(full_check=True)
    except ValueError as error:
        raise Flaw(f"'{name}' are not sparse rows: {error}") from error
    if not rows.has_canonical_format:
        raise Flaw(f"'{name}' has columns twice, or out of order")
    return rows
