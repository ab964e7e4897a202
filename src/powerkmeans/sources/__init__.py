"""Tables of numbers that stay on disk and are read block by block, and rows written as they arrive."""

from __future__ import annotations

from powerkmeans.sources.base import Source, SourceChangedError
from powerkmeans.sources.opening import open_source
from powerkmeans.sources.output import check_target, write_rows
from powerkmeans.sources.stream import read_ahead

__all__ = ["Source", "SourceChangedError", "check_target", "open_source", "read_ahead", "write_rows"]
