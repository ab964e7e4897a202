"""scikit-learn's callback support where the installed version has it (1.9 on), and nothing where not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

__all__ = ["CallbackSupportMixin", "with_callbacks"]

F = TypeVar("F")

if TYPE_CHECKING:

    class CallbackSupportMixin:
        """What type checkers see of scikit-learn's untyped mixin."""

    def with_callbacks(method: F) -> F:
        """Run a fit so that callbacks are always torn down."""
        return method
else:
    try:
        from sklearn.callback import CallbackSupportMixin, with_callbacks
    except ImportError:

        class CallbackSupportMixin:
            """Stands in for scikit-learn's mixin before 1.9."""

        def with_callbacks(method: Any) -> Any:
            """Leave the method as it is."""
            return method
