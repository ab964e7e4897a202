"""``python -m powerkmeans``."""

from __future__ import annotations

import sys

from powerkmeans.cli import main

if __name__ == "__main__":
    sys.exit(main())
