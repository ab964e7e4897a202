"""Sheets of .xlsx files, cell by cell, as texts that are read like those of CSV."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import date, datetime
from typing import Any
from zipfile import BadZipFile

from powerkmeans.cli.errors import UserError, listed, near
from powerkmeans.cli.reading.text import Rows, read_rows
from powerkmeans.cli.reading.words import check_not_empty
from powerkmeans.cli.table import Request, Table
from powerkmeans.preparing.cells import number_text
from powerkmeans.support.install import needed


def read_excel(path: str, source: str, name: str, request: Request) -> list[Table]:
    """Read the first sheet, or those that were asked for, one view each."""
    check_not_empty(path, source)
    request = replace(request, spelling=replace(request.spelling, decimal="."))  # cells are numbers, not texts
    wanted = request.arrays or (None,)
    tables = []
    for sheet in wanted:
        view = name if len(wanted) == 1 or sheet is None else sheet
        tables.append(read_rows(lambda sheet=sheet: _opened(path, source, sheet, request), source, view, request))  # type: ignore[misc]
    return tables


@contextmanager
def _opened(path: str, source: str, sheet: str | None, request: Request) -> Iterator[Rows]:
    openpyxl = needed("openpyxl", "excel")
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except (BadZipFile, KeyError, ValueError, openpyxl.utils.exceptions.InvalidFileException) as error:
        raise UserError(f"{source} cannot be read as a spreadsheet; it may be damaged.") from error
    with closing(book):
        if sheet is not None and sheet not in book.sheetnames:
            hint = near(sheet, book.sheetnames) or f"; it has {listed(book.sheetnames)}."
            raise UserError(f"{source} has no sheet {sheet!r}{hint}")
        yield _rows(book[sheet or book.sheetnames[0]], source, request)


def _rows(sheet: Any, source: str, request: Request) -> Rows:
    """The cells of a sheet as texts; empty rows are passed over, and columns beyond the header."""
    lines = (
        (number, [_text(cell) for cell in row]) for number, row in enumerate(sheet.iter_rows(values_only=True), 1)
    )
    filled = ((number, row) for number, row in lines if any(row))
    first = next(filled, None)
    if first is None:
        raise UserError(f"{source} has an empty sheet.")
    width = max(place + 1 for place, text in enumerate(first[1]) if text)
    header = first[1][:width]
    rows = ((number, (row + [""] * width)[:width]) for number, row in filled)
    if request.header is False:
        numbered = [str(place) for place in range(width)]
        return Rows(numbered, False, _chained((first[0], header), rows))
    return Rows(header, True, rows)


def _chained(
    first: tuple[int, list[str]], rest: Iterator[tuple[int, list[str]]]
) -> Iterator[tuple[int, list[str]]]:
    yield first
    yield from rest


def _text(value: Any) -> str:
    """A cell as text: dates with the year first, whole numbers without a point."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, (int, float)):
        return number_text(float(value)) if value == value else ""  # noqa: PLR0124 - NaN
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == value.min.time() else value.isoformat()
    return value.isoformat() if isinstance(value, date) else str(value).strip()
