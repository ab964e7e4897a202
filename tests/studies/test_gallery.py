"""The scripts of the gallery run, without a warning, and draw something."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

plt = pytest.importorskip("matplotlib.pyplot", reason="pictures need powerkmeans[plot]")
SCRIPTS = sorted((Path(__file__).parents[2] / "examples" / "gallery").glob("plot_*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_of_the_gallery_runs(script, capsys):
    before = plt.get_backend()
    plt.switch_backend("agg")
    try:
        runpy.run_path(str(script))
        assert plt.get_fignums()
    finally:
        plt.close("all")
        plt.switch_backend(before)
    assert script.read_text().startswith('"""\n')  # a title, which the site needs


def test_there_is_a_gallery():
    if not (Path(__file__).parents[2] / "examples").exists():
        pytest.skip("the archive has no examples")
    assert len(SCRIPTS) >= 5


@pytest.mark.parametrize(
    "page", sorted((Path(__file__).parents[2] / "docs").glob("*.md")), ids=lambda path: path.stem
)
def test_every_python_block_of_the_documentation_is_run(page):
    blocks = page.read_text().split("```python\n")[1:]
    assert all(block.startswith(">>> ") for block in blocks)
    assert all(
        block.split("```")[0].endswith("\n\n") for block in blocks
    )  # or the end of it would count as output
