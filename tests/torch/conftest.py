"""Tests of tensors and of the engine on PyTorch, which is installed for these alone (``make test-torch``)."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
