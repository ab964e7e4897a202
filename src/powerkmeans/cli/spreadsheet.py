"""Texts in CSV files that a spreadsheet would run as formulas, and back.

Excel and its kin evaluate a cell that begins with ``=``, ``+``, ``-`` or ``@``, unless an apostrophe stands before
it. That is one more character in the file, which our own readers take away again. Plain numbers need none.
"""

from __future__ import annotations

import re

_BEGINNINGS = "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"  # the last four are wide forms
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def guarded(text: str) -> str:
    """A text as a cell that no spreadsheet evaluates.

    >>> [guarded(text) for text in ("=1+1", "-1", "-x", "a=b", "'=1")]
    ["'=1+1", '-1', "'-x", 'a=b', "''=1"]
    """
    return f"'{text}" if _is_run(text) else text


def unguarded(cell: str) -> str:
    """The text that was guarded; others are as they are.

    >>> [unguarded(cell) for cell in ("'=1+1", "-1", "'-x", "'a", "''=1")]
    ['=1+1', '-1', '-x', "'a", "'=1"]
    """
    return cell[1:] if cell.startswith("'") and _is_run(cell) else cell


def _is_run(text: str) -> bool:
    bare = text.lstrip("' ")
    return bare[:1] != "" and bare[0] in _BEGINNINGS and not _NUMBER.fullmatch(bare.rstrip())
