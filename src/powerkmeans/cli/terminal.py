"""What is said and shown: answers on stdout, words and bars on stderr, colours only where someone looks."""

from __future__ import annotations

import json
import math
import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from powerkmeans.cli.progress import Bar
from powerkmeans.cli.wording import in_options
from powerkmeans.support.escapes import printable

# a pipe has no width; nothing in it is to be cut
_WIDE = 500
_BAR_CELLS = 14
NOTHING = "-"


class Terminal:
    """Where a command speaks.

    quiet : no words and no bars; answers that were asked for are given
    as_json : answers as one JSON object instead of tables
    """

    def __init__(self, *, quiet: bool = False, as_json: bool = False) -> None:
        self.quiet, self.as_json = quiet, as_json
        self._out = Console(file=sys.stdout, width=_width(sys.stdout), highlight=False)
        self._err = Console(file=sys.stderr, width=_width(sys.stderr), highlight=False)
        self.notes: list[str] = []

    def say(self, text: str) -> None:
        """A line on stderr."""
        if not self.quiet:
            self._err.print(Text(_lines(text), style="dim"), soft_wrap=True)

    def note(self, text: str) -> None:
        """Something worth knowing, on stderr and in the JSON answer."""
        if text not in self.notes:
            self.notes.append(text)
            if not self.quiet:
                self._err.print(Text.assemble(("Note  ", "yellow"), _lines(text)), soft_wrap=True)

    def note_all(self, texts: Iterable[str]) -> None:
        """Several things worth knowing."""
        for text in texts:
            self.note(text)

    def show(self, *items: Any) -> None:
        """Part of an answer, on stdout; without the spaces at the ends of lines where nobody looks."""
        for item in items:
            wrap = isinstance(item, (str, Text))
            item = Text(_lines(item)) if isinstance(item, str) else item  # noqa: PLW2901
            if sys.stdout.isatty():
                self._wide_enough(item).print(item, soft_wrap=wrap)
                continue
            with self._out.capture() as captured:
                self._out.print(item, soft_wrap=wrap)
            print("\n".join(line.rstrip() for line in captured.get().split("\n")), end="")

    def _wide_enough(self, item: Any) -> Console:
        """The terminal, or a wider one where the figures of a table would be cut; long lines go on below."""
        needed = Measurement.get(self._out, self._out.options.update(max_width=_WIDE), item).minimum
        if isinstance(item, (str, Text)) or needed <= self._out.width:
            return self._out
        return Console(file=sys.stdout, width=needed, highlight=False)

    def give(self, answer: dict[str, Any]) -> None:
        """The answer as JSON, on stdout; NaN and infinities are null, which JSON has."""
        print(json.dumps(plain(answer), indent=2, allow_nan=False), file=sys.stdout)

    def bar(self, title: str, what: str = "") -> Bar:
        """A progress bar, seen only on a terminal; ``what`` stands before whatever it is told."""
        return Bar(title, self._err, what, shown=not self.quiet and sys.stderr.isatty())

    @contextmanager
    def hearing_warnings(self) -> Iterator[None]:
        """Turn warnings into notes, in words of the command."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                yield
            finally:
                told = [w for w in caught if not issubclass(w.category, (DeprecationWarning, FutureWarning))]
        for warning in told:
            self.note(in_options(str(warning.message)))


def _width(stream: Any) -> int | None:
    return None if stream.isatty() else _WIDE


def _lines(text: str) -> str:
    """A text that may have several lines, with whatever else steers a terminal written out."""
    return printable(text, keep="\n")


def heading(text: str, about: str = "") -> Text:
    """A title, and what it is about."""
    return Text.assemble((printable(text), "bold"), ("  " + printable(about) if about else "", "dim"))


def grid(header: Sequence[str], rows: Sequence[Sequence[Any]], *, left: int = 1) -> Any:
    """A calm table: the first ``left`` columns of texts, the others of numbers to the right.

    Only the last column of a table of texts alone may be folded.
    """
    table = RichTable(box=SIMPLE_HEAD, header_style="dim", show_edge=False, pad_edge=False)
    texts = [[cell if isinstance(cell, Text) else Text(printable(str(cell))) for cell in row] for row in rows]
    for place, name in enumerate(header):
        fold = place == len(header) - 1 and left == len(header)
        widest = max([cell_len(name), *(cell_len(row[place].plain) for row in texts)])
        justify: Any = "left" if place < left else "right"
        table.add_column(name, justify=justify, no_wrap=not fold, min_width=None if fold else widest)
    for row in texts:
        table.add_row(*row)
    return Padding(table, (1, 0, 0, 2), expand=False)


def facts(pairs: Sequence[tuple[str, Any]]) -> Any:
    """Names and values in two columns."""
    table = RichTable(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in pairs:
        table.add_row(name, value if isinstance(value, Text) else Text(printable(str(value))))
    return Padding(table, (1, 0, 0, 2), expand=False)


def paragraph(text: str) -> Any:
    """A text that is folded between words."""
    return Padding(Text(_lines(text)), (0, 0, 0, 2), expand=False)


def share_bar(share: float, largest: float) -> Text:
    """A share as a bar, the largest one full."""
    filled = (
        0 if not largest > 0 else min(_BAR_CELLS, max(1 if share > 0 else 0, round(_BAR_CELLS * share / largest)))
    )
    return Text.assemble(("━" * filled, "cyan"), (" " * (_BAR_CELLS - filled)))


def number(value: Any, digits: int = 3) -> str:
    """A number for a table; nothing for NaN."""
    if value is None or (isinstance(value, (float, np.floating)) and math.isnan(value)):
        return NOTHING
    return f"{value:,}" if isinstance(value, (int, np.integer)) else f"{value:.{digits}f}"


def plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value
