"""What goes into the source archive and onto an index page: the project, whatever else lies about."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
if not (ROOT / "hatch_build.py").exists():
    pytest.skip("an installed package has no archive", allow_module_level=True)
sdist = pytest.importorskip("hatchling.builders.sdist")

PROJECT = ("src/powerkmeans/__init__.py", "src/powerkmeans/report/report.css", "tests/data/rows.csv", "LICENSE")
STRAY = (
    ".venv-x/lib/tests/test_of_others.py",
    ".venv-x/src/powerkmeans/__init__.py",
    "scratch/src/idea.py",
    "notes/tests/README.md",
    "build/LICENSE",
    "demo_output/README.md",
    "src/powerkmeans/compute/native/cpp/baseline-1-2.so",
    "src/powerkmeans/__pycache__/engines.cpython-311.pyc",
    "tests/.pytest_cache/README.md",
    "tests/.hypothesis/examples/1",
)


def packed(root):
    return {file.distribution_path for file in sdist.SdistBuilder(str(root)).recurse_included_files()}


@pytest.fixture
def hook():
    return runpy.run_path(str(ROOT / "hatch_build.py"))


def test_what_lies_about_stays_out_of_the_archive(tmp_path):
    for name in ("pyproject.toml", "hatch_build.py", "README.md"):
        shutil.copy(ROOT / name, tmp_path)
    for name in (*PROJECT, *STRAY):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text('__version__ = "1"\n')
    assert packed(tmp_path) == {"pyproject.toml", "hatch_build.py", "README.md", *PROJECT}


def test_the_archive_has_files_of_the_repository_alone():
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip("there is no repository here")
    names = packed(ROOT)
    assert names <= set(done.stdout.splitlines())
    assert {"CITATION.cff", "CHANGELOG.md", "tests/release/test_archive.py", "src/powerkmeans/py.typed"} <= names


def test_an_index_page_has_no_links_that_lead_nowhere(hook):
    page = hook["index_page"]
    assert page("![a\nb](docs/a.png)\n\nsee [how](docs/a.md#b) and [`x`](x)") == "see how and `x`"
    assert (
        page("[site](https://a.org) ![b](https://a.org/b.png)")
        == "[site](https://a.org) ![b](https://a.org/b.png)"
    )
    told = page((ROOT / "README.md").read_text(encoding="utf-8"))
    assert "pip install" in told
    assert not re.search(r"\]\((?!https?:)", told)


def test_an_index_page_leads_to_the_address_of_the_project(hook):
    page, address = hook["index_page"], "https://a.org/b"
    assert page("![a\nb](docs/a.png)\n\nsee [how](docs/a.md#b)", address) == (
        f"![a\nb]({address}/raw/main/docs/a.png)\n\nsee [how]({address}/blob/main/docs/a.md#b)"
    )
    assert page("[site](https://c.org) ![b](https://c.org/b.png)", address) == (
        "[site](https://c.org) ![b](https://c.org/b.png)"
    )
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert page("[below](#more)", address) == f"[below]({address}/blob/main/README.md#more)"
    places = re.findall(r"\]\((?!https?:)([^)#]+)", text.replace("](#", "](README.md#"))
    told = re.findall(rf"\]\({address}/(?:blob|raw)/main/([^)#]+)", page(text, address))
    assert told == places
    assert not re.search(r"\]\((?!https?:)", page(text, address))


@pytest.mark.parametrize(("given", "homepage"), [("", None), ("https://a.org/b/", "https://a.org/b")])
def test_a_build_has_the_addresses_that_it_was_given(monkeypatch, given, homepage):
    monkeypatch.setenv("POWERKMEANS_URL", given)
    core = sdist.SdistBuilder(str(ROOT)).metadata.core
    assert core.urls.get("Homepage") == homepage
    assert set(core.urls) == ({"Homepage", "Documentation", "Changelog", "Issues"} if given else set())
    assert ("](https://a.org/b/blob/main/docs/" in core.readme) == bool(given)


@pytest.mark.parametrize("given", ["a.org/b", "http://a.org", "https://", "https://a.org/b?c", "https://a org"])
def test_an_address_that_is_none_stops_the_build(monkeypatch, given):
    monkeypatch.setenv("POWERKMEANS_URL", given)
    with pytest.raises(ValueError, match="POWERKMEANS_URL"):
        _ = sdist.SdistBuilder(str(ROOT)).metadata.core


def test_a_library_for_one_processor_is_not_called_one_for_two(hook, monkeypatch):
    assert hook["platform_tag"]("linux-aarch64") == "linux_aarch64"
    monkeypatch.setattr("platform.machine", lambda: "arm64")
    assert hook["platform_tag"]("macosx-11.0-universal2") == "macosx_11_0_arm64"


def test_the_citation_has_the_version_and_licence_of_the_project():
    texts = ("CITATION.cff", "pyproject.toml", "src/powerkmeans/__init__.py")
    citation, project, package = ((ROOT / name).read_text(encoding="utf-8") for name in texts)
    cited = dict(re.findall(r"^([\w-]+): (\S.*)$", citation, re.MULTILINE))
    assert cited["license"] == tomllib.loads(project)["project"]["license"]
    assert f'__version__ = "{cited["version"]}"' in package
