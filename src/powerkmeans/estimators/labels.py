"""Names of columns for fits to plain arrays, which have none: those of the table that they were made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

Labels = Mapping[str, Sequence[str]]

_LABELS: ContextVar[Labels | None] = ContextVar("powerkmeans_labels", default=None)


@contextmanager
def calling_columns(labels: Labels | None) -> Iterator[None]:
    """Let advice of fits that begin inside call columns so, by view; of a single view by whatever it is called."""
    token = _LABELS.set(labels)
    try:
        yield
    finally:
        _LABELS.reset(token)


def called_columns(views: Sequence[str]) -> dict[str, Sequence[str]] | None:
    """What columns of these views are called, None if nobody said."""
    labels = _LABELS.get()
    if labels is None or len(labels) != len(views):
        return None
    return dict(labels) if len(views) > 1 else dict(zip(views, labels.values(), strict=True))
