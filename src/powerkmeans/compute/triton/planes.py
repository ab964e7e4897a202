"""Features of all rows of a view on a card, as planes of sixteen bits.

A number is the sum of its planes. Two hold single precision to 2^-18 in its four bytes, one is ``bfloat16``.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any

from powerkmeans.types import Block

# numbers that are read at once, sixteen bytes of them: rows are padded to a multiple
OCTET = 8


def split(rows: Any, parts: int, torch: Any) -> Any:
    """Rows of single precision as planes, (parts, n, columns padded with zeros)."""
    padding = -rows.shape[1] % OCTET
    rows = torch.nn.functional.pad(rows, (0, padding)) if padding else rows
    planes = [rows.to(torch.bfloat16)]
    if parts > 1:
        planes.append((rows - planes[0].float()).to(torch.bfloat16))
    return torch.stack(planes)


def joined(planes: Any, n_columns: int) -> Any:
    """The rows that planes hold, in single precision."""
    rows = planes[0, :, :n_columns].float()
    return rows if planes.shape[0] == 1 else rows + planes[1, :, :n_columns].float()


class PlaneBlocks:
    """Features of one view, held as planes; whoever reads blocks gets them in single precision.

    careful : whether the last pass had distances that lost their digits, so that the next begins with differences
    """

    def __init__(self, blocks: Iterable[Block], n_rows: int, parts: int, torch: Any) -> None:
        self.careful, self._torch, self._starts = False, torch, []
        done = 0
        for block in blocks:
            (view,), size = block.views, block.weight.shape[0]
            piece = split(view, parts, torch)
            if done == 0:
                self._make(piece, block, n_rows, int(view.shape[1]))
            here = slice(done, done + size)
            self.planes[:, here], self.weight[here] = piece, block.weight
            self.norms[here] = joined(piece, self.n_columns).square().sum(dim=1)
            self._starts.append((block.start, here))
            done += size

    def _make(self, piece: Any, block: Block, n_rows: int, n_columns: int) -> None:
        empty, self.n_columns = self._torch.empty, n_columns
        self.planes = empty((piece.shape[0], n_rows, piece.shape[2]), dtype=piece.dtype, device=piece.device)
        self.weight = empty(n_rows, dtype=block.weight.dtype, device=piece.device)
        self.norms = self._torch.empty_like(self.weight)

    def __len__(self) -> int:
        return len(self._starts)

    def read(self) -> Generator[Block, None, None]:
        """Yield the blocks in order."""
        for start, rows in self._starts:
            view = joined(self.planes[:, rows], self.n_columns)
            yield Block(start, (view,), (self.norms[rows],), self.weight[rows])
