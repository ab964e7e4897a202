"""The ``powerkmeans`` command: the top of the house, which nothing else imports.

``commands/`` declares options with click and imports nothing heavy, so that help comes at once; what a command
does is imported when it runs.
"""

from __future__ import annotations

import sys

from powerkmeans.support.install import install_line

__all__ = ["main"]

_NEEDED = ("click", "rich")


def main() -> int:
    """Run the command line; the exit code is the answer of ``sys.exit``."""
    try:
        from powerkmeans.cli.app import run  # noqa: PLC0415 - needs click, which may be missing
    except ModuleNotFoundError as error:
        if error.name not in _NEEDED:
            raise
        print(
            f"Error: the powerkmeans command needs {error.name}. Install it: {install_line('cli')}",
            file=sys.stderr,
        )
        return 5
    except KeyboardInterrupt:
        print("Error: Interrupted; nothing was begun.", file=sys.stderr)
        return 130
    return run()
