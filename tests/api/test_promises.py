"""What is promised in writing has tests behind it, which exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "promises.md"
pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="the source archive has no documentation")


def promises():
    """The sentences of the page that begin a point, whole."""
    held = PAGE.read_text(encoding="utf-8").partition("## What may change")[0]
    return [" ".join(point.split()) for point in re.split(r"^- ", held, flags=re.MULTILINE)[1:]]


def test_every_promise_names_tests_that_exist():
    assert len(promises()) > 20
    for point in promises():
        named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", point.partition(" [")[2])
        assert named, point
        for file, name in named:
            assert (ROOT / file).is_file(), file
            assert re.search(rf"^def {name}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE), name


def test_it_is_in_the_table_of_contents():
    assert "\npromises\n" in (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
