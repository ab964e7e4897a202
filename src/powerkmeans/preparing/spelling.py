"""How cells are spelt: numbers, amounts, shares, truth values, dates, and what stands for nothing."""

from __future__ import annotations

import enum
import math
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

MISSING = frozenset({"", "na", "n/a", "nan", "null", "none"})
_TRUE = {"true": "false", "yes": "no", "t": "f", "y": "n"}
_CURRENCIES = "[$€£¥₹₽₩₪₺]|USD|EUR|GBP|JPY|CNY|CHF|INR|CAD|AUD"
_AMOUNT = re.compile(
    rf"(?P<sign>[+-]?) ?(?P<before>{_CURRENCIES})? ?(?P<inner>[+-]?)"
    r"(?P<digits>[0-9][0-9.,'\u00a0\u202f ]*|\.[0-9]+)"
    rf"(?P<power>[eE][+-]?[0-9]+)? ?(?P<after>%|{_CURRENCIES})?"
)
_DATE = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?)?(Z|[+-][0-9]{2}:?[0-9]{2})?"
)
_DAY = 86400.0
# between thousands one is as good as another
_SPACES = " \u00a0\u202f"


class NotSpeltError(ValueError):
    """A text is not of the kind that it was read as."""

    def __init__(self, text: str, kind: Kind) -> None:
        what = {Kind.NUMBER: "a number", Kind.TRUTH: "yes or no", Kind.DATE: "a date"}[kind]
        super().__init__(f"{text[:40]!r} is not {what}")


class Kind(enum.StrEnum):
    """What a column holds."""

    NUMBER = "number"
    TRUTH = "truth"
    DATE = "date"
    CATEGORY = "category"


@dataclass(frozen=True)
class Spelling:
    """How numbers are written, and what is written where there is none.

    decimal : what stands before decimals
    thousands : what stands between thousands, None for nothing
    missing : texts, in small letters, that mean that a cell is missing
    """

    decimal: str = "."
    thousands: str | None = None
    missing: tuple[str, ...] = ()

    def is_missing(self, text: str) -> bool:
        """Whether a text stands for nothing."""
        return text.lower() in MISSING or text.lower() in self.missing

    def with_gaps(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """Numbers, with NaN in place of those that stand for nothing, such as -999."""
        marks = [self.number(text) for text in self.missing if _parses(self.number, text)]
        gone = np.isin(numbers, np.array(marks, dtype=numbers.dtype)) if marks else np.False_
        return np.where(gone, np.nan, numbers).astype(numbers.dtype, copy=False) if np.any(gone) else numbers

    def number(self, text: str) -> float:
        """A number, also with a currency or a percent sign; or NotSpeltError."""
        found, sign = _amount(text)
        if found is None or (found["before"] and found["after"]):
            raise NotSpeltError(text, Kind.NUMBER)
        number = float(f"{sign}{self._plain(found['digits'].rstrip())}{found['power'] or ''}")
        if math.isinf(number):
            raise NotSpeltError(text, Kind.NUMBER)
        return number

    def _plain(self, digits: str) -> str:
        """Digits with a point before decimals and nothing between thousands."""
        separator = self.thousands
        if separator is not None and separator in _SPACES:
            digits = re.sub(f"[{_SPACES}]", separator, digits)
        if separator is None and self.decimal == "." and re.fullmatch(r"[0-9]{1,3}(,[0-9]{3})+\.[0-9]+", digits):
            separator = ","  # both are there, so it can be nothing else
        if separator is not None:
            whole, _, rest = digits.partition(self.decimal)
            parts = whole.split(separator)
            if len(parts) > 1 and (not 1 <= len(parts[0]) <= 3 or any(len(part) != 3 for part in parts[1:])):
                raise NotSpeltError(digits, Kind.NUMBER)
            digits = "".join(parts) + (self.decimal + rest if rest else "")
        if self.decimal != "." and "." in digits:
            raise NotSpeltError(digits, Kind.NUMBER)
        digits = digits.replace(self.decimal, ".")
        if not re.fullmatch(r"[0-9]*\.?[0-9]*", digits):
            raise NotSpeltError(digits, Kind.NUMBER)
        return digits

    def unit(self, text: str) -> str:
        """The currency or percent sign of a number, empty if it has none."""
        found, _ = _amount(text)
        return "" if found is None else found["before"] or found["after"] or ""

    def truth(self, text: str) -> float:
        """1 for what is true, 0 for what is not."""
        word = text.strip().lower()
        if word in _TRUE or word == "1":
            return 1.0
        if word in _TRUE.values() or word == "0":
            return 0.0
        raise NotSpeltError(text, Kind.TRUTH)

    def date(self, text: str) -> float:
        """Days since the first of 1970, of a date that begins with the year."""
        if not _DATE.fullmatch(text.strip()):
            raise NotSpeltError(text, Kind.DATE)
        try:
            when = datetime.fromisoformat(text.strip())
        except ValueError as error:  # a 13th month
            raise NotSpeltError(text, Kind.DATE) from error
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() / _DAY

    def parser(self, kind: Kind) -> Callable[[str], float]:
        """What makes a number of a text of a kind."""
        return {Kind.NUMBER: self.number, Kind.TRUTH: self.truth, Kind.DATE: self.date}[kind]

    def read(self, texts: NDArray[Any], kind: Kind) -> NDArray[np.float64]:
        """A column of words as numbers, NaN for what is missing."""
        parse = self.parser(kind)
        known = {text: np.nan if self.is_missing(text) else parse(text) for text in set(texts.tolist())}
        return np.array([known[text] for text in texts.tolist()], dtype=np.float64)


PLAIN = Spelling()


def kind_of(texts: Collection[str], spelling: Spelling) -> Kind | None:
    """What a column of these distinct texts holds; None for words, or for nothing but gaps."""
    filled = [text for text in texts if not spelling.is_missing(text)]
    if not filled:
        return None
    for kind in (Kind.NUMBER, Kind.TRUTH, Kind.DATE):
        if all(_parses(spelling.parser(kind), text) for text in filled) and _alike(filled, kind, spelling):
            return kind
    return None


def _amount(text: str) -> tuple[re.Match[str] | None, str]:
    """The parts of an amount, and its sign; one in brackets is negative, as accountants write it."""
    bare = text.strip()
    bracketed = bare[:1] == "(" and bare[-1:] == ")"
    found = _AMOUNT.fullmatch(bare[1:-1] if bracketed else bare)
    if found is None:
        return None, ""
    signs = [sign for sign in ("-" if bracketed else "", found["sign"], found["inner"]) if sign]
    return (found, "".join(signs)) if len(signs) <= 1 else (None, "")


def _parses(parse: Callable[[str], float], text: str) -> bool:
    try:
        parse(text)
    except NotSpeltError:
        return False
    return True


def _alike(filled: list[str], kind: Kind, spelling: Spelling) -> bool:
    """Whether numbers have one unit, and truth values one pair of words, with 1 and 0 beside it."""
    if kind is Kind.NUMBER:
        return len({spelling.unit(text) for text in filled}) == 1
    words = {text.strip().lower() for text in filled} - {"1", "0"}
    return kind is Kind.DATE or any(words <= {yes, no} for yes, no in _TRUE.items())
