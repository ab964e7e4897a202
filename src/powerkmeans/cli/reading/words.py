"""What the command says of files that cannot be read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from powerkmeans.cli.errors import UserError
from powerkmeans.sources import SourceChangedError, UnreadableError


@contextmanager
def told_of(source: str) -> Iterator[None]:
    """Say in a sentence what is wrong with a file."""
    try:
        yield
    except PermissionError as error:
        raise UserError(f"{source} cannot be read: you have no permission.") from error
    except OSError as error:
        raise UserError(f"{source} cannot be read: {error.strerror or error}.") from error
    except MemoryError as error:  # some readers believe whatever size a damaged file tells them
        said = f"{source} cannot be read: it asks for more memory than there is. It may be damaged."
        raise UserError(said) from error
    except UnreadableError as error:
        raise UserError(f"{source} cannot be read: {error.reason}." if error.reason else str(error)) from error
    except SourceChangedError as error:
        raise UserError(str(error)) from error


def check_not_empty(path: str, source: str) -> None:
    """Reject a file without a byte."""
    if not os.path.isdir(path) and os.path.getsize(path) == 0:
        raise UserError(f"{source} is empty (0 bytes).")
