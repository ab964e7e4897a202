"""Files as they are named on the command line. Nothing heavy is imported here."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from powerkmeans.cli.errors import UserError, usage
from powerkmeans.support.escapes import printable

TEXT = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")


class Given(NamedTuple):
    """A file as it was named: the view it holds, where it is, and what messages call it."""

    name: str
    path: str
    source: str
    explicit: bool


def named_files(arguments: Sequence[str]) -> list[Given]:
    """``path``, ``name=path`` or ``-`` for what is piped in; files must be there and views' names differ."""
    files = [_given(argument) for argument in arguments]
    names = [file.name for file in files]
    for file in files:
        if names.count(file.name) > 1:
            raise usage(f"Two files give a view called {file.name!r}; name them: first={files[0].path} second=...")
    return files


def _given(argument: str) -> Given:
    name, equals, path = argument.partition("=")
    explicit = bool(equals and name and not os.path.exists(argument))
    if not explicit:
        name, path = "", argument
    if path == "-":
        return Given(name or "stdin", path, "standard input", explicit)
    if not os.path.exists(path):
        raise UserError(f"There is no file {path!r}.")
    base = os.path.basename(path.rstrip(os.sep))
    return Given(name or base.removesuffix(extension(base)) or base, path, printable(base), explicit)


def extension(path: str) -> str:
    """The ending that decides how a file is read, with its case."""
    stem, last = os.path.splitext(path)
    return os.path.splitext(stem)[1] + last if last.lower() == ".gz" else last
