"""Files written whole or not at all, and all files of a command or none."""

from __future__ import annotations

import errno
import os
import re
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from powerkmeans.cli.earlier import clear_left, finish_killed, held
from powerkmeans.cli.errors import Exit, UserError
from powerkmeans.cli.manifest import NAME, Manifest, read_manifest
from powerkmeans.cli.placing import NotPutBackError, place_one, place_together
from powerkmeans.cli.spreadsheet import guarded
from powerkmeans.support.escapes import printable
from powerkmeans.support.files import occupied, regular_target
from powerkmeans.support.install import needed

# columns of a table by name, for some rows at a time
Columns = dict[str, NDArray[Any]]

# what may end a cell, or begin a quoted one
_CUTS = re.compile('["\r\n,;\t|]')
TABLES = (".csv", ".tsv", ".parquet")
# what a fit may write, one run or another
RESULTS = ("labels.csv", "labels.parquet", "memberships.csv", "memberships.parquet", "model.npz", "report.html")


class Outputs:
    """The files that a command will write into one folder, checked before any work is done.

    ``inputs`` are files that are read, which are never replaced; ``removed`` those of an earlier run that went.
    """

    def __init__(
        self, folder: str | os.PathLike[str], names: Sequence[str], *, overwrite: bool, inputs: Sequence[str] = ()
    ) -> None:
        self.folder, self.names, self._overwrite = Path(folder), list(names), overwrite
        self._nowhere = not os.fspath(folder)
        self.removed: list[str] = []
        self._inputs = {os.path.realpath(name) for name in inputs}

    def check(self) -> None:
        """Reject what exists, and a folder that cannot be written to."""
        if self._nowhere:
            raise UserError("The name of the output is empty.", Exit.USAGE)
        if self.folder.is_symlink() and not self.folder.exists():
            said = f"{str(self.folder)!r} is a link that leads nowhere; remove it or name another folder."
            raise UserError(said, Exit.OUTPUT)
        self._check_files()
        parent = self.folder
        while not parent.exists() and parent != parent.parent:
            parent = parent.parent
        try:
            with tempfile.TemporaryFile(dir=parent):
                pass
        except OSError as error:
            raise unwritable(self.folder, error) from error

    @contextmanager
    def staged(self) -> Iterator[Path]:
        """A folder to write everything into; what is there at the end gets its place, at once.

        If anything fails nothing is left behind, not even the folder.
        """
        missing = [path for path in (self.folder, *self.folder.parents) if not path.exists()]
        stage: Path | None = None
        try:
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
                stage = Path(tempfile.mkdtemp(prefix=".powerkmeans-", suffix=".part", dir=self.folder))
            except OSError as error:
                raise unwritable(self.folder, error) from error
            with held(stage):
                yield stage
                with _uninterrupted():
                    self._place(stage)
            clear_left(self.folder)
        except BaseException as error:
            with _uninterrupted():
                _cleared(stage, missing)
            if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
                raise unwritable(self.folder, error) from error  # all that is done meanwhile is writing
            raise

    @property
    def _together(self) -> bool:
        """Whether there are several files, which must be of one run."""
        return len(self.names) > 1

    def _is_read(self, name: str) -> bool:
        return os.path.realpath(self.folder / name) in self._inputs

    def _check_files(self) -> None:
        """Reject files that must be kept: those that are read, and those that exist, the manifest too."""
        for name in self.names:
            if self._is_read(name):
                raise UserError(f"{str(self.folder / name)!r} is read from; write to another file.", Exit.OUTPUT)
        finish_killed(self.folder)
        before = read_manifest(self.folder)
        left = "" if before is None or before.finished else ", of a run that has not finished"
        manifest = [NAME] if before is None and self._together else []  # else it is our own
        for name in [*self.names, *self._superseded(before), *manifest]:
            self._check_free(self.folder / name, left)

    def _check_free(self, path: Path, left: str) -> None:
        if not os.path.lexists(path):
            return
        try:
            target = regular_target(path)
        except OSError as error:
            raise UserError(str(error), Exit.OUTPUT) from error
        if occupied(target) and not self._overwrite:
            raise UserError(f"{str(path)!r} exists already{left}; say --overwrite to replace it.", Exit.OUTPUT)

    def _superseded(self, before: Manifest | None) -> list[str]:
        """Results of the run before that this one does not write: they would be taken for its own."""
        if before is None or not self._together:
            return []
        names = [name for name in RESULTS if name not in self.names and not self._is_read(name)]
        return [name for name in names if before.wrote(self.folder / name)]

    def _place(self, stage: Path) -> None:
        self.check()  # nobody else wrote meanwhile
        try:
            if self._together:
                self.removed = self._superseded(read_manifest(self.folder))
                place_together(stage, self.folder, self.removed)
            else:
                place_one(stage / self.names[0], self.folder / self.names[0])
            shutil.rmtree(stage, ignore_errors=True)
        except NotPutBackError as error:
            said = unwritable(self.folder, error)
            raise UserError(f"{said} The files that were there are in {error.filename!r}.", said.code) from error
        except OSError as error:
            raise unwritable(self.folder, error) from error


