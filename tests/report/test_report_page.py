"""The page without a browser: nothing becomes markup, nothing else is needed, numbers can be read."""

from __future__ import annotations

import base64
import hashlib
import re
from importlib.resources import files

import numpy as np
import pandas as pd
import polars as pl
import pytest
from report_helpers import blobs, report

from helpers import quick_views
from powerkmeans.report import page as page_module
from powerkmeans.report.charts import Line, line_chart, log_ticks, ticks
from powerkmeans.report.markup import LONGEST_TEXT, fixed, percent, plain_text

# fixtures have views of noise, on purpose
pytestmark = pytest.mark.filterwarnings("ignore::powerkmeans.exceptions.DataGuidanceWarning")


def test_ticks_of_a_line_that_hardly_moves_differ():
    drawn = str(line_chart([Line(np.linspace(11.27671, 11.27679, 9))], "hardly"))
    levels = re.findall(r'text-anchor="end">([\d.]+)</text>', drawn)[:-1]
    assert len(levels) >= 2
    assert len(set(levels)) == len(levels)
    counts = str(line_chart([Line(np.array([1.0, 1.0, 2.0]))], "centroids", scale="zero"))
    assert re.findall(r'text-anchor="end">([\d.]+)</text>', counts)[:-1] == ["0", "1", "2"]


# nothing that a user names becomes markup

NASTY = [
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    '"><img src=x onerror=alert(3)>',
    "it's & <b>bold</b>",
    "line\u2028and\u2029paragraph",
    "\x00nul \x1b esc \ud800 half",
    "$title ${data} $$",
    "\u65e5\u672c\u8a9e \u0438\u043c\u044f \u202eabc",
    "x" * 5000,
]


def test_everything_is_escaped(tmp_path):
    X = blobs(n=len(NASTY) * 4, p=len(NASTY))
    views = {NASTY[0]: X, NASTY[1]: X + 1}
    model = quick_views(2, random_state=0).fit(views)
    page = report(
        tmp_path, model, views, ids=NASTY * 4, title=NASTY[1], scaling=NASTY[2], feature_names=NASTY + NASTY
    )
    assert [tag for tag, _ in page.elements if tag in ("script", "img", "b")] == ["script", "script"]
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)
    raw = re.sub(r"(?s)<script>\n?\"use strict\".*?</script>", "", page.text)
    assert "alert(" in page.said
    assert not re.search("[\u2028\u2029\x00\x1b\ud800]", raw.split('id="data">')[1])
    assert page.data["views"] == NASTY[:2]
    assert set(page.data["map"]["id"]) == {plain_text(name) for name in NASTY}
    assert set(page.data["profiles"]["name"]) == {plain_text(name) for name in NASTY}
    assert NASTY[1] in page.said
    assert max(len(name) for name in page.data["map"]["id"]) == LONGEST_TEXT


def test_ids_of_any_kind(tmp_path, scored):
    model, X = scored
    for ids in (
        np.arange(240),
        np.arange(240.0),
        [b"bytes %d" % i for i in range(240)],
        pd.Series([f"s{i}" for i in range(240)], index=range(240, 0, -1)),
        pl.Series([f"s{i}" for i in range(240)]),
        pd.MultiIndex.from_product([range(24), list("abcdefghij")]),
        (f"g{i}" for i in range(240)),
        [None] * 240,
    ):
        page = report(tmp_path, model, X, ids=ids)
        assert len(page.data["map"]["id"]) == 240
    assert plain_text(np.float64(3.0)) == "3"
    assert plain_text("  ") == "\u2014"


def test_the_page_needs_nothing_else(tmp_path, several):
    page = report(tmp_path, *several)
    assert "http://" not in page.text
    assert "https://" not in page.text
    assert not re.search(r"@import|url\(|\beval\(|innerHTML|\bfetch\(|XMLHttpRequest", page.text)
    assert [a.get("href") for a in page.all("link")] == ["data:,"]
    assert all("src" not in attributes for _, attributes in page.elements)
    assert all(a["href"].startswith("#") for a in page.all("a"))
    policy = page.all("meta", **{"http-equiv": "Content-Security-Policy"})[0]["content"]
    assert policy.startswith("default-src 'none'; ")
    script = re.search(r"<script>(.*?)</script>", page.text, re.DOTALL)[1]
    style = re.search(r"<style>(.*?)</style>", page.text, re.DOTALL)[1]
    for kind, content in (("script", script), ("style", style)):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert not any("style" in attributes for _, attributes in page.elements)  # the policy would drop them


def test_ids_and_anchors_of_the_page_are_sound(tmp_path, several):
    page = report(tmp_path, *several)
    found = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(found) == len(set(found))
    for _, attributes in page.elements:
        for name in ("aria-labelledby", "for"):
            assert attributes.get(name, found[0]) in found
    assert {a["href"][1:] for a in page.all("a")} <= set(found)
    assert len(page.all("main")) == len(page.all("h1")) == 1
    script = page_module.asset("report.js")
    assert set(re.findall(r'byId\("([\w-]+)"\)', script)) <= set(found)


def test_assets_are_part_of_the_package():
    for name in ("template.html", "report.css", "report.js"):
        assert files("powerkmeans.report").joinpath(name).is_file()


def contrast(first, second):
    def luminance(colour):
        parts = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    dark, light = sorted([luminance(first), luminance(second)])
    return (light + 0.05) / (dark + 0.05)


def test_colours_have_contrast_in_both_schemes():
    schemes = re.findall(r"\{([^{}]*--page: #[^{}]*--c9[^{}]*)\}", page_module.asset("report.css"))
    palettes = [dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", scheme)) for scheme in schemes]
    assert len(palettes) == 3
    assert palettes[1] == palettes[2]  # dark by the system and by the button
    for colours in palettes[:2]:
        for text in ("ink", "muted", "accent", "good", "weak", "warn"):
            assert all(contrast(colours[text], colours[back]) >= 4.5 for back in ("page", "surface", "sunk"))
        assert contrast(colours["ink"], colours["accent-soft"]) >= 4.5
        assert contrast(colours["muted"], colours["accent-soft"]) >= 4.5
        assert contrast(colours["on-accent"], colours["accent"]) >= 4.5
        for mark in [f"c{i}" for i in range(10)] + ["edge", "above", "below"]:
            assert contrast(colours[mark], colours["page"]) >= 3
            assert contrast(colours[mark], colours["surface"]) >= 3


def test_numbers_for_readers():
    assert percent(0.0) == "0\u00a0%"
    assert percent(0.0004) == "< 0.1\u00a0%"
    assert percent(0.0456) == "4.6\u00a0%"
    assert percent(0.456) == "46\u00a0%"
    assert percent(0.9996) == "> 99.9\u00a0%"
    assert percent(1.0) == "100\u00a0%"
    assert percent(float("nan")) == "\u2014"
    assert fixed(1234.5, 1) == "1,234.5"
    assert fixed(-0.00000012, 9) == "\u22121.200e\u221207"
    for low, high in ((0.729, 1.53), (-349, 46), (9.5, 10.5), (0, 1e-9), (3, 3.0001)):
        found = ticks(low, high)
        assert 2 <= len(found) <= 6
        assert all(low <= level <= high for level in found)
    assert len(log_ticks(0.3, 0.31)) >= 2
