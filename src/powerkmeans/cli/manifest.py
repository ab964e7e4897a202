"""What one run wrote, told in a file beside it: which results belong together, and whether all are there.

It says that the run has not finished before the first result takes its place, and that it has after the last one,
so whoever reads in between, or after a run that was killed, can tell.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

NAME = "powerkmeans.json"
FORMAT, VERSION = "powerkmeans-run", 1
_MOST_BYTES = 2**20
_CHUNK = 2**20
# folders of a run that was killed, which the next one clears away; nothing else can be named so
LEFT = re.compile(r"\.powerkmeans-[a-z0-9_]+\.(part|old)")


class Entry(NamedTuple):
    """A file as it was written."""

    size: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """The files of a run.

    finished : whether all of them have taken their places
    earlier : while it is not finished, the files of the run before, which are being replaced
    left : while it is not finished, folders that a run leaves behind if it is killed
    going : while it is not finished, results of the run before that are removed
    """

    files: dict[str, Entry]
    finished: bool = True
    earlier: dict[str, Entry] = field(default_factory=dict)
    left: tuple[str, ...] = ()
    going: tuple[str, ...] = ()

    def text(self) -> str:
        """As it is written."""
        content: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "finished": self.finished,
            "files": {name: entry._asdict() for name, entry in self.files.items()},
        }
        if not self.finished:
            content["earlier"] = {name: entry._asdict() for name, entry in self.earlier.items()}
            content["left"] = list(self.left)
            content["going"] = list(self.going)
        return json.dumps(content, indent=2) + "\n"

    def wrote(self, path: Path) -> bool:
        """Whether a file is, to the byte, one that this run or the one before it wrote."""
        known = [files[path.name] for files in (self.files, self.earlier) if path.name in files]
        return bool(known) and os.path.isfile(path) and entry_of(path) in known


def manifest_of(folder: Path) -> Manifest:
    """The files of a folder."""
    return Manifest({path.name: entry_of(path) for path in sorted(folder.iterdir())})


def entry_of(path: Path) -> Entry:
    """Size and hash of a file."""
    digest, size = hashlib.sha256(), 0
    with open(path, "rb", buffering=0) as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
            size += len(chunk)
    return Entry(size, digest.hexdigest())


def read_manifest(folder: Path) -> Manifest | None:
    """What the last run in a folder wrote; None where there was none, or the file is somebody else's."""
    path = folder / NAME
    try:
        if not path.is_file() or path.stat().st_size > _MOST_BYTES:
            return None
        content = json.loads(path.read_bytes())
        if content["format"] != FORMAT or not isinstance(content["finished"], bool):
            return None
        earlier, left = content.get("earlier", {}), content.get("left", [])
        going = tuple(name for name in content.get("going", []) if name in _entries(earlier))
        return Manifest(_entries(content["files"]), content["finished"], _entries(earlier), _folders(left), going)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _entries(found: dict[str, Any]) -> dict[str, Entry]:
    """Entries by their names, which lead nowhere but into the folder itself."""
    named = {name: Entry(int(entry["size"]), str(entry["sha256"])) for name, entry in found.items()}
    return {
        name: entry for name, entry in named.items() if name == os.path.basename(name) and name not in ("", "..")
    }


def _folders(found: list[str]) -> tuple[str, ...]:
    return tuple(name for name in found if LEFT.fullmatch(name))
