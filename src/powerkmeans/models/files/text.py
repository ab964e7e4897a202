"""The header of a model file: JSON of bounded size, depth and numbers."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from powerkmeans.models.files.flaws import Flaw

# names of a hundred thousand columns take some megabytes; memory is a multiple of it
LARGEST_HEADER = 2**24
DEEPEST, MOST_BRACKETS = 64, 200_000
LARGEST_INTEGER = 2**63 - 1

_STRINGS = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def dump(header: Mapping[str, Any]) -> bytes:
    """The header as bytes that ``parse`` takes."""
    try:
        text = json.dumps(header, allow_nan=False).encode("ascii")
    except (TypeError, ValueError) as error:
        raise Flaw(f"its settings cannot be written as JSON: {error}") from error
    parse(text)
    return text


def parse(text: bytes) -> Any:
    """The header of these bytes; nothing is made of one that is too large or too deep."""
    if len(text) > LARGEST_HEADER:
        raise Flaw(f"the header takes {len(text)} bytes, more than {LARGEST_HEADER}")
    _check_brackets(text)
    try:
        return json.loads(
            text.decode("utf-8"),
            parse_int=_integer,
            parse_float=_number,
            parse_constant=_constant,
            object_pairs_hook=_unique,
        )
    except ValueError as error:  # of which those of JSON and of UTF-8 are kinds
        raise Flaw(f"the header is not JSON: {error}") from error


def _check_brackets(text: bytes) -> None:
    """Bound how deep and how many lists and dicts there are, before any is made."""
    brackets = _STRINGS.sub(b"", text).translate(None, _NOT_BRACKETS)
    if len(brackets) > 2 * MOST_BRACKETS:
        raise Flaw(f"the header holds more than {MOST_BRACKETS} lists and dicts")
    depth = 0
    for bracket in brackets:
        depth += 1 if bracket in b"[{" else -1
        if depth > DEEPEST:
            raise Flaw(f"the header is nested more than {DEEPEST} deep")


def _integer(digits: str) -> int:
    if len(digits) > 20 or not -LARGEST_INTEGER - 1 <= int(digits) <= LARGEST_INTEGER:
        raise Flaw(f"the header holds the integer {digits[:24]}, beyond 64 bits")
    return int(digits)


def _number(digits: str) -> float:
    if not math.isfinite(float(digits)):
        raise Flaw(f"the header holds the number {digits[:24]}, beyond double precision")
    return float(digits)


def _constant(word: str) -> Any:
    raise Flaw(f"the header holds {word}, which is not JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        raise Flaw("the header names an entry twice")
    return entries
