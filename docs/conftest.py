"""Which pages have examples that this machine cannot run."""

from __future__ import annotations

from importlib.util import find_spec

collect_ignore = ["conftest.py", *(["gpu.md"] if find_spec("torch") is None else [])]