def _cleared(stage: Path | None, made: list[Path]) -> None:
    if stage is not None:
        shutil.rmtree(stage, ignore_errors=True)
    for folder in made:
        with suppress(OSError):  # not empty, or never made
            folder.rmdir()


def unwritable(folder: Path, error: OSError) -> UserError:
    """What to raise if a folder cannot be written to."""
    reason = error.strerror or str(error) or type(error).__name__
    if error.errno is not None and error.errno in errno.errorcode:
        reason = os.strerror(error.errno)  # Arrow has words of its own
    return UserError(f"Cannot write to {str(folder)!r}: {reason}.", Exit.OUTPUT)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let an interrupt, or being asked to end, wait for the few renames inside."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    caught: list[tuple[int, Any]] = []
    numbers = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    heard = {number: signal.getsignal(number) for number in numbers if callable(signal.getsignal(number))}
    for number in heard:
        signal.signal(number, lambda number, frame: caught.append((number, frame)))
    try:
        yield
    finally:
        for number, handler in heard.items():
            signal.signal(number, handler)
        for number, frame in caught[:1]:
            heard[number](number, frame)  # type: ignore[operator,misc]


def check_table_name(path: str | os.PathLike[str]) -> None:
    """Reject a table's name that does not say its format; what Parquet needs must be there."""
    kind = Path(path).suffix.lower()
    if kind not in TABLES:
        raise UserError(f"{os.fspath(path)!r} must end in one of {', '.join(TABLES)}.", Exit.USAGE)
    if kind == ".parquet":
        needed("pyarrow.parquet", "arrow")


def write_table(path: Path, blocks: Iterator[Columns]) -> None:
    """Write blocks of rows as the extension says."""
    if path.suffix.lower() == ".parquet":
        _write_parquet(path, blocks)
        return
    with open(path, "w", encoding="utf-8", newline="") as stream:
        write_csv(stream, blocks, "\t" if path.suffix.lower() == ".tsv" else ",")


def write_csv(stream: IO[str], blocks: Iterator[Columns], delimiter: str = ",") -> None:
    """Write blocks of rows as text, numbers to six digits; texts so that no spreadsheet runs them.

    On a terminal what would steer it is written out.
    """
    escaped = printable if stream.isatty() else str
    for index, block in enumerate(blocks):
        if index == 0:
            stream.write(delimiter.join(_quoted(guarded(escaped(name))) for name in block) + "\n")
        rows = zip(*(_cells(column, escaped) for column in block.values()), strict=True)
        stream.writelines(delimiter.join(row) + "\n" for row in rows)


def _cells(column: NDArray[Any], escaped: Callable[[str], str]) -> list[str]:
    if isinstance(column, np.ma.MaskedArray):  # nothing where there is no answer
        written = _cells(column.data, escaped)
        return ["" if blank else cell for cell, blank in zip(written, np.ma.getmaskarray(column), strict=True)]
    if column.dtype.kind == "f":
        return [f"{value:.6g}" for value in column.tolist()]
    if column.dtype.kind in "biu":
        return [str(value) for value in column.tolist()]
    return [_quoted(guarded(escaped(str(value)))) for value in column.tolist()]


def _quoted(text: str) -> str:
    """A field that is one cell wherever it is opened: some programs cut at semicolons, all at ends of lines."""
    return '"' + text.replace('"', '""') + '"' if _CUTS.search(text) else text


def _write_parquet(path: Path, blocks: Iterator[Columns]) -> None:
    arrow, parquet = needed("pyarrow", "arrow"), needed("pyarrow.parquet", "arrow")
    writer = None
    try:
        for block in blocks:
            # ids are texts or whole numbers; objects are never anything else
            table = arrow.table({name: _arrow(arrow, column) for name, column in block.items()})
            writer = writer or parquet.ParquetWriter(path, table.schema)
            writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()


def _arrow(arrow: Any, column: NDArray[Any]) -> Any:
    if isinstance(column, np.ma.MaskedArray):
        return arrow.array(column.data, mask=np.ma.getmaskarray(column))
    return column.tolist() if column.dtype == object else column


def id_column(values: NDArray[Any], integers: bool) -> NDArray[Any]:
    """Ids as they are written: whole numbers where they were, else texts."""
    if integers:
        with suppress(OverflowError, ValueError):
            return np.array([int(value) for value in values], dtype=np.int64)
    return values
