from __future__ import annotations

from typing import Any

import pytest
from click.testing import CliRunner
from command_helpers import Result, ids, rows, write_csv

from powerkmeans.cli.app import app


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a command in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments: object, **options: Any) -> Result:
        done = CliRunner().invoke(app, [str(argument) for argument in arguments], **options)
        return Result(done.exit_code, done.stdout, done.stderr)

    return invoke


@pytest.fixture
def table(tmp_path):
    """Three clear clusters in four columns of different units, with ids, as text."""
    return write_csv(tmp_path / "rows.csv", ids(), *rows())
