"""A reader of pages, and data with clusters for reports."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from powerkmeans.report import write_report

VOID = {"meta", "link", "br", "input"}


class Page(HTMLParser):
    """Elements that stand open must be closed in turn; collects texts and tables by the id of their section."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.text, self.open, self.elements, self.words = text, [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("script", "style"):
            self.words.append(data)

    @property
    def said(self):
        return " ".join(" ".join(self.words).split())

    @property
    def data(self):
        content = re.search(r'<script type="application/json" id="data">(.*?)</script>', self.text, re.DOTALL)[1]
        assert not re.search("[<>&]", content)
        return json.loads(content, parse_constant=pytest.fail)

    def all(self, tag, **wanted):
        return [a for t, a in self.elements if t == tag and all(a.get(k) == v for k, v in wanted.items())]


def report(tmp_path, estimator, X, **options):
    path = write_report(tmp_path / "report.html", estimator, X, overwrite=True, **options)
    return Page(path.read_text(encoding="utf-8"))


def blobs(n=240, k=3, p=4, seed=0, far=4):
    rng = np.random.default_rng(seed)
    X = 6 * rng.normal(size=(k, p))[np.arange(n) % k] + rng.normal(size=(n, p))
    X[:far] += 25
    return X
