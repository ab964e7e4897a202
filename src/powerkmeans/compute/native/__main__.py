"""``python -m powerkmeans.compute.native``: compile the kernels where this package is installed, or elsewhere."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from powerkmeans.compute.native.build import FOLDER, TARGETS, compile_libraries
from powerkmeans.compute.native.library import find_target, why_missing

# an error found ends the process, so that no test can pass over it
SANITIZED = ("-O1", "-g", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def main() -> int:
    """Compile, open what was compiled, and say how it went."""
    parser = argparse.ArgumentParser(
        prog="python -m powerkmeans.compute.native", description="Compile the kernels."
    )
    parser.add_argument(
        "--into", type=Path, default=FOLDER, help="folder for the libraries (default: the package)"
    )
    parser.add_argument(
        "--sanitized", action="store_true", help="with checks of memory and of undefined behaviour"
    )
    chosen = parser.parse_args()
    failure = compile_libraries(chosen.into, SANITIZED if chosen.sanitized else ())
    if failure is None and not chosen.sanitized:  # which opens only beneath the sanitizers' own libraries
        os.environ["POWERKMEANS_NATIVE"] = str(chosen.into)
        failure = None if find_target() else why_missing()
    print(failure or f"compiled {', '.join(TARGETS)} into {chosen.into}", file=sys.stderr)
    return 1 if failure else 0


if __name__ == "__main__":
    sys.exit(main())
