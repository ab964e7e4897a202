"""The group of commands, and the one place where errors become a sentence and an exit code."""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

import click

import powerkmeans
from powerkmeans.cli.commands import COMMANDS
from powerkmeans.cli.errors import Ended, Exit, UserError
from powerkmeans.support.escapes import printable

DEBUG = "POWERKMEANS_DEBUG"


class Commands(click.Group):
    """A group whose commands never end in a traceback."""

    def list_commands(self, context: click.Context) -> list[str]:
        """In the order in which they are met."""
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; click would give two kinds of errors a meaning that they do not have here."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise Ended(Exit.BROKEN_PIPE) from error
        except EOFError as error:
            raise RuntimeError(f"unexpected end of a file: {error}") from error

    def main(self, args: Any = None, prog_name: Any = None, **extra: Any) -> Any:  # type: ignore[override]
        """Run, and leave with the exit code that the errors module promises."""
        extra["standalone_mode"] = False
        with _told_in_a_sentence(), _ended_by_signals():
            result = super().main(args, prog_name, **extra)
            sys.stdout.flush()
        sys.exit(result if isinstance(result, int) else Exit.DONE)


@click.group(
    cls=Commands,
    commands=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Begin with `powerkmeans demo`, or `powerkmeans fit data.csv -k 5`. "
    "Exit codes: 0 done, 1 failed, 2 usage, 3 data, 4 output, 5 a package is missing, 130 interrupted.",
)
@click.version_option(powerkmeans.__version__, prog_name="powerkmeans")
def app() -> None:
    """Clustering that does not get stuck, over one view or several."""


def run() -> int:
    """Run the command line with the arguments of the process."""
    _use_utf8()
    app.main(prog_name="powerkmeans")
    return Exit.DONE


def _use_utf8() -> None:
    """Write UTF-8 into pipes and files wherever we are; on a terminal, show what it can."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace", encoding=None if stream.isatty() else "utf-8")


@contextmanager
def _told_in_a_sentence() -> Iterator[None]:
    try:
        yield
    except (KeyboardInterrupt, click.Abort):
        _leave("Interrupted; no file is left half-written.", Exit.INTERRUPTED)
    except (Ended, BrokenPipeError) as ended:
        if not isinstance(ended, Ended) or ended.code == Exit.BROKEN_PIPE:
            _close_stdout()
            sys.exit(Exit.BROKEN_PIPE)
        _leave("Ended from outside; no file is left half-written.", ended.code)
    except UserError as error:
        _leave(str(error), error.code, error)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        sys.exit(Exit.USAGE)
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx is not None else "powerkmeans"
        message = error.format_message().rstrip()
        _leave(f"{message}{'' if message[-1:] in '.?' else '.'} See `{path} --help`.", Exit.USAGE, error)
    except click.ClickException as error:
        _leave(error.format_message(), Exit.USAGE, error)
    except OSError as error:  # of stdout, or of something nobody thought of
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        if full:
            _close_stdout()
        what = f"The answer cannot be written: {error.strerror}." if full else _unforeseen(error)
        _leave(what, Exit.OUTPUT if full else Exit.FAILED, error)
    except ImportError as error:
        _leave(str(error), Exit.PACKAGE, error)
    except MemoryError as error:
        _leave(f"Not enough memory. {error}".strip(), Exit.FAILED, error)
    except Exception as error:  # whatever it is, a user gets a sentence
        _leave(_unforeseen(error), Exit.FAILED, error)


def _unforeseen(error: Exception) -> str:
    what = " ".join(str(error).split()) or "no message"
    return f"{type(error).__name__}: {what} (set {DEBUG}=1 for the traceback)"


def _leave(message: str, code: int, error: BaseException | None = None) -> NoReturn:
    """Say one sentence on stderr, and end."""
    if error is not None and os.environ.get(DEBUG):
        raise error
    colour = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    with suppress(BrokenPipeError):
        click.echo(
            f"{click.style('Error:', fg='red') if colour else 'Error:'} {printable(message, keep=chr(10))}",
            err=True,
        )
    sys.exit(code)


def _close_stdout() -> None:
    """Keep the interpreter from complaining about a reader that has gone."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Clean up when the process is asked to end, as when it is interrupted."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: Any) -> None:
        raise Ended(128 + number)

    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {getattr(signal, name): signal.getsignal(getattr(signal, name)) for name in names}
    heard = {number: handler for number, handler in before.items() if handler == signal.SIG_DFL}  # not under nohup
    for number in heard:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in heard.items():
            signal.signal(number, handler)
