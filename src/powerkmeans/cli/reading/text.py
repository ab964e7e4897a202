"""CSV and its kin: cut at a delimiter that is found out, numbers checked field by field."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from itertools import chain, islice
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from powerkmeans.cli.errors import UserError, counted, usage
from powerkmeans.cli.reading.words import check_not_empty
from powerkmeans.cli.spreadsheet import unguarded
from powerkmeans.cli.table import Ids, OnRead, Request, Table, checked_header, checked_ids, id_place
from powerkmeans.preparing.cells import Words
from powerkmeans.preparing.spelling import PLAIN, Spelling

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "spaces"}
ROWS_AT_ONCE = 4096
_FIRST_LINES = 20
_INTEGER = re.compile("0|-?[1-9][0-9]{0,18}")
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


class Rows(NamedTuple):
    """A text file cut into fields: its header, whether the file has it, and the rows with their lines."""

    header: list[str]
    named: bool
    rows: Iterator[tuple[int, list[str]]]


Opened = AbstractContextManager[Rows]


def read_text(path: str, source: str, name: str, request: Request) -> list[Table]:
    """Read one table; the first column of a header that does not name it holds the ids."""
    if path == "-":  # may be needed twice
        kept = io.BytesIO(sys.stdin.buffer.read())
        return [read_rows(lambda: rows_of_bytes(kept, source, request), source, name, request)]
    return [read_rows(lambda: open_rows(path, source, request), source, name, request)]


def read_rows(opened: Callable[[], Opened], source: str, name: str, request: Request) -> Table:
    """A table from rows of fields, which are gone through again where columns turn out to hold words."""
    with opened() as text:
        layout = _layout(text, source, request)
        part = _read(text, layout, source, request, frozenset())
    if part.spoilt:
        with opened() as text:
            part = _read(text, layout, source, request, frozenset(part.spoilt))
    columns = tuple(layout.header[place] for place in layout.chosen)
    table = Table(name, source, columns, part.values, lines=part.lines, words=part.words)
    if layout.where is None:
        return table
    return replace(table, ids=checked_ids(_ids(layout.header[layout.where], part.ids), table))


class Layout(NamedTuple):
    """What stands where: all columns, that of the ids, and those that are read."""

    header: list[str]
    where: int | None
    chosen: list[int]


class Part(NamedTuple):
    """What was read: numbers, words by their place among the chosen columns, and columns that are no numbers."""

    values: NDArray[Any]
    words: dict[int, NDArray[Any]]
    lines: NDArray[np.int64]
    ids: list[str]
    spoilt: set[int]


def _layout(text: Rows, source: str, request: Request) -> Layout:
    header = [label or f"column_{place + 1}" for place, label in enumerate(text.header)]
    where = id_place(header, request, source)
    if where is None and text.named and text.header[0] == "":
        where, header[0] = 0, "id" if "id" not in header else "index"
    checked_header(header, source)
    rest = [place for place in range(len(header)) if place != where]
    return Layout(header, where, [rest[place] for place in request.choose([header[p] for p in rest], source)])


def _read(text: Rows, layout: Layout, source: str, request: Request, wordy: frozenset[int]) -> Part:
    """All rows; columns among ``wordy`` as words, the others as numbers as long as they are."""
    dtype = np.dtype(np.float32 if request.single else np.float64)
    parts, lines, ids, spoilt = list[NDArray[Any]](), list[int](), list[str](), set[int]()
    words: dict[int, list[str]] = {index: [] for index in sorted(wordy)}
    for block in _blocks(text.rows, len(layout.header), source):
        lines += [line for line, _ in block]
        columns = list(zip(*(row for _, row in block), strict=True))
        ids += [] if layout.where is None else [unguarded(field.strip()) for field in columns[layout.where]]
        numbers = np.full((len(block), len(layout.chosen)), np.nan)
        for index, place in enumerate(layout.chosen):
            if index in wordy:
                words[index] += [unguarded(field.strip()) for field in columns[place]]
            elif index not in spoilt and not _fill_numbers(numbers[:, index], columns[place], request.spelling):
                spoilt.add(index)
        parts.append(numbers.astype(dtype, copy=False))
    if not lines:
        raise UserError(f"{source} has a header and no rows.")
    texts = {index: with_gaps(column, request.spelling) for index, column in words.items()}
    return Part(np.concatenate(parts), texts, np.array(lines), ids, spoilt)


def with_gaps(column: Sequence[str], spelling: Spelling) -> Words:
    """Texts, with nothing in place of those that mean that a cell is missing."""
    gone = {text for text in set(column) if spelling.is_missing(text)}
    return np.array(["" if text in gone else text for text in column], dtype=object)


def _ids(column: str, texts: list[str]) -> Ids:
    integers = all(_INTEGER.fullmatch(text) and -(2**63) <= int(text) < 2**63 for text in texts)
    return Ids(column, np.array(texts, dtype=object), integers)


@contextmanager
def open_rows(path: str, source: str, request: Request) -> Iterator[Rows]:
    """Open a text file, find out how it is cut, and give its rows."""
    with (
        _opened(path, source, request.on_read) as stream,
        rows_of_bytes(stream, source, request, rewind=False) as rows,
    ):
        yield rows


@contextmanager
def rows_of_bytes(stream: Any, source: str, request: Request, *, rewind: bool = True) -> Iterator[Rows]:
    """The rows of bytes that are text, from their beginning."""
    if rewind:
        stream.seek(0)
    with _text_errors(source, request.encoding):
        text = io.TextIOWrapper(stream, encoding=_encoding(request.encoding), newline="")
        try:
            yield _rows(text, source, request)
        finally:
            text.detach()  # the stream is closed by who opened it


@contextmanager
def _text_errors(source: str, encoding: str) -> Iterator[None]:
    try:
        yield
    except UnicodeError as error:
        raise _not_text(source, encoding, error) from error
    except csv.Error as error:
        raise UserError(f"{source} is not a proper table: {error}.") from error
    except (EOFError, gzip.BadGzipFile) as error:
        raise UserError(f"{source} cannot be unpacked; it is damaged or not a gzip file.") from error


def _rows(text: IO[str], source: str, request: Request) -> Rows:
    first = list(islice(text, _FIRST_LINES))
    if not any(line.strip() for line in first):
        raise UserError(f"{source} is empty.")
    if any("\0" in line for line in first):
        raise UserError(f"{source} is not text: it holds zero bytes. If it is UTF-16, say --encoding utf-16.")
    delimiter = request.delimiter or _guess(first, request.decimal)
    if delimiter == request.decimal:
        raise usage(f"--delimiter and --decimal are both {delimiter!r}.")
    _check_delimiter(first, delimiter, source, given=request.delimiter is not None)
    reader = csv.reader(chain(first, text), delimiter=delimiter, skipinitialspace=True, strict=True)
    filled = ((reader.line_num, row) for row in reader if row)
    line, beginning = next(filled)
    beginning = [field.strip() for field in beginning]
    named = not all_numbers(beginning, request.spelling) if request.header is None else request.header
    if named:
        return Rows([unguarded(field) for field in beginning], True, filled)
    return Rows([str(place) for place in range(len(beginning))], False, chain([(line, beginning)], filled))


@contextmanager
def _opened(path: str, source: str, on_read: OnRead) -> Iterator[Any]:
    """A file's bytes, unpacked."""
    check_not_empty(path, source)
    size = max(1, os.path.getsize(path))
    with open(path, "rb", buffering=0) as raw:
        stream: Any = io.BufferedReader(_Counted(raw, size, on_read), 2**18)
        if path.lower().endswith(".gz"):
            with gzip.open(stream) as unpacked:
                yield unpacked
        else:
            yield stream


