"""What is done to words: they become numbers, or columns of zeros and ones, and gaps among them are filled."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from powerkmeans.preparing.cells import Cells, as_words, dense, number_text
from powerkmeans.preparing.spelling import Kind, NotSpeltError, Spelling

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Read:
    """Words as numbers: amounts, shares, truth values, days; categories stay words, and numbers become them.

    kinds : what each column holds
    """

    kinds: tuple[Kind, ...]
    spelling: Spelling
    name: ClassVar[str] = "read"

    def __call__(self, cells: Cells) -> Cells:
        words: dict[int, NDArray[Any]] = {}
        cells = cells if set(self.kinds) <= {Kind.NUMBER} and not self.spelling.missing else dense(cells)
        numbers = np.array(cells.numbers) if cells.words else cells.numbers
        numbers = self.spelling.with_gaps(numbers) if self.spelling.missing else numbers
        cells = replace(cells, numbers=numbers)
        for place, kind in enumerate(self.kinds):
            column = cells.column(place)
            if kind is Kind.CATEGORY:
                words[place] = self._categories(column)
            elif place in cells.words:
                numbers[:, place] = self._numbers(column, kind, cells.columns[place])
            elif kind is not Kind.NUMBER:
                _check_kind(column, kind, cells.columns[place])
        return Cells(cells.columns, numbers, words)

    def _numbers(self, texts: NDArray[Any], kind: Kind, column: str) -> Floats:
        try:
            return self.spelling.read(texts, kind)
        except NotSpeltError as error:
            raise ValueError(f"Column {column!r}: {error}, as cells were in the fit.") from error

    def _categories(self, column: NDArray[Any]) -> NDArray[Any]:
        if column.dtype == object:
            missing = self.spelling.is_missing
            return np.array(["" if missing(text) else text for text in column.tolist()], dtype=object)
        return as_words(column)


def _check_kind(numbers: Floats, kind: Kind, column: str) -> None:
    """Reject numbers where there were words: other ones than 0 and 1 as truth values, any as dates."""
    fits = np.isnan(numbers) if kind is Kind.DATE else np.isin(numbers, (0, 1)) | np.isnan(numbers)
    if not np.all(fits):
        first = number_text(float(numbers[np.argmin(fits)]))
        raise ValueError(f"Column {column!r}: {NotSpeltError(first, kind)}, as cells were in the fit.")


# what becomes of cells that have none of the categories of the fit, missing ones among them
GAPS, IGNORE, ERROR = "gaps", "ignore", "error"
UNSEEN = (GAPS, IGNORE, ERROR)
_NEW, _MISSING = -1, -2


@dataclass(frozen=True)
class Indicators:
    """A column of zeros and ones for each category.

    levels : the categories of each column, empty for one that stays as it is
    unseen : of cells without any of them: new categories are zeros and missing cells stay so, both are zeros, or
        both are an error
    """

    levels: tuple[tuple[str, ...], ...]
    unseen: str = GAPS
    name: ClassVar[str] = "indicators"

    def __call__(self, cells: Cells) -> Cells:
        parts, columns = list[NDArray[Any]](), list[str]()
        for place, (label, levels) in enumerate(zip(cells.columns, self.levels, strict=True)):
            if not levels:
                parts.append(cells.numbers[:, place : place + 1])
                columns.append(label)
                continue
            parts.append(self._indicated(as_words(cells.column(place)), levels, label))
            columns += [f"{label}={level}" for level in levels]
        return Cells(tuple(columns), np.concatenate(parts, axis=1).astype(cells.numbers.dtype, copy=False))

    def _indicated(self, texts: NDArray[Any], levels: tuple[str, ...], label: str) -> Floats:
        places = _places(texts, levels)
        if self.unseen == ERROR:
            _check_seen(texts, places, label)
        found = (places[:, None] == np.arange(len(levels))).astype(np.float64)
        if self.unseen == GAPS:
            found[places == _MISSING] = np.nan
        return found

    def unknown(self, cells: Cells) -> dict[str, list[str]]:
        """Categories that the fit did not see, by column."""
        found = {}
        for place, (label, levels) in enumerate(zip(cells.columns, self.levels, strict=True)):
            texts = as_words(cells.column(place)) if levels else np.array([], dtype=object)
            new = texts[_places(texts, levels) == _NEW]
            if len(new):
                found[label] = sorted(set(new.tolist()))
        return found


@dataclass(frozen=True)
class Ordinals:
    """The rank of each category, for those that have an order.

    levels : the categories of each column in their order; those that are missing in the fit are one of them, ""
    unseen : of cells without any of them: they are ``unknown``, or an error
    missing : what is missing in the fit too
    """

    levels: tuple[tuple[str, ...], ...]
    unseen: str = ERROR
    unknown: float = np.nan
    missing: float = np.nan
    name: ClassVar[str] = "ordinals"

    def __call__(self, cells: Cells) -> Cells:
        ranks = np.empty((len(cells), len(self.levels)))
        for place, (label, levels) in enumerate(zip(cells.columns, self.levels, strict=True)):
            texts = as_words(cells.column(place))
            found = _places(texts, levels)
            if self.unseen == ERROR:
                _check_seen(texts, found, label)
            gaps = (found >= 0) & (texts == "")
            ranks[:, place] = np.where(gaps, self.missing, np.where(found < 0, self.unknown, found))
        return cells.with_numbers(ranks)


def _check_seen(texts: NDArray[Any], places: NDArray[np.intp], label: str) -> None:
    """Reject cells that are none of the categories of the fit."""
    if np.any(places < 0):
        new = texts[np.argmin(places)]
        what = f"the category {new!r}" if new else "missing cells"
        raise ValueError(f"Column {label!r} has {what}, which the fit did not have.")


def _places(texts: NDArray[Any], levels: tuple[str, ...]) -> NDArray[np.intp]:
    """Which category each text is. Codes may come as numbers, and truth values too, which 01 and TRUE then are."""
    alike = {_as_number(level): place for place, level in reversed(list(enumerate(levels)))}
    alike |= {level: place for place, level in enumerate(levels)}
    nothing = {"": alike.get("", _MISSING)}
    known = {text: alike.get(text, alike.get(_as_number(text), _NEW)) for text in set(texts.tolist())} | nothing
    return np.array([known[text] for text in texts.tolist()], dtype=np.intp)


def _as_number(text: str) -> str:
    """The number that a table of numbers has for a text, as text."""
    if text.lower() in ("true", "false"):
        return str(int(text.lower() == "true"))
    try:
        number = float(text)
    except ValueError:
        return text
    return number_text(number) if np.isfinite(number) else text


@dataclass(frozen=True)
class FillWords:
    """A word in place of what is missing, column by column; numbers beside it become words."""

    values: tuple[str, ...]
    name: ClassVar[str] = "fill_words"

    def __call__(self, cells: Cells) -> Cells:
        words = dict(cells.words)
        for place in np.flatnonzero(np.any(cells.is_missing, axis=0)).tolist():
            texts = as_words(cells.column(place))
            words[place] = np.where(texts == "", self.values[place], texts)
        return Cells(cells.columns, cells.numbers, words)
