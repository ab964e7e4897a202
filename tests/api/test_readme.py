"""The README's example runs, and prints what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"


def test_the_readme_example_runs(capsys):
    text = README.read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert len([line for line in example.splitlines() if line]) == 8
    exec(example, {})
    promised = re.findall(r"^print.*# (\[[^]]*\]|[0-9.]+),", example, flags=re.MULTILINE)
    assert capsys.readouterr().out.splitlines() == promised


def test_the_readme_is_short_and_names_the_two_commands():
    text = README.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 110
    assert re.findall(r"^make (\w+)", text, flags=re.MULTILINE) == ["demo", "test"]


@pytest.mark.skipif(not (README.parent / "docs").exists(), reason="the source archive has no documentation")
def test_what_the_readme_links_to_is_there():
    text = README.read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", text)
    assert [link for link in links if not (README.parent / link).exists()] == []
