"""Beginnings of .npy files that are damaged, for both readers."""

from __future__ import annotations

import struct

SOUND = "{'descr': '<f8', 'fortran_order': False, 'shape': (20, 3), }\n"


def npy_bytes(header: str = SOUND, version: tuple[int, int] = (1, 0), length: int | None = None) -> bytes:
    """A .npy file of 60 zeros with that header."""
    text = header.encode("latin-1")
    size = struct.pack("<H" if version[0] == 1 else "<I", len(text) if length is None else length)
    return b"\x93NUMPY" + bytes(version) + size + text + bytes(480)


def with_shape(shape: str) -> bytes:
    return npy_bytes(SOUND.replace("(20, 3)", shape))


READABLE = {
    "as NumPy writes it": npy_bytes(),
    "by column": npy_bytes(SOUND.replace("False", "True")),
    "version 2": npy_bytes(version=(2, 0)),
    "version 3": npy_bytes(version=(3, 0)),
    "big endian": npy_bytes(SOUND.replace("<f8", ">f8")),
}
DAMAGED = {
    "a bracket is open": npy_bytes(SOUND.replace("}", "")),
    "a text is open": npy_bytes("'''abc\n"),
    "indented": npy_bytes("  {\n x\n"),
    "no colon": npy_bytes("{'descr' '<f8'}\n"),
    "zeros": npy_bytes("\0" * 64),
    "deep": npy_bytes("(" * 4000 + ")" * 4000),
    "deep and open": npy_bytes("[" * 9000),
    "too long": npy_bytes(SOUND + " " * 20_000, version=(2, 0)),
    "longer than the file": npy_bytes(length=60_000),
    "much longer than the file": npy_bytes(version=(2, 0), length=2**32 - 1),
    "of no known type": npy_bytes(SOUND.replace("<f8", "zz")),
    "one key more": npy_bytes(SOUND.replace("}", "'x': 1}")),
    "version 0": npy_bytes(version=(0, 0)),
    "version 9": npy_bytes(version=(9, 0)),
    "an order that is a number": npy_bytes(SOUND.replace("False", "1")),
    "a shape in words": with_shape("'ab'"),
    "a shape of fractions": with_shape("(20.0, 3)"),
    "a shape of booleans": with_shape("(True, 3)"),
    "fewer than no rows": with_shape("(-20, 3)"),
    "fewer than none twice": with_shape("(-20, -3)"),
    "rows beyond 64 bits": with_shape(f"({10**30}, 3)"),
    "columns beyond 64 bits": with_shape(f"(0, {10**30})"),
    "digits without end": with_shape(f"(1{'0' * 4500}, 3)"),
    "a product": with_shape("(10**30, 3)"),
    "another beginning": b"\x93NUMPX" + npy_bytes()[6:],
    "nothing but the beginning": b"\x93NUMPY",
    "a pickle": b"\x80\x04N.",
}
