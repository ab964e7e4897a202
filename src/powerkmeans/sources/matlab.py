"""Files of MATLAB 5 to 7.2, gone through before SciPy reads them.

SciPy believes the tags in such a file: a type that does not exist, or a text that is shorter than its shape says,
ends the process. So each element is looked at first: its type, its size, and what it is a part of.
"""

from __future__ import annotations

import math
import os
import struct
import zlib
from collections.abc import Callable
from typing import IO, Final

INT8, INT32, UINT32, MATRIX, COMPRESSED = 1, 5, 6, 14, 15
# types of numbers, and of texts with the encodings of those that are no numbers
_NUMBERS: Final = {1, 2, 3, 4, 5, 6, 7, 9, 12, 13}
_TEXTS: Final = {1: "latin-1", 2: "latin-1", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}
# what an array may be, by the number of its class
_CELL, _STRUCT, _OBJECT, _CHAR, _SPARSE, _FUNCTION, _OPAQUE = 1, 2, 3, 4, 5, 16, 17
_NUMERIC = range(6, 16)
_COMPLEX = 0x0800
_HEADER, _ORDER = 128, {b"IM": "<", b"MI": ">"}
_DEEPEST, _CHUNK = 50, 2**16


class DamagedError(ValueError):
    """A file of MATLAB whose tags are wrong."""


