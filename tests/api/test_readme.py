"""The README's example runs."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np


def test_the_readme_example_runs():
    text = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    first, second = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    names: dict[str, object] = {}
    exec(first, names)
    assert len(np.unique(names["model"].labels_)) == 10
    assert names["clustering_accuracy"](names["y"], names["model"].labels_) > 0.6
    exec(second, names)
    assert names["clustering_accuracy"](names["y"], names["model"].labels_) > 0.6
    assert names["model"].view_weights_[2] < 0.02
    threshold = np.quantile(names["scores"], 0.98)
    noise = names["model"].predict(names["views"], noise_threshold=threshold) == -1
    assert abs(np.mean(noise) - 0.02) < 0.002
    commands = re.findall(r"^make (\w+)", text, flags=re.MULTILINE)
    assert commands == ["demo", "test"]
