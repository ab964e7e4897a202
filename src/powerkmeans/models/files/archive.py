"""The container of a model file: a zip archive of ``.npy`` arrays, one of which holds the header.

Arrays are stored, not compressed, each at a multiple of 64 bytes, so that they can be mapped. An archive is read
only if its members follow each other without gaps, each as long as its own header says: nothing is hidden in it,
and what it takes in memory is known before the first array is unpacked.
"""

from __future__ import annotations

import math
import os
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any, NamedTuple

import numpy as np

from powerkmeans.models.files.flaws import Flaw, NotAModel
from powerkmeans.models.files.text import LARGEST_HEADER, dump, parse
from powerkmeans.types import Array

HEADER = "header.json"
ALIGNMENT = 64
MOST_MEMBERS = 65_534  # as many as an archive has without further records
# compressed members, of the first version of the format, may take this much or this many times the file
UNPACKED_BYTES, UNPACKED_TIMES = 2**26, 50
LARGEST_PREAMBLE = 2**10
_PIECE = 2**20
_DTYPES = ("<f8", "<f4", "<i8", "<i4", "<i2", "|i1", "<u8", "<u4", "<u2", "|u1", "|b1")
_MEMBER = re.compile(r"[A-Za-z0-9_.]{1,80}\.npy")
_PREAMBLE = re.compile(
    rb"\{'descr': '([<|][a-z][0-9])', 'fortran_order': (True|False), 'shape': \(([0-9, ]{0,90})\), \} *\n"
)
_LOCAL, _END, _LOCATOR, _END64 = (struct.Struct(f) for f in ("<4s5H3L2H", "<4s4H2LH", "<4sLQL", "<4sQ2H2L4Q"))
_UTF8_FLAG = 0x800


class Member(NamedTuple):
    """An array as its own header announces it."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    fortran_order: bool
    preamble: int

    @property
    def n_bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


def announced(array: Array) -> Member:
    """What the member of an array will announce."""
    return Member(array.shape, array.dtype, False, 0)


def write_archive(stream: IO[bytes], header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    """Write a header and arrays; equal ones give equal bytes."""
    text = np.frombuffer(dump(header), dtype=np.uint8)
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name, array in {HEADER: text, **arrays}.items():
            entry = zipfile.ZipInfo(f"{name}.npy")
            entry.file_size = array.nbytes + LARGEST_PREAMBLE  # at most: tells whether 64-bit sizes are needed
            entry.extra = _padding(stream.tell(), entry)
            with archive.open(entry, "w") as member:
                little = array.astype(array.dtype.newbyteorder("<"), copy=False)
                np.lib.format.write_array(member, little, version=(1, 0), allow_pickle=False)


def _padding(offset: int, entry: zipfile.ZipInfo) -> bytes:
    """An extra field that ends where the member's data are aligned."""
    sizes = 20 if entry.file_size * 1.05 > zipfile.ZIP64_LIMIT else 0
    length = -(offset + _LOCAL.size + len(entry.filename) + sizes + 4) % ALIGNMENT
    return struct.pack("<2H", 0xD935, length) + bytes(length)


class Archive:
    """A model file that is open: its header, and what arrays it announces."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._zip = _opened(stream)
        self._entries = {
            entry.filename.removesuffix(".npy"): entry for entry in _checked_entries(self._zip, stream)
        }
        self.header = self._read_header()
        self.members = {name: self._announced(name) for name in self._entries if name != HEADER}

    @property
    def compressed(self) -> bool:
        return any(entry.compress_type != zipfile.ZIP_STORED for entry in self._entries.values())

    def _read_header(self) -> Any:
        if HEADER not in self._entries:
            raise NotAModel("it has no header")
        if self._entries[HEADER].file_size > LARGEST_HEADER + LARGEST_PREAMBLE:
            raise Flaw(f"the header takes more than {LARGEST_HEADER} bytes")
        if self._announced(HEADER).dtype != np.uint8:
            raise NotAModel("its header is not text")
        return parse(self._read(HEADER, self._announced(HEADER)).tobytes())

    def _announced(self, name: str) -> Member:
        """What a member's own header says, held to the size that the archive says."""
        entry = self._entries[name]
        with _unpacking(name), self._zip.open(entry) as stream:
            member = _read_preamble(name, stream)
        if member.preamble + member.n_bytes != entry.file_size:
            raise Flaw(f"{name!r} should take {member.n_bytes} bytes, but its place has another size")
        return member

    def arrays(self) -> dict[str, Array]:
        """All arrays, unpacked."""
        return {name: self._read(name, member) for name, member in self.members.items()}

    def _read(self, name: str, member: Member) -> Array:
        array = np.empty(math.prod(member.shape), dtype=member.dtype)
        content = array.view(np.uint8)
        with _unpacking(name), self._zip.open(self._entries[name]) as stream:
            stream.read(member.preamble)
            for start in range(0, member.n_bytes, _PIECE):
                piece = np.frombuffer(stream.read(min(_PIECE, member.n_bytes - start)), dtype=np.uint8)
                if len(piece) < min(_PIECE, member.n_bytes - start):
                    raise Flaw(f"{name!r} is shorter than it says")
                content[start : start + len(piece)] = piece
            if stream.read(1):  # looks at the checksum, too
                raise Flaw(f"{name!r} is longer than it says")
        native = array.astype(member.dtype.newbyteorder("="), copy=False)
        return native.reshape(member.shape, order="F" if member.fortran_order else "C")


