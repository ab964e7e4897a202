"""Names from files as people see them: what would steer a terminal or turn text round is written out."""

from __future__ import annotations

import re

# controls, halves of surrogate pairs, marks that turn or hide text, ends of lines, what is no character
_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufdd0-\ufdef\ufeff\ufff9-\ufffb\ufffe\uffff"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def printable(text: str, keep: str = "") -> str:
    r"""A text with what cannot be seen written out, as Python writes it; characters of ``keep`` stay.

    >>> printable("\x1b[31mred\u202e")
    '\\x1b[31mred\\u202e'
    """
    return _HIDDEN.sub(lambda found: found[0] if found[0] in keep else _written(found[0]), text)


def _written(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
