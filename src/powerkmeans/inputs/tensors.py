"""Tensors, and arrays of other libraries that become such: what is wrong with them is told here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

import numpy as np

from powerkmeans.sources.columns import check_table
from powerkmeans.sources.tensors import TensorSource, is_tensors
from powerkmeans.support.memory import ENTRIES
from powerkmeans.support.tensors import handed_over, is_foreign, on_host, to_numpy
from powerkmeans.support.values import listed

# types of the processor and of cards that the engine works on
DEVICES = ("cpu", "cuda")


def open_tensor(table: Any, what: str) -> Any:
    """A table that is read from a tensor; an array of NumPy where another library's is in memory here."""
    tensor = handed_over(table)
    if isinstance(tensor, np.ndarray):
        return tensor
    check_tensor(tensor, what)
    if tensor.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {tensor.ndim}D array instead: {what} has the shape {tuple(tensor.shape)}. "
            "Reshape it: .reshape(-1, 1) if it is one column, .reshape(1, -1) if it is one sample."
        )
    check_table(what, tuple(tensor.shape))
    return TensorSource(what, as_floats(tensor))


def check_tensor(tensor: Any, what: str) -> None:
    """Reject tensors that are more than numbers on a device, or less."""
    if tensor.requires_grad:
        raise ValueError(f"{what} requires gradients, and clusters have none to give; pass it by .detach().")
    if str(tensor.layout) != "torch.strided":
        raise TypeError(
            f"{what} is a sparse tensor ({tensor.layout}), which is not supported; pass a scipy.sparse.csr_array, "
            "or the tensor by .to_dense()."
        )
    if tensor.dtype.is_complex:
        raise ValueError(f"Complex data not supported: {what} holds {tensor.dtype}.")
    if tensor.device.type not in DEVICES:
        raise ValueError(
            f"{what} is on the device '{tensor.device}', which has no double precision or is not supported; the "
            f"engine works on {listed(DEVICES)}: move it by .to('cpu')."
        )


def as_floats(tensor: Any) -> Any:
    """The tensor in single or double precision: half becomes single, and integers double, as in NumPy."""
    if not tensor.dtype.is_floating_point:
        return tensor.double()
    return tensor.float() if tensor.dtype.itemsize < 4 else tensor


def check_values(table: TensorSource, original: Any) -> None:
    """Reject missing and infinite values by their row and column."""
    step = max(1, ENTRIES // table.shape[1])
    for start in range(0, table.shape[0], step):
        rows = table.tensor[start : start + step]
        if not bool(rows.sum().isfinite()):  # one number to wait for
            _check_rows(table, to_numpy(rows), start, original)


def _check_rows(table: TensorSource, rows: Any, start: int, original: Any) -> None:
    odd = ~np.isfinite(rows)
    if np.any(odd):  # and not only the sum was too large
        row, column = (int(place) for place in np.argwhere(odd)[0])
        _refuse(table.name, start + row, column, rows[row, column], original)


def _refuse(name: str, row: int, column: int, value: Any, original: Any) -> NoReturn:
    where = f"row {row}, column {column}"
    if np.isnan(value):
        raise ValueError(
            f"Input {name} contains NaN: {where}. Fill such cells first, for example with "
            "torch.nan_to_num, or leave those rows out."
        )
    half = str(getattr(original, "dtype", "")).endswith("float16")
    told = " (float16 has nothing beyond 65504: convert before you scale)" if half else ""
    raise ValueError(f"Input {name} contains infinity or a value too large for its type: {where}{told}.")


def check_one_device(tables: Mapping[str, Any]) -> None:
    """Reject views on different devices."""
    places = {name: str(table.device) for name, table in tables.items() if is_tensors(table)}
    if len(set(places.values())) > 1:
        told = ", ".join(f"view {name!r} on '{place}'" for name, place in places.items())
        first = next(iter(places.values()))
        raise ValueError(f"The views are on different devices: {told}. Move them to one, by .to('{first}').")


def numbers_here(value: Any, what: str) -> Any:
    """What comes beside the rows (weights, masks, centroids), brought here; also what a list or dict holds."""
    if is_foreign(value):
        tensor = handed_over(value)
        if not isinstance(tensor, np.ndarray):
            check_tensor(tensor, what)
        return on_host(value)
    if isinstance(value, Mapping) and any(map(is_foreign, value.values())):
        return {name: numbers_here(one, f"{what}[{name!r}]") for name, one in value.items()}
    if isinstance(value, (list, tuple)) and any(map(is_foreign, value)):
        return [numbers_here(one, what) for one in value]
    return value


def opened_tables(tables: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """Named tables with tensors opened; what is not 2-D is told where all tables are."""
    return {
        name: open_tensor(table, f"view {name!r}") if is_foreign(table) and len(table.shape) == 2 else table
        for name, table in tables
    }
