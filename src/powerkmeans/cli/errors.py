"""What ends a command: one error class for what users can mend, and the exit codes that scripts rely on."""

from __future__ import annotations

import difflib
import enum


class Exit(enum.IntEnum):
    """Exit codes; ``docs/command_line.md`` lists them too."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    DATA = 3
    OUTPUT = 4
    PACKAGE = 5
    INTERRUPTED = 130
    BROKEN_PIPE = 141
    TERMINATED = 143


class UserError(Exception):
    """Something the user can mend, said in one sentence, and the exit code it ends with."""

    def __init__(self, message: str, code: Exit = Exit.DATA) -> None:
        super().__init__(message)
        self.code = code


class Ended(BaseException):
    """The system asked the process to end: clean up, and exit with this code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def usage(message: str) -> UserError:
    """A wrong option or argument."""
    return UserError(message, Exit.USAGE)


def listed(names: list[str] | tuple[str, ...], most: int = 5) -> str:
    """Names for a message, the first few of them."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def counted(number: int, noun: str) -> str:
    """A number and what it counts: 1 row, 2 rows."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def near(name: str, known: list[str] | tuple[str, ...]) -> str:
    """What a name may have been meant to be, as the end of a sentence; empty if nothing is like it."""
    folded = {other.casefold(): other for other in reversed(known)}
    matches = difflib.get_close_matches(name.casefold(), folded, n=3, cutoff=0.6)
    alike = [difflib.SequenceMatcher(None, match, name.casefold()).ratio() for match in matches]
    found = [repr(folded[match]) for match, ratio in zip(matches, alike, strict=True) if ratio > alike[0] - 0.05]
    return f"; did you mean {' or '.join(found)}?" if found else ""
