"""How cells are spelt: numbers, amounts, shares, truth values, dates, and what stands for nothing."""

from __future__ import annotations

import enum
import re
from collections.abc import Collection
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

    def number(self, text: str) -> float:
        """A number, also with a currency or a percent sign; or NotSpeltError."""
        found = _AMOUNT.fullmatch(text.strip())
        if found is None or (found["sign"] and found["inner"]) or (found["before"] and found["after"]):
            raise NotSpeltError(text, Kind.NUMBER)
        digits = self._plain(found["digits"].rstrip())
        return float(f"{found['sign'] or found['inner']}{digits}{found['power'] or ''}")

    def _plain(self, digits: str) -> str:
        """Digits with a point before decimals and nothing between thousands."""
        separator = self.thousands
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
        found = _AMOUNT.fullmatch(text.strip())
        return "" if found is None else found["before"] or found["after"] or ""

    def truth(self, text: str) -> float:
        """1 for what is true, 0 for what is not."""
        word = text.strip().lower()
        if word in _TRUE:
            return 1.0
        if word in _TRUE.values():
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

    def read(self, texts: NDArray[Any], kind: Kind) -> NDArray[np.float64]:
        """A column of words as numbers, NaN for what is missing."""
        parse = {Kind.NUMBER: self.number, Kind.TRUTH: self.truth, Kind.DATE: self.date}[kind]
        known = {text: np.nan if self.is_missing(text) else parse(text) for text in set(texts.tolist())}
        return np.array([known[text] for text in texts.tolist()], dtype=np.float64)


PLAIN = Spelling()


def kind_of(texts: Collection[str], spelling: Spelling) -> Kind | None:
    """What a column of these distinct texts holds; None for words, or for nothing but gaps."""
    filled = [text for text in texts if not spelling.is_missing(text)]
    if not filled:
        return None
    for kind, parse in ((Kind.NUMBER, spelling.number), (Kind.TRUTH, spelling.truth), (Kind.DATE, spelling.date)):
        if all(_parses(parse, text) for text in filled) and _alike(filled, kind, spelling):
            return kind
    return None


def _parses(parse: Any, text: str) -> bool:
    try:
        parse(text)
    except NotSpeltError:
        return False
    return True


def _alike(filled: list[str], kind: Kind, spelling: Spelling) -> bool:
    """Whether numbers have one unit, and truth values one pair of words."""
    if kind is Kind.NUMBER:
        return len({spelling.unit(text) for text in filled}) == 1
    words = {text.strip().lower() for text in filled}
    return kind is Kind.DATE or any(words <= {yes, no} for yes, no in _TRUE.items())
