"""Triton's kernels without a card: interpreted, row by row, so shapes are small."""

import os

import pytest

os.environ["TRITON_INTERPRET"] = "1"  # before anything imports Triton

pytest.importorskip("torch")
pytest.importorskip("triton")
