"""Rows of this machine on their way to cards: copied beside the work there, by way of pinned memory.

While a card works on one block, a thread reads the next into two pinned pieces in turn and a stream of its own
copies it from there. A piece is written to again once the copy out of it has ended, and a card's work on a block
begins once all of it has arrived. So the numbers are those of any other way.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from typing import Any, Protocol

from powerkmeans.sources.ahead import read_ahead
from powerkmeans.types import Array, Block

# bytes of a pinned piece, and how many there are: while one is being filled, the card reads the other
PIECE_BYTES, N_PIECES = 2**25, 2


class Mark(Protocol):
    """A place in a stream of copies, which has been passed once all copies before it have ended."""

    def synchronize(self) -> None: ...


class Lane:
    """A stream of one card, beside the one on which it works."""

    def __init__(self, torch: Any, device: Any) -> None:
        self._torch, self.device = torch, device
        self._stream = torch.cuda.Stream(device)

    def pinned(self, n_bytes: int) -> Any:
        """Memory of this machine that a card reads by itself."""
        return self._torch.empty(n_bytes, dtype=self._torch.uint8, pin_memory=True)

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Memory of the card."""
        with self._torch.cuda.stream(self._stream):
            return self._torch.empty(shape, dtype=dtype, device=self.device)

    def copy(self, target: Any, source: Any) -> None:
        """Let the card copy what is pinned, after whatever it was told to copy before."""
        with self._torch.cuda.stream(self._stream):
            target.copy_(source, non_blocking=True)

    def mark(self) -> Mark:
        """Where the stream is now."""
        mark: Mark = self._torch.cuda.Event()
        mark.record(self._stream)  # type: ignore[attr-defined]
        return mark

    def wait(self, tensor: Any, mark: Mark) -> None:
        """Let work on a tensor that is still to be told begin when the mark has been passed."""
        working = self._torch.cuda.current_stream(self.device)
        working.wait_event(mark)
        tensor.record_stream(working)  # or its memory might be given away before that work is done


class Ferry:
    """Sends tensors of this machine along a lane, piece by piece."""

    def __init__(self, lane: Any) -> None:
        self._lane, self._turn = lane, 0
        self._pieces: list[Any] = [None] * N_PIECES
        self._marks: list[Mark | None] = [None] * N_PIECES

    def send(self, rows: Any) -> tuple[Any, Mark]:
        """The same rows on the card, and the mark behind which all of them are there."""
        there, step = self._lane.empty(tuple(rows.shape), rows.dtype), _rows_at_once(rows)
        for start in range(0, rows.shape[0], step):
            part = rows[start : start + step]
            piece = self._free_piece(step * _row_bytes(rows))
            pinned = piece[: part.shape[0] * _row_bytes(rows)].view(rows.dtype).view(part.shape)
            pinned.copy_(part)
            self._lane.copy(there[start : start + step], pinned)
            self._marks[self._turn] = self._lane.mark()
        return there, self._lane.mark()

    def _free_piece(self, n_bytes: int) -> Any:
        """The next piece, once nothing is read from it any more."""
        self._turn = turn = (self._turn + 1) % N_PIECES
        mark = self._marks[turn]
        if mark is not None:
            mark.synchronize()
        if self._pieces[turn] is None or len(self._pieces[turn]) < n_bytes:
            self._pieces[turn] = self._lane.pinned(n_bytes)
        return self._pieces[turn]


def sent(rows: Any, lane: Any) -> Any:
    """Rows of this machine, on the card once its work comes to them."""
    there, mark = Ferry(lane).send(rows)
    lane.wait(there, mark)
    return there


def arriving(
    blocks: Generator[Block, None, None], lanes: Sequence[Any], as_tensor: Callable[[Array], Any]
) -> Generator[Block, None, None]:
    """Yield the same blocks with rows on cards, dealt to these in turn, each sent while those before are in work.

    ``as_tensor`` makes a tensor of rows in its place; rows that are on a card already stay there.
    """
    reader: Any = read_ahead(_sent_blocks(blocks, lanes, as_tensor), depth=len(lanes))
    with closing(reader) as ahead:
        for number, (block, marks) in enumerate(ahead):
            for rows, mark in zip(block.views, marks, strict=True):
                if mark is not None:
                    lanes[number % len(lanes)].wait(rows, mark)
            yield block


def _sent_blocks(
    blocks: Generator[Block, None, None], lanes: Sequence[Any], as_tensor: Callable[[Array], Any]
) -> Generator[tuple[Block, list[Mark | None]], None, None]:
    """Blocks on their way, each with the marks behind which its views have arrived."""
    ferries = [Ferry(lane) for lane in lanes]
    with closing(blocks):
        for number, block in enumerate(blocks):
            tensors = [as_tensor(rows) for rows in block.views]
            ferry = ferries[number % len(ferries)]
            pairs = [ferry.send(rows) if rows.device.type == "cpu" else (rows, None) for rows in tensors]
            yield block._replace(views=tuple(rows for rows, _ in pairs)), [mark for _, mark in pairs]
            del block, tensors, pairs


def _row_bytes(rows: Any) -> int:
    return int(rows.shape[1]) * int(rows.dtype.itemsize)


def _rows_at_once(rows: Any) -> int:
    return max(1, PIECE_BYTES // _row_bytes(rows))
