"""Features of all rows on a card, as planes of sixteen bits; views are side by side.

A number is the sum of its planes. Two of ``bfloat16`` hold single precision to 2^-18 in its four bytes. One of
``float16`` has the eleven digits of TF32, and is scaled so that they are there; one of ``bfloat16`` has eight.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable
from itertools import accumulate
from typing import Any, NamedTuple

from powerkmeans.types import Block

# numbers that are read at once, sixteen bytes of them: views are padded to a multiple
OCTET = 8
# largest number of ``float16``, and the share of it that numbers seen first may take, as a power of two
LARGEST_HALF, HALF_ROOM = 65504.0, 2.0**-6


class Storage(NamedTuple):
    """How features are held: so many planes of a type of PyTorch, by its name."""

    parts: int
    kind: str


# by the precision that users ask for
STORAGE = {"float32": Storage(2, "bfloat16"), "tf32": Storage(1, "float16"), "bfloat16": Storage(1, "bfloat16")}


def split(rows: Any, storage: Storage, torch: Any) -> Any:
    """Rows of single precision as planes, (parts, n, columns padded with zeros)."""
    padding, kind = -rows.shape[1] % OCTET, getattr(torch, storage.kind)
    rows = torch.nn.functional.pad(rows, (0, padding)) if padding else rows
    planes = [rows.to(kind)]
    if storage.parts > 1:
        planes.append((rows - planes[0].float()).to(kind))
    return torch.stack(planes)


def joined(planes: Any, n_columns: int) -> Any:
    """The rows that planes hold, in single precision."""
    rows = planes[0, :, :n_columns].float()
    return rows if planes.shape[0] == 1 else rows + planes[1, :, :n_columns].float()


def cover_of(present: Any) -> Any:
    """``q_il``, (L, b), as ``objective.block.view_cover`` has it."""
    counts = present.sum(dim=0).clamp_min(1)
    return present * (present.shape[0] / counts).float()


class PlaneBlocks:
    """Features of some views, held as planes; whoever reads blocks gets them in single precision.

    widths, starts : columns of each view, and where they begin among all
    norms, covers : (L, n), squared lengths of what is held, and ``q_il`` or None where no view is missing
    scale : what features are multiplied by, a power of two
    heaviest, mean_weight : of rows as they pull, which those that lack views do by more than their weight
    desks : what passes over these rows write to the card, by their kernel
    careful : whether the last pass had distances that lost their digits, so that the next begins with differences
    """

    def __init__(self, blocks: Iterable[Block], n_rows: int, storage: Storage, torch: Any) -> None:
        self.careful, self.storage, self.scale = False, storage, 1.0
        self.desks: dict[Any, Any] = {}
        self._torch, self._starts = torch, []
        done = 0
        for block in blocks:
            if done == 0:
                self._make(block, n_rows)
            here = slice(done, done + block.weight.shape[0])
            self._fill(block, here)
            self._starts.append((block.start, here))
            done = here.stop
        pulling = self.weight if self.covers is None else self.weight * self.covers.amax(dim=0)
        self.heaviest, self.mean_weight = float(pulling.max()), float(pulling.double().mean())

    def _make(self, block: Block, n_rows: int) -> None:
        torch, device = self._torch, block.weight.device
        self.widths = [int(view.shape[1]) for view in block.views]
        padded = [width + -width % OCTET for width in self.widths]
        *self.starts, total = accumulate(padded, initial=0)
        kind, numbers = getattr(torch, self.storage.kind), {"dtype": block.weight.dtype, "device": device}
        self.planes = torch.empty((self.storage.parts, n_rows, total), dtype=kind, device=device)
        self.weight, self.norms = torch.empty(n_rows, **numbers), torch.empty((len(padded), n_rows), **numbers)
        self.covers = None if block.present is None else torch.empty_like(self.norms)

    def _fill(self, block: Block, here: slice) -> None:
        if self.storage.kind == "float16":
            self._make_room(max(float(view.abs().max()) if view.numel() else 0.0 for view in block.views))
        for number, (view, start, width) in enumerate(zip(block.views, self.starts, self.widths, strict=True)):
            piece = split(view * self.scale, self.storage, self._torch)
            self.planes[:, here, start : start + piece.shape[2]] = piece
            self.norms[number, here] = joined(piece, width).square().sum(dim=1)
        self.weight[here] = block.weight
        if self.covers is not None:
            self.covers[:, here] = cover_of(block.present)

    def _make_room(self, largest: float) -> None:
        """Scale what is held and what will be so that numbers as large as this are in the range of the type."""
        if largest * self.scale > LARGEST_HALF or (not self._starts and largest > 0):
            factor = 2.0 ** math.floor(math.log2(LARGEST_HALF * HALF_ROOM / (largest * self.scale)))
            self.scale *= factor
            if self._starts:
                self.planes *= factor
                self.norms *= factor**2

    @property
    def n_columns(self) -> int:
        """Columns of all views."""
        return sum(self.widths)

    def __len__(self) -> int:
        return len(self._starts)

    def read(self) -> Generator[Block, None, None]:
        """Yield the blocks in order."""
        for start, rows in self._starts:
            views = tuple(self._view(number, rows) for number in range(len(self.widths)))
            norms = tuple(norm / self.scale**2 for norm in self.norms[:, rows])
            present = None if self.covers is None else self.covers[:, rows] > 0
            yield Block(start, views, norms, self.weight[rows], present)

    def _view(self, number: int, rows: slice) -> Any:
        start, width = self.starts[number], self.widths[number]
        return joined(self.planes[:, rows, start : start + width + -width % OCTET], width) / self.scale