@contextmanager
def _unpacking(name: str) -> Iterator[None]:
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, struct.error) as error:
        raise NotAModel(f"{name!r} cannot be unpacked ({error})") from error


def _read_preamble(name: str, stream: IO[bytes]) -> Member:
    """The header of a ``.npy`` member, which NumPy writes in one way; nothing is evaluated."""
    start = stream.read(10)
    if len(start) < 10 or start[:8] != b"\x93NUMPY\x01\x00":
        raise Flaw(f"{name!r} is not an array")
    length = int.from_bytes(start[8:], "little")
    found = _PREAMBLE.fullmatch(stream.read(min(length, LARGEST_PREAMBLE)))
    if found is None or found[1].decode() not in _DTYPES:
        raise Flaw(f"{name!r} is not an array of plain numbers")
    sizes = [size.strip() for size in found[3].decode().split(",")]
    shape = tuple(int(size) for size in sizes if size)
    return Member(shape, np.dtype(found[1].decode()), found[2] == b"True", 10 + length)


def _opened(stream: IO[bytes]) -> zipfile.ZipFile:
    _check_directory(stream)
    try:
        return zipfile.ZipFile(stream)
    except (zipfile.BadZipFile, NotImplementedError, ValueError, struct.error) as error:
        raise NotAModel(f"it is not an archive ({error})") from error


def _check_directory(stream: IO[bytes]) -> None:
    """Hold the archive's directory, which is unpacked whole, to what its end says and to a size."""
    n_bytes = stream.seek(0, os.SEEK_END)
    end = n_bytes - _END.size
    signature, *_, count, size, offset, comment = _END.unpack(_bytes_at(stream, end, _END.size))
    if signature != b"PK\x05\x06" or comment:
        raise NotAModel("it does not end as an archive does")
    if _bytes_at(stream, end - _LOCATOR.size, 4) == b"PK\x06\x07":  # beyond two gigabytes
        end -= _LOCATOR.size + _END64.size
        signature, *_, count, size, offset = _END64.unpack(_bytes_at(stream, end, _END64.size))
    if offset + size != end or count > MOST_MEMBERS or size > 2**8 * count:
        raise NotAModel("its directory does not fit its size")


def _bytes_at(stream: IO[bytes], start: int, count: int) -> bytes:
    stream.seek(max(start, 0))
    found = stream.read(count)
    if start < 0 or len(found) < count:
        raise NotAModel("it is too short")
    return found


def _checked_entries(archive: zipfile.ZipFile, stream: IO[bytes]) -> list[zipfile.ZipInfo]:
    """The members of an archive, if they are plain files that follow each other without gaps."""
    entries, position = archive.infolist(), 0
    for entry in sorted(entries, key=lambda entry: entry.header_offset):
        _check_entry(entry)
        if entry.header_offset != position:
            raise NotAModel(f"{entry.filename!r} does not follow the one before")
        local = _LOCAL.unpack(_bytes_at(stream, position, _LOCAL.size))
        position += _LOCAL.size + local[-2] + local[-1] + entry.compress_size
    if position != archive.start_dir:
        raise NotAModel("its directory does not follow its members")
    if len({entry.filename for entry in entries}) < len(entries):
        raise Flaw("it has two members of one name")
    _check_unpacked(entries, position)
    return entries


def _check_entry(entry: zipfile.ZipInfo) -> None:
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if not _MEMBER.fullmatch(entry.orig_filename) or kind not in (0, stat.S_IFREG) or entry.is_dir():
        raise Flaw(f"it has the member {entry.orig_filename!r}, which is none of a model")
    if entry.flag_bits & ~_UTF8_FLAG or entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise Flaw(f"{entry.filename!r} is encrypted, or packed in a way that models are not")
    if entry.compress_type == zipfile.ZIP_STORED and entry.compress_size != entry.file_size:
        raise Flaw(f"{entry.filename!r} is stored, but says two sizes")


def _check_unpacked(entries: list[zipfile.ZipInfo], n_bytes: int) -> None:
    unpacked, most = sum(entry.file_size for entry in entries), max(UNPACKED_BYTES, UNPACKED_TIMES * n_bytes)
    if unpacked > most:
        raise Flaw(f"it would take {unpacked} bytes when it is unpacked, and {n_bytes} are in the file")
