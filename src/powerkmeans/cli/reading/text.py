"""CSV and its kin: cut at a delimiter that is found out, numbers checked field by field."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain, islice
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from powerkmeans.cli.errors import UserError, counted, usage
from powerkmeans.cli.reading.words import check_not_empty
from powerkmeans.cli.spreadsheet import unguarded
from powerkmeans.cli.table import Ids, OnRead, Request, Table, checked_header, checked_ids, id_place, not_numbers

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "spaces"}
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none"})
ROWS_AT_ONCE = 4096
_FIRST_LINES = 20
_INTEGER = re.compile("0|-?[1-9][0-9]{0,18}")
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


class Rows(NamedTuple):
    """A text file cut into fields: its header, whether the file has it, and the rows with their lines."""

    header: list[str]
    named: bool
    rows: Iterator[tuple[int, list[str]]]


def read_text(path: str, source: str, name: str, request: Request) -> list[Table]:
    """Read one table; the first column of a header that does not name it holds the ids."""
    with open_rows(path, source, request) as text:
        header = [label or f"column_{place + 1}" for place, label in enumerate(text.header)]
        where = id_place(header, request, source)
        if where is None and text.named and text.header[0] == "":
            where, header[0] = 0, "id" if "id" not in header else "index"
        checked_header(header, source)
        rest = [place for place in range(len(header)) if place != where]
        chosen = [rest[place] for place in request.choose([header[place] for place in rest], source)]
        dtype = np.dtype(np.float32 if request.single else np.float64)
        parts, lines, ids = list[NDArray[Any]](), list[int](), list[str]()
        for block in _blocks(text.rows, len(header), source):
            lines += [line for line, _ in block]
            ids += [] if where is None else [unguarded(row[where].strip()) for _, row in block]
            parts.append(_numbers(block, header, chosen, source, request).astype(dtype, copy=False))
    if not lines:
        raise UserError(f"{source} has a header and no rows.")
    columns = tuple(header[place] for place in chosen)
    table = Table(name, source, columns, np.concatenate(parts), lines=np.array(lines))
    return [table if where is None else replace(table, ids=checked_ids(_ids(header[where], ids), table))]


def _ids(column: str, texts: list[str]) -> Ids:
    integers = all(_INTEGER.fullmatch(text) and -(2**63) <= int(text) < 2**63 for text in texts)
    return Ids(column, np.array(texts, dtype=object), integers)


@contextmanager
def open_rows(path: str, source: str, request: Request) -> Iterator[Rows]:
    """Open a text file, find out how it is cut, and give its rows."""
    with _opened(path, source, request.on_read) as stream:
        text = io.TextIOWrapper(stream, encoding=_encoding(request.encoding), newline="")
        try:
            yield _rows(text, source, request)
        except UnicodeDecodeError as error:
            raise _not_text(source, request.encoding, error) from error
        except csv.Error as error:
            raise UserError(f"{source} is not a proper table: {error}.") from error
        except (EOFError, gzip.BadGzipFile) as error:
            raise UserError(f"{source} cannot be unpacked; it is damaged or not a gzip file.") from error
        finally:
            text.detach()  # the stream is closed by who opened it


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
    named = (
        request.header
        if request.header is not None
        else not all(_is_number(field, request.decimal) for field in beginning)
    )
    if named:
        return Rows([unguarded(field) for field in beginning], True, filled)
    return Rows([str(place) for place in range(len(beginning))], False, chain([(line, beginning)], filled))


@contextmanager
def _opened(path: str, source: str, on_read: OnRead) -> Iterator[Any]:
    """A file's bytes, unpacked; ``-`` is what is piped in."""
    if path == "-":
        yield sys.stdin.buffer
        return
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


def _not_text(source: str, encoding: str, error: UnicodeDecodeError) -> UserError:
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


def _numbers(
    block: list[tuple[int, list[str]]],
    header: Sequence[str],
    chosen: Sequence[int],
    source: str,
    request: Request,
) -> NDArray[np.float64]:
    """The chosen columns of a block as numbers, NaN for what is missing."""
    columns = list(zip(*(row for _, row in block), strict=True))
    numbers = np.empty((len(block), len(chosen)))
    for index, place in enumerate(chosen):
        try:
            points = request.decimal == "."
            column = columns[place]
            plain = points and _is_plain("".join(column))
            numbers[:, index] = column if plain else [_as_float(field, request.decimal) for field in column]
        except ValueError:
            numbers[:, index] = [
                _number(field, f"{source}, line {line}, column", header[place], request)
                for (line, _), field in zip(block, columns[place], strict=True)
            ]
    return numbers


def _number(field: str, where: str, column: str, request: Request) -> float:
    text = field.strip()
    if text.lower() in MISSING:
        return np.nan
    try:
        return _as_float(text, request.decimal)
    except ValueError:
        advice = _advice(text, column, request)
        raise UserError(f"{where} {column!r}: {text[:40]!r} is not a number{advice}") from None


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


def _advice(text: str, column: str, request: Request) -> str:
    """What may be behind a text in a column of numbers."""
    if request.decimal != "." and _is_number(text.replace(request.decimal, "")):
        return f": with --decimal {request.decimal} no point may stand in it."
    if _is_plain(text) and text.replace(",", "", 1).lstrip("+-").isdigit():
        return "; say --decimal , if commas stand before decimals."
    for delimiter, name in DELIMITERS.items():
        pieces = text.split(delimiter)
        if len(pieces) > 1 and all(_is_number(piece) for piece in pieces):
            return f"; is the file cut at {name}? Then say --delimiter {delimiter!r}."
    return not_numbers(column, request)


def _is_number(field: str, decimal: str = ".") -> bool:
    if field.strip().lower() in MISSING:
        return True
    try:
        _as_float(field, decimal)
    except ValueError:
        return False
    return True
