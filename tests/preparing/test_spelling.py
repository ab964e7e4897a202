"""What a cell says, however it is written."""

from __future__ import annotations

import numpy as np
import pytest

from powerkmeans.preparing.spelling import Kind, NotSpeltError, Spelling, kind_of


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12),
        ("-1.5e3", -1500),
        (".5", 0.5),
        ("12.5%", 12.5),
        ("$1,234.50", 1234.5),
        ("-$3", -3),
        ("$-3", -3),
        ("1,234,567.0", 1234567),
        ("20 EUR", 20),
        ("(1,234.50)", -1234.5),  # as accountants write it
        ("($3)", -3),
    ],
)
def test_numbers(text, value):
    assert Spelling().number(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "1,234",
        "1.2.3",
        "$1$",
        "1_000",
        "--1",
        "12 %%",
        "1 2",
        "0x10",
        "١٢",
        "(-1)",
        "()",
        "(1",
        "1e400",
        "$1e400",
    ],
)
def test_texts_that_are_no_numbers(text):
    with pytest.raises(NotSpeltError):
        Spelling().number(text)


def test_thousands_and_decimals_are_told_apart_by_who_knows():
    assert Spelling(thousands=",").number("1,234") == 1234
    assert Spelling(decimal=",").number("1,234") == 1.234
    assert Spelling(decimal=",", thousands=".").number("1.234,5 €") == 1234.5
    for space in (" ", "\u00a0", "\u202f"):  # whichever the file has
        assert Spelling(thousands=" ").number(f"1{space}234{space}567") == 1234567
    for wrong in ("12,34", "1234,567", "1,2345"):
        with pytest.raises(NotSpeltError):
            Spelling(thousands=",").number(wrong)


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (["$1", "$2.50", ""], Kind.NUMBER),
        (["1%", "2%", "n/a"], Kind.NUMBER),
        (["$1", "2 €"], None),  # two currencies are no one unit
        (["1%", "2"], None),
        (["yes", "No", "YES"], Kind.TRUTH),
        (["true", "no"], None),
        (["t", "f"], Kind.TRUTH),
        (["TRUE", "0", "1", "FALSE"], Kind.TRUTH),
        (["0", "1"], Kind.NUMBER),
        (["2024-02-29", "1969-12-31T23:59:59Z"], Kind.DATE),
        (["03/04/2021"], None),
        (["red", "blue"], None),
        (["", "NA"], None),
    ],
)
def test_columns_are_what_all_their_cells_are(texts, kind):
    assert kind_of(texts, Spelling()) is kind


def test_columns_are_read_with_gaps():
    spelling = Spelling(missing=("?",))
    found = spelling.read(np.array(["1970-01-02", "?", "1970-01-01 12:00"], dtype=object), Kind.DATE)
    assert np.array_equal(found, [1, np.nan, 0.5], equal_nan=True)
    assert np.array_equal(spelling.read(np.array(["yes", "no"], dtype=object), Kind.TRUTH), [1, 0])
