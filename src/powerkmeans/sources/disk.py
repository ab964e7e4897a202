"""Files on disk: their state, what messages call them, and the errors of those that cannot be read."""

from __future__ import annotations

import os
from collections.abc import Iterable

from powerkmeans.support.escapes import printable

LONGEST_NAME = 40

# size and time of the last change of each file, None for a file that is gone
Stamps = dict[str, tuple[int, int] | None]


class SourceChangedError(RuntimeError):
    """A file is not what it was when it was opened."""


class UnreadableError(ValueError):
    """A file that is damaged, cut off or of another format; ``reason`` is what its reader said, if anything."""

    def __init__(self, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason


def stamps(paths: Iterable[str]) -> Stamps:
    """Size and time of the last change of each file."""
    return {path: _stamp(path) for path in paths}


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        state = os.stat(path)
    except OSError:
        return None
    return state.st_size, state.st_mtime_ns


def shortened(path: str) -> str:
    """A path for messages: all of it if it is short, otherwise its end."""
    path = printable(path.rstrip(os.sep) or path)
    if len(path) <= LONGEST_NAME:
        return path
    head, name = os.path.split(path)
    parent = os.path.basename(head)
    return os.path.join("...", parent, name) if len(parent) + len(name) < LONGEST_NAME else name


def file_name(name: str, path: str, paths: Iterable[str]) -> str:
    """A table's name for messages, and which of its files it is about if it has several."""
    folder = os.path.commonpath([path, *paths])
    return name if folder == path else f"{name}: {os.path.relpath(path, folder)}"


def unreadable(name: str, error: BaseException) -> UnreadableError:
    """What to raise for an error of a reader: one line that names the table."""
    if isinstance(error, OSError) and error.strerror:
        reason = error.strerror
    else:
        reason = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
    reason = reason.rstrip(".")
    return UnreadableError(f"{name} cannot be read; it may be damaged or incomplete: {reason}.", reason)
