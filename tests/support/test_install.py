"""The line that installs an extra, by how powerkmeans was installed and which pip is on the path."""

from __future__ import annotations

import json
import sys
from importlib import metadata

import pytest

from powerkmeans.support import install
from powerkmeans.support.install import install_line, needed, pip_line

REQUIRES = [
    "numpy>=2.1",
    "pyarrow>=15; extra == 'arrow'",
    'anndata>=0.12; extra == "sc"',
    "mudata>=0.3.1; extra == 'sc'",
    "zarr; extra == 'zarr'",
    "powerkmeans[arrow,cli]; extra == 'test'",
]


@pytest.fixture
def installed(monkeypatch):
    """Pretend that powerkmeans was installed from an address, or from an index, and that pip is on the path."""

    def pretend(address, requires=REQUIRES):
        text = None if address is None else json.dumps({"url": address, "dir_info": {"editable": True}})
        found = type("Found", (), {"requires": requires, "read_text": lambda self, name: text})()
        monkeypatch.setattr(install.metadata, "distribution", lambda name: found)

    monkeypatch.setattr(install.sys, "executable", "/venv/bin/python")
    monkeypatch.setattr(install.shutil, "which", lambda name: "/venv/bin/pip")
    return pretend


def test_what_came_from_an_index_takes_the_extra(installed):
    installed(None)
    assert install_line("arrow") == 'pip install "powerkmeans[arrow]"'


@pytest.mark.parametrize(
    ("extra", "line"),
    [
        ("arrow", 'pip install "pyarrow>=15"'),
        ("sc", 'pip install "anndata>=0.12" "mudata>=0.3.1"'),
        ("zarr", "pip install zarr"),
        ("unknown", 'pip install "powerkmeans[unknown]"'),
    ],
)
@pytest.mark.parametrize("address", ["file:///home/me/power%20kmeans", "file:///tmp/powerkmeans-1.whl"])
def test_what_came_from_a_clone_or_a_file_names_the_packages(installed, address, extra, line):
    installed(address)
    assert install_line(extra) == line


def test_a_folder_on_the_path_is_no_reason_to_fail(installed, monkeypatch):
    def absent(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(install.metadata, "distribution", absent)
    assert install_line("cli") == 'pip install "powerkmeans[cli]"'
    installed("file:///clone", requires=None)
    assert install_line("cli") == 'pip install "powerkmeans[cli]"'


@pytest.mark.parametrize("found", [None, "/usr/bin/pip"])
@pytest.mark.skipif(sys.platform == "win32", reason="paths are quoted otherwise")
def test_the_pip_of_another_python_is_not_named(installed, monkeypatch, found):
    monkeypatch.setattr(install.shutil, "which", lambda name: found)
    monkeypatch.setattr(install.sys, "executable", "/my venv/bin/python")
    assert pip_line("zarr") == "'/my venv/bin/python' -m pip install zarr"


def test_what_no_extra_brings_is_named_by_its_package(installed):
    with pytest.raises(
        ImportError, match=r"^no_such is needed to fly and cannot be imported .*: pip install no-such$"
    ):
        needed("no_such.thing", None, "to fly", package="no-such")
    assert needed("json.decoder", "arrow").JSONDecoder is json.JSONDecoder


def test_the_extras_that_messages_name_are_those_of_the_project():
    extras = metadata.metadata("powerkmeans").get_all("Provides-Extra")
    assert {"arrow", "zarr", "dask", "h5ad", "sc", "cli", "plot"} <= set(extras)
