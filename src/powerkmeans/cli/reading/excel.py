"""Sheets of .xlsx files, cell by cell, as texts that are read like those of CSV."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import date, datetime
from itertools import chain
from typing import Any
from xml.etree.ElementTree import ParseError
from zipfile import BadZipFile

from powerkmeans.cli.errors import UserError, counted, listed, near
from powerkmeans.cli.reading.text import Rows, all_numbers, read_rows
from powerkmeans.cli.reading.words import check_not_empty
from powerkmeans.cli.table import Request, Table
from powerkmeans.preparing.cells import number_text
from powerkmeans.support.install import needed

# what a book may have wrong when it is opened, or a sheet when it is read
_FLAWS = (
    BadZipFile, zlib.error, ParseError, EOFError, NotImplementedError, RuntimeError, LookupError, ValueError,
    AttributeError, TypeError,
)  # fmt: skip


def read_excel(path: str, source: str, name: str, request: Request) -> list[Table]:
    """Read the first sheet, or those that were asked for, one view each."""
    check_not_empty(path, source)
    wanted = request.arrays or (None,)
    tables = []
    for sheet in wanted:
        view = name if len(wanted) == 1 or sheet is None else sheet
        tables.append(read_rows(lambda sheet=sheet: _opened(path, source, sheet, request), source, view, request))  # type: ignore[misc]
    return tables


@contextmanager
def _opened(path: str, source: str, sheet: str | None, request: Request) -> Iterator[Rows]:
    openpyxl = needed("openpyxl", "excel")
    with _told(source):
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    sheets = {one.title: one for one in book.worksheets}  # those of charts are none
    with closing(book):
        if sheet is not None and sheet not in sheets:
            hint = near(sheet, list(sheets)) or f"; it has {listed(list(sheets))}."
            raise UserError(f"{source} has no sheet {sheet!r}{hint}")
        if not sheets:
            raise UserError(f"{source} has no sheet with cells.")
        yield _rows(sheets[sheet or next(iter(sheets))], source, request)


@contextmanager
def _told(source: str) -> Iterator[None]:
    try:
        yield
    except _FLAWS as error:
        raise UserError(f"{source} cannot be read as a spreadsheet; it may be damaged.") from error


def _cells(sheet: Any, source: str) -> Iterator[tuple[Any, ...]]:
    with _told(source):
        yield from sheet.iter_rows(values_only=True)


def _rows(sheet: Any, source: str, request: Request) -> Rows:
    """The cells of a sheet as texts; empty rows are passed over."""
    decimal = request.decimal
    cells = enumerate(_cells(sheet, source), 1)
    lines = ((number, [_text(cell, decimal) for cell in row]) for number, row in cells)
    filled = ((number, row) for number, row in lines if any(row))
    first = next(filled, None)
    if first is None:
        raise UserError(f"{source} has an empty sheet.")
    width = max(place + 1 for place, text in enumerate(first[1]) if text)
    header = first[1][:width]
    rows = ((number, _fitted(row, width, f"{source}, row {number}", first[0])) for number, row in filled)
    named = not all_numbers(header, request.spelling) if request.header is None else request.header
    if named:
        return Rows(header, True, rows)
    return Rows([str(place) for place in range(width)], False, chain([(first[0], header)], rows))


def _fitted(row: list[str], width: int, where: str, first: int) -> list[str]:
    """A row as wide as the header; what stands beyond it would be lost."""
    if any(row[width:]):
        raise UserError(
            f"{where} has more cells than row {first}, which names {counted(width, 'column')}; take titles above "
            "the names and notes beside the table out of the sheet."
        )
    return (row + [""] * width)[:width]


def _text(value: Any, decimal: str) -> str:
    """A cell as text: dates with the year first, whole numbers without a point."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, (int, float)):
        return number_text(float(value)).replace(".", decimal)
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == value.min.time() else value.isoformat()
    return value.isoformat() if isinstance(value, date) else str(value).strip()
