"""Results put in their places together: of a run that is killed on the way, readers can tell that it was."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from powerkmeans.cli.earlier import held
from powerkmeans.cli.manifest import NAME, Manifest, manifest_of, read_manifest
from powerkmeans.support.files import beside, hand_down_mode, regular_target


class Step(NamedTuple):
    """A file that takes its place, or goes if there is no new one; what was there is aside until all is done."""

    new: Path | None
    target: Path
    aside: Path


def place_one(new: Path, path: Path) -> None:
    """Give one file its place, in one rename; a link is written through."""
    step = _step(new, path, new.parent)
    assert step.new is not None
    try:
        os.replace(step.new, step.target)
    finally:
        step.new.unlink(missing_ok=True)


def place_together(stage: Path, folder: Path, superseded: Sequence[str]) -> None:
    """Give all files of a stage their places; ``superseded`` are results of an earlier run that go.

    The folder's manifest says that it is unfinished before anything moves and that it is finished when all is
    done. If a move fails, everything is as it was before.
    """
    aside = Path(tempfile.mkdtemp(prefix=".powerkmeans-", suffix=".old", dir=folder))
    before = read_manifest(folder)
    with held(aside):
        _place_all(stage, folder, superseded, aside, before)
    for left in before.left if before is not None else ():
        shutil.rmtree(folder / left, ignore_errors=True)


def _place_all(stage: Path, folder: Path, superseded: Sequence[str], aside: Path, before: Manifest | None) -> None:
    steps: list[Step] = []
    try:
        going = tuple(superseded)
        _plan(
            steps, stage, folder, aside, _unfinished(manifest_of(stage), before, (stage.name, aside.name), going)
        )
        steps[-1:-1] = [Step(None, folder / name, aside / name) for name in superseded]
        _take_all(steps)
    except NotPutBackError as error:
        error.filename = str(aside)
        raise
    except BaseException:
        _clear(steps, aside)
        raise
    _clear(steps, aside)


class NotPutBackError(OSError):
    """A move failed, and what had moved before it could not be put back; it is still aside."""


def _plan(steps: list[Step], stage: Path, folder: Path, aside: Path, begun: Manifest) -> None:
    """Collect what is to be done: the manifest first and last, the files in between."""
    written = Manifest(begun.files)
    for manifest in (begun, written):
        told = aside / ("finished" if manifest.finished else "unfinished")
        told.write_text(manifest.text(), encoding="utf-8")
        step = _step(_synced(told), folder / NAME, aside)
        steps.append(step._replace(aside=step.aside.with_name(f"{step.aside.name}.{told.name}")))
    for name in written.files:
        steps.insert(-1, _step(_synced(stage / name), folder / name, aside))


def _unfinished(
    written: Manifest, before: Manifest | None, left: tuple[str, ...], going: tuple[str, ...]
) -> Manifest:
    if before is None:
        return replace(written, finished=False, left=left, going=going)
    earlier = {**before.earlier, **before.files}
    return replace(written, finished=False, earlier=earlier, left=(*left, *before.left), going=going)


def _take_all(steps: Sequence[Step]) -> None:
    done: list[Step] = []
    try:
        for step in steps:
            done.append(step)
            _take(step)
    except BaseException as error:
        try:
            for step in reversed(done):
                _undo(step)
        except OSError as second:
            raise NotPutBackError(second.errno, second.strerror) from error
        raise


def _step(new: Path, path: Path, aside: Path) -> Step:
    """What a file replaces. Where a link leads elsewhere it is copied there first: renames stay in a folder."""
    target, kept = path, aside / path.name
    if os.path.islink(path):
        target = regular_target(path)
        kept = beside(target)
        new = Path(shutil.copyfile(new, beside(target)))
    if target.exists():
        hand_down_mode(target, new)
    return Step(new, target, kept)


def _take(step: Step) -> None:
    if os.path.lexists(step.target):
        _set_aside(step)
    if step.new is not None:
        os.replace(step.new, step.target)


def _set_aside(step: Step) -> None:
    """Keep what is there under a second name too, so that the first is never without a file."""
    if step.new is not None:
        try:
            os.link(step.target, step.aside)
        except OSError:  # a file system without links
            pass
        else:
            return
    os.replace(step.target, step.aside)


def _undo(step: Step) -> None:
    if os.path.lexists(step.aside):
        os.replace(step.aside, step.target)
    elif step.new is not None and not os.path.lexists(step.new):
        os.replace(step.target, step.new)


def _clear(steps: Sequence[Step], aside: Path) -> None:
    """Remove what was copied and kept, beside the files that links lead to as well."""
    for path in (path for step in steps for path in (step.new, step.aside) if path is not None):
        with suppress(OSError):
            path.unlink(missing_ok=True)
    shutil.rmtree(aside, ignore_errors=True)


def _synced(path: Path) -> Path:
    with open(path, "r+b") as stream:
        os.fsync(stream.fileno())
    return path
