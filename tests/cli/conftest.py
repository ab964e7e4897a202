from __future__ import annotations

from typing import Any

import pytest
from click.testing import CliRunner
from command_helpers import QUICK, Result, ids, rows, write_csv

from powerkmeans.cli.app import app

collect_ignore = ["conftest.py"]  # two modules of one name cannot both be searched for examples


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a command in a folder of its own; fits anneal quickly."""
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments: object, **options: Any) -> Result:
        given = [str(argument) for argument in arguments]
        if given[:1] == ["fit"] and "--config" not in given:  # a file may set parameters, which ours would replace
            given += QUICK
        done = CliRunner().invoke(app, given, **options)
        return Result(done.exit_code, done.stdout, done.stderr)

    return invoke


@pytest.fixture
def table(tmp_path):
    """Three clear clusters in four columns of different units, with ids, as text."""
    return write_csv(tmp_path / "rows.csv", ids(), *rows())
