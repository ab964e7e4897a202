"""Tests of tensors and of the engine on PyTorch, which is installed for these alone (``make test-torch``)."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

collect_ignore = ["conftest.py"]  # two modules of one name cannot both be searched for examples
collect_ignore_glob = [] if find_spec("torch") is not None else ["test_*.py"]


@pytest.fixture(autouse=True)
def _as_on_a_card(monkeypatch):
    """Let tensors choose PyTorch here as those of a card do; ``test_tensors_here.py`` tests what users get."""
    monkeypatch.setattr("powerkmeans.compute.engine._is_processor", lambda device: False)
