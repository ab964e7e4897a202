"""What the table of a model file cannot say: how its entries go together, and that its numbers give answers."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from powerkmeans.features.maps.exact import PRECOMPUTED
from powerkmeans.models.files.archive import Member
from powerkmeans.models.files.contents import HEADER, arrays_of, map_kind, plain_of_map
from powerkmeans.models.files.flaws import Flaw
from powerkmeans.models.files.schema import Scope
from powerkmeans.models.files.values import check_packed
from powerkmeans.models.files.versions import upgraded
from powerkmeans.types import Array

# shares and weights add up to one within this
_SUM = 1e-6
_MAY_LACK = {"baseline"}


def check_announced(header: Any, members: Mapping[str, Member], version: int) -> tuple[dict[str, Any], Scope]:
    """Check the header, and what arrays are announced, before any is unpacked; the header comes back in full."""
    scope = Scope(version)
    scope.sizes |= {"0": 0, "4": 4}
    HEADER(header, "header", scope)
    for entry in header["maps"]:
        plain_of_map(entry["kind"])(entry["plain"], "header.maps", scope)
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
    for index, entry in enumerate(header["maps"]):
        if entry["kind"] == "exact":
            _check_exact(f"map{index}.", arrays)


def _check_exact(prefix: str, arrays: Mapping[str, Array]) -> None:
    share, diagonal = (arrays[prefix + name] for name in ("share", "diagonal"))
    _check_sum(f"{prefix}share", share)
    if len(diagonal) and not (np.all(diagonal[share > 0] >= 0) and np.any(diagonal[share > 0] > 0)):
        raise Flaw(f"'{prefix}diagonal' holds negative numbers, or nothing but zeros")


def _check_sum(name: str, values: Array) -> None:
    if not abs(float(np.sum(values)) - 1) < _SUM:
        raise Flaw(f"{name!r} must add up to 1")


def _check_views(header: Mapping[str, Any], scope: Scope) -> None:
    names, used, splits = (header[name] for name in ("view_names", "used_views", "splits"))
    scope.bind("L", len(used), "header.used_views")
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
    dual = [entry["kind"] == "exact" for entry in header["maps"]]
    if header["dual"] != (dual if any(dual) else []):
        raise Flaw("header.dual does not tell which maps are exact")


def _unprintable(name: str) -> bool:
    return any("\ud800" <= letter <= "\udfff" for letter in name)


def _check_maps(header: Mapping[str, Any], scope: Scope) -> None:
    """Hold what each map puts out to the width of its place among the coordinates."""
    parts = zip(
        header["used_views"], header["maps"], pairwise(header["splits"]), header["bandwidths"], strict=True
    )
    for view, entry, (start, end), bandwidth in parts:
        kind, plain, where = map_kind(entry), entry["plain"], f"the map of view {header['view_names'][view]!r}"
        n_outputs, rest = divmod(end - start, 2 if entry["kind"] == "exact" else 1)
        scope.bind(f"p{view}", n_outputs, where)
        square = kind not in ("identity", PRECOMPUTED) or n_outputs == scope.sizes[f"d{view}"]
        if rest or not square or plain.get("n_components", n_outputs) != n_outputs:
            raise Flaw(f"{where} does not put out what its place holds")
        if (bandwidth is None) != (kind in ("identity", PRECOMPUTED)):
            raise Flaw(f"{where} has a bandwidth without a kernel, or none with one")
        if "bandwidth" in plain and plain["bandwidth"] != (bandwidth or 0):
            raise Flaw(f"{where} has two bandwidths")
        if plain.get("training") or plain.get("order_only"):
            raise Flaw(f"{where} is not one for new samples")


def _check_members(header: Mapping[str, Any], members: Mapping[str, Member], scope: Scope) -> None:
    table = arrays_of(header)
    settings = set(_referred(header["parameters"], "header.parameters", members))
    for name in ("extra", "layout"):
        entries = {name: {"dict": header[name]} if name == "layout" else header[name]} if name in header else {}
        settings |= set(_referred(entries, "header", members))
    optional = _MAY_LACK | ({"history.groups"} if scope.version == 1 else set())
    for name in table:
        if name not in members and name not in optional:
            raise Flaw(f"{name!r} is missing")
    for name, member in members.items():
        if name in table:
            table[name].check_shape(name, member, scope)
        elif name not in settings:
            raise Flaw(f"it has the member {name!r}, which is none of this model")
    for index, view in enumerate(header["used_views"]):
        _check_map_members(index, view, map_kind(header["maps"][index]), members, scope)


def _check_map_members(index: int, view: int, kind: str, members: Mapping[str, Member], scope: Scope) -> None:
    n_outputs = scope.sizes[f"p{view}"]
    if kind == "fourier" and n_outputs != 2 * scope.sizes[f"r{view}"]:
        raise Flaw(f"'map{index}.frequencies' must be half as many as the outputs")
    if kind == "nystroem" and n_outputs > scope.sizes[f"r{view}"]:
        raise Flaw(f"'map{index}.normalization' has more outputs than landmarks")
    if kind == PRECOMPUTED:
        keys = members[f"map{index}.keys"]
        if keys.shape[0] not in (0, n_outputs) or (keys.shape[0] and keys.dtype != np.uint64):
            raise Flaw(f"'map{index}.keys' must be one for each sample, or none")


def _referred(entries: Mapping[str, Any], where: str, names: Mapping[str, Any]) -> set[str]:
    return {name for entry, value in entries.items() for name in check_packed(value, f"{where}.{entry}", names)}


def _check_sizes(header: Mapping[str, Any], scope: Scope) -> None:
    sizes = scope.sizes
    for letter, what in {"k": "clusters", "n": "labels", "h": "lines of history"}.items():
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
