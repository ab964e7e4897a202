"""Files to write: regular ones only, whole or not at all, and what exists is kept unless told otherwise."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, NamedTuple

from powerkmeans.support.values import flag

AnyPath = str | os.PathLike[str]

_KINDS = {
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}


class Target(NamedTuple):
    """A file that a caller asked for, and whether one that exists may be replaced."""

    path: AnyPath
    overwrite: bool = False


def regular_target(path: AnyPath) -> Path:
    """Where a file will be written, links followed; reject what is not, or cannot become, a regular file.

    A link to a file is written through: the link stays, and the file that it leads to is replaced.
    """
    given = os.fsdecode(path)
    target = Path(os.path.realpath(given))
    try:
        found = os.stat(target)
    except FileNotFoundError:
        _check_can_become(given, target)
        return target
    except OSError as error:
        raise OSError(error.errno, f"Cannot write the file: {_reason(error)}", given) from error
    if stat.S_ISDIR(found.st_mode) or given.endswith(os.sep):
        raise IsADirectoryError(f"{given!r} is a folder; give the name of a file to write.")
    if not stat.S_ISREG(found.st_mode):
        kind = _KINDS.get(stat.S_IFMT(found.st_mode), "something special")
        raise FileExistsError(f"{given!r} is {kind} and not a regular file; give the name of a file to write.")
    if not os.access(target, os.W_OK):
        raise PermissionError(f"{given!r} is protected against writing; change that, or name another file.")
    return target


def _check_can_become(given: str, target: Path) -> None:
    if os.path.islink(given):
        raise FileNotFoundError(
            f"{given!r} is a link to {str(target)!r}, which does not exist; remove it or name another file."
        )
    if not target.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {str(target.parent)!r} to write {target.name!r} in.")
    if given.endswith(os.sep):
        raise IsADirectoryError(f"{given!r} is the name of a folder; give the name of a file to write.")


def occupied(target: Path) -> bool:
    """Whether there is a file with something in it; an empty one, as of ``tempfile``, holds nothing to keep."""
    return os.path.lexists(target) and os.path.getsize(target) > 0


def free_target(path: AnyPath, *, overwrite: bool = False) -> Path:
    """Where a file will be written; reject one that exists unless it may be replaced."""
    overwrite = flag("overwrite", overwrite)
    target = regular_target(path)
    if not overwrite and occupied(target):
        raise FileExistsError(f"{os.fsdecode(path)!r} exists and is kept; pass overwrite=True to replace it.")
    return target


@contextmanager
def replacing(path: AnyPath, *, overwrite: bool = False, about: str = "the file") -> Iterator[IO[bytes]]:
    """Open a stream whose content takes the name of a file when all of it is written.

    Until then it lies beside the file under another name. If anything fails nothing is left of it, and an older
    file is as it was. A replaced file hands down its permissions.
    """
    target = free_target(path, overwrite=overwrite)
    part = beside(target)
    try:
        with explained(target, about):
            stream = _create(part)
        try:
            yield stream
            with explained(target, about):
                stream.flush()
                os.fsync(stream.fileno())
                stream.close()
        finally:
            with suppress(OSError):
                stream.close()
        free_target(path, overwrite=overwrite)  # nobody else wrote meanwhile
        with explained(target, about):
            _take_name(part, target, overwrite=overwrite)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def beside(target: Path) -> Path:
    """Another name in the folder of a file, short whatever the file is called."""
    return target.with_name(f".powerkmeans-{secrets.token_hex(8)}.part")


def _create(part: Path) -> IO[bytes]:
    return open(part, "xb")


def _take_name(part: Path, target: Path, *, overwrite: bool) -> None:
    if target.exists():
        hand_down_mode(target, part)
    elif not overwrite and _linked(part, target):
        return
    os.replace(part, target)


def _linked(part: Path, target: Path) -> bool:
    """Give a file a name that nobody has; False where the file system has no links."""
    try:
        os.link(part, target)
    except FileExistsError:
        raise FileExistsError(f"{str(target)!r} exists and is kept; pass overwrite=True to replace it.") from None
    except OSError:
        return False
    return True


def hand_down_mode(old: Path, new: Path) -> None:
    """Give a file the permissions of the one that it replaces, where the file system has them."""
    with suppress(OSError):
        os.chmod(new, stat.S_IMODE(os.stat(old).st_mode))


@contextmanager
def explained(target: AnyPath, about: str = "the file") -> Iterator[None]:
    """Say of a failed write which file it was."""
    try:
        yield
    except FileExistsError:
        raise
    except OSError as error:
        message = f"Cannot write {about}: {_reason(error)}"
        raise OSError(error.errno or errno.EIO, message, os.fsdecode(target)) from error


def _reason(error: OSError) -> str:
    return error.strerror or str(error) or type(error).__name__
