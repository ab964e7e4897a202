"""The README's example runs."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np


def test_the_readme_example_runs():
    text = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    names: dict[str, object] = {}
    exec(block, names)
    assert len(np.unique(names["model"].labels_)) == 10
    assert names["clustering_accuracy"](names["y"], names["model"].labels_) > 0.6
    commands = re.findall(r"^make (\w+)", text, flags=re.MULTILINE)
    assert commands == ["demo", "test"]