class _Counted(io.RawIOBase):
    """Bytes of a file, with a word on how far it has been read."""

    def __init__(self, raw: io.FileIO, size: int, on_read: OnRead) -> None:
        self._raw, self._size, self._on_read, self._done = raw, size, on_read, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        count = self._raw.readinto(buffer)
        self._done += count or 0
        self._on_read(self._done / self._size)
        return count


def _not_text(source: str, encoding: str, error: UnicodeError) -> UserError:
    if not isinstance(error, UnicodeDecodeError):  # UTF-16 and its kin begin with a mark
        return UserError(f"{source} is not {encoding.upper()} text: {error}. Name another --encoding, or none.")
    likely = "utf-16" if error.object.startswith(_UTF16) else "latin-1"
    return UserError(
        f"{source} is not {encoding.upper()} text (byte 0x{error.object[error.start]:02x}); if it is text at all, "
        f"name its encoding, for example --encoding {likely}."
    )


def _encoding(name: str) -> str:
    try:
        codecs.lookup(name)
    except LookupError:
        raise usage(f"There is no encoding {name!r}; known ones are utf-8, latin-1, cp1252, utf-16.") from None
    return "utf-8-sig" if name.lower().replace("_", "-") in ("utf-8", "utf8") else name


def _guess(first: Sequence[str], decimal: str = ".") -> str:
    """The delimiter that cuts the first lines into most fields, the same number in each."""
    known = [delimiter for delimiter in DELIMITERS if delimiter != decimal]
    best, most = known[0], 1
    for delimiter in known:
        try:
            rows = [row for row in csv.reader(first, delimiter=delimiter, skipinitialspace=True) if row]
        except csv.Error:
            continue
        widths = {len(row) for row in rows[:-1] or rows}  # the last line may go on
        if len(widths) == 1 and max(widths) > most:
            best, most = delimiter, max(widths)
    return best if most > 1 else max(known[:-1], key=first[0].count)