class _Part:
    """So many bytes of a file, read one after the other."""

    def __init__(self, read: Callable[[int], bytes], left: float, order: str) -> None:
        self._read, self.left, self.order = read, left, order

    def take(self, count: int) -> bytes:
        data = self._read(count) if count <= self.left else b""
        if len(data) != count:
            raise DamagedError("an element is longer than what it is in")
        self.left -= count
        return data

    def skip(self, count: int) -> None:
        while count > 0:
            count -= len(self.take(min(count, _CHUNK)))

    def part(self, count: int) -> _Part:
        return _Part(self.take, count, self.order)

    def whole(self, data: bytes) -> tuple[int, ...]:
        """Whole numbers of four bytes."""
        return struct.unpack(f"{self.order}{len(data) // 4}I", data[: len(data) // 4 * 4])

    def element(self) -> tuple[int, _Part]:
        """The type of the next element, and its data; short ones stand in the tag itself."""
        (word,) = self.whole(self.take(4))
        if word >> 16:
            data = self.take(4)[: word >> 16]
            return word & 0xFFFF, _Part(_reader(data), len(data), self.order)
        (size,) = self.whole(self.take(4))
        return word, self.part(size)

    def end(self, of: _Part, size: float) -> None:
        """Go on behind an element, which is filled up to eight bytes."""
        of.skip(int(of.left))
        self.skip(int(min(-size % 8 if size > 4 else 0, self.left)))


def check_matlab(path: str | os.PathLike[str]) -> None:
    """Raise if a file looks like one of MATLAB 5 to 7.2 and an element of it is wrong."""
    with open(path, "rb") as stream:
        header = stream.read(_HEADER)
        order = _ORDER.get(header[126:128])
        if order is None or header[124:126] not in (b"\x00\x01", b"\x01\x00") or 0 in header[:4]:
            return  # an older or newer one, or none at all: SciPy tells
        whole = _Part(stream.read, _size(stream) - _HEADER, order)
        while whole.left:
            _check_variable(whole)


def _size(stream: IO[bytes]) -> int:
    return os.fstat(stream.fileno()).st_size


def _check_variable(whole: _Part) -> None:
    kind, data = whole.element()
    if kind == COMPRESSED:
        unpacked = _Part(_unpacking(data), math.inf, whole.order)
        kind, inner = unpacked.element()
        _check_matrix(kind, inner)
        data.skip(int(data.left))
    else:
        _check_matrix(kind, data)
        data.skip(int(data.left))


def _check_matrix(kind: int, data: _Part, depth: int = 0) -> None:
    """An array: its flags, its shape, its name, and what its class has after these."""
    if kind != MATRIX or depth > _DEEPEST:
        raise DamagedError("there is something else where an array must be")
    if not data.left:
        return  # an empty cell
    flags = data.whole(_plain(data, UINT32))
    if not flags:
        raise DamagedError("an array has no flags")
    class_number = flags[0] & 0xFF
    if class_number == _OPAQUE:
        for _ in range(3):
            _plain(data, INT8)
        _check_matrix(*data.element(), depth + 1)
        return
    shape = data.whole(_plain(data, INT32))
    _plain(data, INT8)  # the name
    _check_content(class_number, bool(flags[0] & _COMPLEX), math.prod(shape), data, depth)


def _check_content(class_number: int, is_complex: bool, size: int, data: _Part, depth: int) -> None:
    if class_number in _NUMERIC or class_number == _SPARSE:
        parts = (1 + is_complex) if class_number != _SPARSE else 3 + is_complex
        for _ in range(parts):
            _check_numbers(data)
    elif class_number == _CHAR:
        _check_text(data, size)
    elif class_number in (_CELL, _STRUCT, _OBJECT):
        _check_arrays(data, size * _fields(class_number, data), depth)
    elif class_number == _FUNCTION:
        _check_arrays(data, 1, depth)
    else:
        raise DamagedError(f"there is no array of class {class_number}")


def _fields(class_number: int, data: _Part) -> int:
    """How many arrays an entry has: a cell one, a structure one for each of its fields."""
    if class_number == _CELL:
        return 1
    if class_number == _OBJECT:
        _plain(data, INT8)  # the name of its class
    (length, *_) = (*data.whole(_plain(data, INT32)), 0)
    return len(_plain(data, INT8)) // length if length else 0


def _check_arrays(data: _Part, count: int, depth: int) -> None:
    """Arrays in an array, as many as its shape says; a shape alone could ask for any number."""
    found = 0
    while data.left:
        kind, inner = data.element()
        _check_matrix(kind, inner, depth + 1)
        inner.skip(int(inner.left))
        found += 1
    if found != count:
        raise DamagedError(f"there are {found} arrays instead of {count}")


def _plain(data: _Part, wanted: int | None = None) -> bytes:
    """The bytes of an element of a type."""
    kind, inner = data.element()
    size = inner.left
    if wanted is not None and kind != wanted:
        raise DamagedError(f"an element is of type {kind}, not {wanted}")
    found = inner.take(int(size))
    data.end(inner, size)
    return found


def _check_numbers(data: _Part) -> None:
    kind, inner = data.element()
    if kind not in _NUMBERS:
        raise DamagedError(f"there are no numbers of type {kind}")
    data.end(inner, inner.left)


def _check_text(data: _Part, size: int) -> None:
    kind, inner = data.element()
    if kind not in _TEXTS:
        raise DamagedError(f"there is no text of type {kind}")
    encoding = {"<": "-le", ">": "-be"}[data.order] if _TEXTS[kind].startswith("utf-") and kind != 16 else ""
    length = inner.left
    text = inner.take(int(length)).decode(_TEXTS[kind] + encoding, "replace")
    if len(text) != size:
        raise DamagedError(f"a text has {len(text)} letters instead of {size}")
    data.end(inner, length)


def _reader(data: bytes) -> Callable[[int], bytes]:
    left = memoryview(data)

    def read(count: int) -> bytes:
        nonlocal left
        found, left = bytes(left[:count]), left[count:]
        return found

    return read


def _unpacking(packed: _Part) -> Callable[[int], bytes]:
    """Read from packed bytes, of which little is held unpacked at a time."""
    unpack, ready = zlib.decompressobj(), b""

    def read(count: int) -> bytes:
        nonlocal ready
        while len(ready) < count and not unpack.eof:
            more = unpack.unconsumed_tail or packed.take(int(min(packed.left, _CHUNK)))
            if not more:
                break
            ready += unpack.decompress(more, _CHUNK)
        found, ready = ready[:count], ready[count:]
        return found

    return read
