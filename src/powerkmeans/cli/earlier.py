"""What earlier runs left in a folder: results to be read, and those of a run that was killed to be put in order.

A run holds a lock on the folders that it works in, so whoever comes later can tell one that was killed from one
that still writes. All files of a run are whole before the first takes its place; so what a killed one has begun is
finished by the next command that looks, and what it had not begun is cleared away.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from powerkmeans.cli.errors import UserError
from powerkmeans.cli.manifest import LEFT, NAME, Entry, Manifest, entry_of, read_manifest

try:
    import fcntl
except ImportError:  # not on Windows, where nothing is told to be nobody's
    fcntl = None  # type: ignore[assignment]


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Keep others from taking a folder for that of a run that was killed."""
    number = _locked(folder)
    try:
        yield
    finally:
        if number is not None:
            os.close(number)


def _locked(folder: Path) -> int | None:
    """A descriptor that locks a folder; None if somebody has it, or there are no locks."""
    if fcntl is None:
        return None
    try:
        number = os.open(folder, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(number)
        return None
    return number


def clear_left(folder: Path) -> None:
    """Remove what runs that were killed hid in a folder, unless it belongs to one that can still be finished."""
    with suppress(OSError):
        for path in list(folder.iterdir()):
            if LEFT.fullmatch(path.name) and path.is_dir() and not path.is_symlink():
                number = _locked(path)
                if number is not None:
                    shutil.rmtree(path, ignore_errors=True)
                    os.close(number)


def finish_killed(folder: Path) -> bool:
    """Finish what a run that was killed has begun; whether it could be done."""
    told = read_manifest(folder)
    if told is None or told.finished or not told.left:
        return False
    numbers = [_locked(folder / left) for left in told.left if (folder / left).is_dir()]
    try:
        if not numbers or None in numbers:
            return False
        moves = _moves(folder, told)
        if moves is None:
            return False
        with suppress(OSError):  # of a folder that one may only read
            _finish(folder, told, moves)
            return True
        return False
    finally:
        for number in numbers:
            if number is not None:
                os.close(number)


def _moves(folder: Path, told: Manifest) -> dict[Path, Path] | None:
    """Where each result that has not taken its place yet lies; None if one is nowhere, or its place is a link."""
    found: dict[Path, Path] = {}
    for name, entry in told.files.items():
        target = folder / name
        if _is(target, entry):
            continue
        waiting = [folder / left / name for left in told.left if _is(folder / left / name, entry)]
        if not waiting or target.is_symlink():
            return None
        found[target] = waiting[0]
    return None if (folder / NAME).is_symlink() else found


def _is(path: Path, entry: Entry) -> bool:
    return path.is_file() and path.stat().st_size == entry.size and entry_of(path) == entry


def _finish(folder: Path, told: Manifest, moves: dict[Path, Path]) -> None:
    for target, waiting in moves.items():
        os.replace(waiting, target)
    for name in told.going:
        if name not in told.files and name in told.earlier and _is(folder / name, told.earlier[name]):
            (folder / name).unlink()
    done = next(folder / left for left in told.left if (folder / left).is_dir()) / "finished"
    done.write_text(replace(told, finished=True).text(), encoding="utf-8")
    os.replace(done, folder / NAME)
    for left in told.left:
        shutil.rmtree(folder / left, ignore_errors=True)


def check_run(path: str | os.PathLike[str]) -> list[str]:
    """Reject a result of a run that has not finished; what to know about one that is not as it was written."""
    folder, name = Path(path).parent, Path(path).name
    manifest = read_manifest(folder)
    if manifest is None or name not in {**manifest.files, **manifest.earlier}:
        return []
    if not manifest.finished and finish_killed(folder):
        manifest = read_manifest(folder) or manifest
    if not manifest.finished:
        raise UserError(
            f"{os.fspath(path)!r} is of a run that has not finished: the files in its folder may be of two runs. "
            "Wait if it still writes; if it was ended, run it again with --overwrite."
        )
    if not os.path.isfile(path):
        return []
    if entry_of(Path(path)) != manifest.files[name]:
        return [
            f"{os.fspath(path)!r} is not as the run in its folder wrote it; the files beside it may not belong."
        ]
    others = [other for other, entry in manifest.files.items() if _differs(folder / other, entry)]
    return [f"{str(folder / other)!r}, beside {name!r}, is not as their run wrote it." for other in others[:1]]


def _differs(path: Path, entry: Entry) -> bool:
    """Whether a file is there and, at a glance, another one than was written."""
    return path.is_file() and path.stat().st_size != entry.size
