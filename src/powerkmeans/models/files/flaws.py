"""What is wrong with a model file, told by whoever finds it; who opened the file adds its name."""

from __future__ import annotations


class Flaw(Exception):  # noqa: N818 - never seen outside: see exceptions.ModelFileError
    """The file is that of a model, but what it holds cannot be."""


class NotAModel(Flaw):
    """The file is none of ours, or was damaged as a whole."""