def _check_delimiter(first: Sequence[str], delimiter: str, source: str, *, given: bool) -> None:
    """Reject a given delimiter that does not cut, where another one does."""
    if not given or delimiter in first[0]:
        return
    better = _guess(first)
    if better in first[0]:
        raise UserError(
            f"{source} is not cut at {delimiter!r} but, it seems, at {DELIMITERS[better]}; "
            f"leave out --delimiter, or say --delimiter {better!r}."
        )


def _blocks(
    rows: Iterator[tuple[int, list[str]]], width: int, source: str
) -> Iterator[list[tuple[int, list[str]]]]:
    """Some thousand rows at a time, all as wide as the header."""
    while block := list(islice(rows, ROWS_AT_ONCE)):
        for line, row in block:
            if len(row) != width:
                fields = counted(len(row), "field")
                raise UserError(f"{source} has {fields} in line {line}, but {width} in its first line.")
        yield block


def _fill_numbers(numbers: NDArray[np.float64], fields: Sequence[str], spelling: Spelling) -> bool:
    """Put a column's fields into numbers, NaN for what is missing; false if one is no number."""
    try:
        plain = spelling.decimal == "." and _is_plain("".join(fields))
        numbers[:] = fields if plain else [_as_float(field, spelling.decimal) for field in fields]
    except ValueError:
        try:
            numbers[:] = [_number(field.strip(), spelling) for field in fields]
        except ValueError:
            return False
    return True


def _number(text: str, spelling: Spelling) -> float:
    return np.nan if spelling.is_missing(text) else _as_float(text, spelling.decimal)


def _as_float(text: str, decimal: str) -> float:
    """A number in ASCII digits; with a decimal comma a point is refused, for it may stand between thousands."""
    if not _is_plain(text.strip()) or (decimal != "." and "." in text):
        raise ValueError(text)
    if decimal == ".":
        return float(text)
    return float(text.replace(decimal, "."))


def _is_plain(text: str) -> bool:
    """Whether a text has nothing that is a number for Python alone: digits of other scripts, underscores."""
    return text.isascii() and "_" not in text


def why_no_number(text: str, decimal: str) -> str | None:
    """What may be behind a text in a column of numbers, as what to say; None if nothing is known."""
    if decimal != "." and _is_number(text.replace(decimal, "")):
        return f"with --decimal {decimal} no point may stand in it"
    if (
        decimal == "."
        and _is_plain(text)
        and text.count(",") == 1
        and text.replace(",", "").lstrip("+-").isdigit()
    ):
        thousands = re.fullmatch("[+-]?[0-9]{1,3},[0-9]{3}", text)
        return "--thousands , or --decimal ," if thousands else "--decimal , if commas stand before decimals"
    for delimiter, name in DELIMITERS.items():
        pieces = text.split(delimiter)
        if len(pieces) > 1 and all(_is_number(piece) for piece in pieces):
            return f"--delimiter {delimiter!r} if the file is cut at {name}"
    return None


def all_numbers(fields: Sequence[str], spelling: Spelling) -> bool:
    """Whether a row is one of numbers and gaps, and not of names."""
    return all(_is_number(field, spelling) for field in fields)


def _is_number(field: str, spelling: Spelling = PLAIN) -> bool:
    text = field.strip()
    try:
        _number(text, spelling)
    except ValueError:
        return False
    return True
