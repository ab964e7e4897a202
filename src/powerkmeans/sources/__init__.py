"""Tables of numbers that stay on disk and are read block by block, and rows written as they arrive."""

from __future__ import annotations

from powerkmeans.sources.ahead import read_ahead
from powerkmeans.sources.chosen import choose_rows, in_memory
from powerkmeans.sources.disk import SourceChangedError, UnreadableError
from powerkmeans.sources.joined import join_views
from powerkmeans.sources.opening import open_source
from powerkmeans.sources.output import check_target, write_rows
from powerkmeans.sources.source import Source, is_source
from powerkmeans.sources.unit import unit_rows, unit_table

__all__ = [
    "Source",
    "SourceChangedError",
    "UnreadableError",
    "check_target",
    "choose_rows",
    "in_memory",
    "is_source",
    "join_views",
    "open_source",
    "read_ahead",
    "unit_rows",
    "unit_table",
    "write_rows",
]
