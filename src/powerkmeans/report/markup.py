"""HTML built from nested calls, in which every text is escaped unless it is markup already."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import math
import re
from typing import Any

from powerkmeans.support.escapes import printable

# longer names are cut: a page is no place for a kilobyte of identifier
LONGEST_TEXT, LONGEST_END = 120, 40
# allowed in text, but not what anyone means by it: controls, halves of surrogate pairs, what is no character
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_VOID = {"meta", "link", "br", "input", "rect", "line", "path", "circle"}


class Markup(str):
    """Text that is HTML already and is not escaped again."""

    __slots__ = ()


Child = str | None


def tag(name: str, *children: Child, **attributes: Any) -> Markup:
    """One element; a trailing underscore of an attribute is dropped and others become hyphens.

    >>> tag("p", "a < b", class_="note", data_row=3, hidden=False)
    '<p class="note" data-row="3">a &lt; b</p>'
    """
    opening = name + "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return Markup(f"<{opening}>" if name in ("meta", "link", "br", "input") else f"<{opening}/>")
    return Markup(f"<{opening}>{join(*children)}</{name}>")


def join(*children: Child) -> Markup:
    """Pieces one after the other."""
    return Markup("".join(escaped(child) for child in children if child is not None))


def escaped(text: str) -> Markup:
    """Text as HTML."""
    return text if isinstance(text, Markup) else Markup(html.escape(_CONTROLS.sub("\ufffd", text)))


def _attribute(key: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escaped(str(value))}"'


def plain_text(value: Any) -> str:
    """Whatever names a sample or a column as one line of text; of a long one the middle is left out."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)
    text = printable(" ".join(str(value).split()))
    if len(text) > LONGEST_TEXT:
        text = f"{text[: LONGEST_TEXT - LONGEST_END - 1]}\u2026{text[-LONGEST_END:]}"
    return text or "\u2014"


def shortened(name: str, label: str | None, style: str) -> Markup:
    """A name, or a label that is shown for it: the whole name is read aloud and shown where the pointer rests."""
    if label is None:
        return tag("span", name, class_=style, title=name)
    whole = tag("span", name, class_="unseen")
    return tag("span", tag("span", label, aria_hidden="true"), whole, class_=style, title=name)


def as_json(data: Any) -> Markup:
    """Data as the content of a script element: no character of it can end the element or start markup."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))


def content_hash(text: str) -> str:
    """What a content security policy calls a script or a style sheet by."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def count(number: int) -> str:
    """A whole number with separators of thousands."""
    return f"{number:,}"


def counted(number: int, noun: str) -> str:
    """``1 sample``, ``2,000 samples``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def percent(share: float) -> str:
    """A share as a percentage that says no more than it knows, and nothing is 0 or 100 % but those."""
    if not math.isfinite(share):
        return "\u2014"
    if 0 < share < 0.001:
        return "< 0.1\u00a0%"
    if 0.999 < share < 1:
        return "> 99.9\u00a0%"
    digits = 0 if share in (0, 1) or 0.1 <= abs(share) < 0.995 else 1
    return f"{100 * share:.{digits}f}\u00a0%".replace("-", "\u2212")


def fixed(value: float, decimals: int) -> str:
    """A number with as many decimals as its column has; very large and very small ones by their power of ten."""
    if not math.isfinite(value):
        return number(value)
    text = f"{value:.3e}" if decimals > 6 or abs(value) >= 1e9 else f"{value:,.{max(decimals, 0)}f}"
    return text.replace("-", "\u2212")


def number(value: float, digits: int = 4) -> str:
    """A number with some significant digits; a dash where there is none."""
    if math.isnan(value):
        return "\u2014"
    if math.isinf(value):
        return "\u221e" if value > 0 else "\u2212\u221e"
    return f"{value:.{digits}g}".replace("-", "\u2212")
