"""Links to the files that belong to a page."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Set
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from powerkmeans.report.markup import Markup, join, plain_text, tag
from powerkmeans.support.values import naming, wrong
from powerkmeans.support.values import path as check_path

# what files hold, by how their names begin or end
_BEGINNINGS = {"labels": "the cluster of each sample", "memberships": "how much each sample is of every cluster"}
_ENDINGS = {".npz": "the model, for new samples", ".html": "another page"}


def check_links(files: Any, page: str | os.PathLike[str]) -> tuple[str, ...]:
    """Paths of files from the folder of the page, with slashes, without the page itself."""
    if isinstance(files, (str, bytes, os.PathLike, Mapping, Set)) or not isinstance(files, Iterable):
        raise wrong("files", "a sequence of paths", files)
    folder, found = os.path.dirname(os.path.abspath(page)), []
    with naming("files"):
        files = list(files)
    for file in files:
        path = os.fspath(check_path("files", file))
        path = os.path.relpath(path, folder) if os.path.isabs(path) else path
        found.append(PurePath(path).as_posix())
    return tuple(dict.fromkeys(link for link in found if link != os.path.basename(page)))


def model_file(files: tuple[str, ...]) -> str | None:
    """The file of the model, if there is one."""
    return next((file for file in files if file.endswith(".npz")), None)


def file_list(files: tuple[str, ...]) -> Markup:
    """One link a line, with what the file holds."""
    return tag("ul", *(tag("li", *_line(file)) for file in files), class_="files")


def _line(file: str) -> tuple[Markup, ...]:
    name = PurePath(file).name
    told = next((text for start, text in _BEGINNINGS.items() if name.startswith(start)), None)
    told = told or _ENDINGS.get(PurePath(file).suffix, "")
    link = tag(
        "a", plain_text(file), href=quote(file, errors="replace")
    )  # a colon would make a scheme of what stands before it
    return (link, join(f": {told}")) if told else (link,)
