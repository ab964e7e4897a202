"""Rows of results in a file that grows: a killed run loses the fit in progress, and a new one goes on there."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks import report

Row = dict[str, Any]
KEYS = ("data", "scaling", "method", "column", "setting", "seed")
Key = tuple[Any, ...]


def setting_text(setting: dict[str, Any]) -> str:
    """A setting in a line, the same for the same setting; "defaults" for none."""
    return ", ".join(f"{name}={value:g}" for name, value in sorted(setting.items())) or "defaults"


def key_of(row: Row, keys: Sequence[str] = KEYS) -> Key:
    """What makes a row the only one of its kind."""
    return tuple(setting_text(row[key]) if key == "setting" else row[key] for key in keys)


class Store:
    """JSON lines with a line about the machine per run; of two rows with the same key the later one counts."""

    def __init__(self, name: str, keys: Sequence[str] = KEYS) -> None:
        self.path, self.keys = report.RESULTS / f"{name}.jsonl", keys
        self.rows: dict[Key, Row] = {key_of(row, keys): row for row in read_rows(self.path, keys)}
        self._started = False

    def discard(self, unwanted: Callable[[Row], bool]) -> None:
        """Take rows out of the file, whole or not at all, so that they are run again."""
        self.rows = {key: row for key, row in self.rows.items() if not unwanted(row)}
        if self.path.exists():
            report.write_lines(self.path.stem, self.rows.values())

    def forget(self, keys: Iterable[Key], only_errors: bool = False) -> None:
        """Take the rows of these keys out, or those of them that say an error, so that they are run again."""
        unwanted = {key for key in keys if key in self.rows and ("error" in self.rows[key] or not only_errors)}
        if unwanted:
            self.discard(lambda row: key_of(row, self.keys) in unwanted)

    def add(self, row: Row) -> None:
        """Keep a row and write it at once."""
        lines = [row] if self._started else [report.machine(), row]
        if not self._started:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            end_at_line(self.path)
        with self.path.open("a") as file:
            file.write("".join(json.dumps(line) + "\n" for line in lines))
        self._started = True
        self.rows[key_of(row, self.keys)] = row

    def of(self, wanted: Iterable[Key]) -> list[Row]:
        """The rows of these keys, as far as there are any."""
        return [self.rows[key] for key in wanted if key in self.rows]


def read_rows(path: Path, keys: Sequence[str] = KEYS) -> list[Row]:
    """All whole rows of a file, without the lines about the machine; a half-written one is left out."""
    rows = []
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            continue
        if isinstance(row, dict) and all(key in row for key in keys):
            rows.append(row)
    return rows


def end_at_line(path: Path) -> None:
    """Take off what a killed run left half written."""
    text = path.read_bytes() if path.exists() else b""
    if text and not text.endswith(b"\n"):
        with path.open("r+b") as file:
            file.truncate(text.rfind(b"\n") + 1)
