"""``python -m powerkmeans.kernels``: compile the kernels where this package is installed."""

from __future__ import annotations

import sys

from powerkmeans.kernels.build import FOLDER, TARGETS, compile_libraries

failure = compile_libraries(FOLDER)
print(failure or f"compiled {', '.join(TARGETS)} into {FOLDER}", file=sys.stderr)
sys.exit(1 if failure else 0)
