"""Tests of tensors and of the engine on PyTorch, which is installed for these alone (``make test-torch``)."""

from __future__ import annotations

from importlib.util import find_spec

collect_ignore = ["conftest.py"]  # two modules of one name cannot both be searched for examples
collect_ignore_glob = [] if find_spec("torch") is not None else ["test_*.py"]
