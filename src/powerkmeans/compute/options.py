"""Which engine users ask for, and how it is to work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Protocol, cast

from powerkmeans.compute.executors.threads import Threads
from powerkmeans.support.values import integer, shown, word, word_or, wrong
from powerkmeans.types import Executor

KERNEL_CHOICES = ("auto", "numpy", "compiled")


class EngineOptions(Protocol):
    """What every engine is told: bytes for everything beside the rows, and which passes it may choose from."""

    @property
    def memory_budget(self) -> int: ...
    @property
    def kernel(self) -> str: ...


@dataclass(frozen=True)
class NumpyOptions:
    """How the engine on this machine's processor works.

    The number of threads changes no bit of a result; the kernel, and whether features are stored, change rounding.

    Parameters
    ----------
    n_threads : int or None, default=None
        Worker threads. ``None`` takes as many as BLAS is allowed to use, so ``OMP_NUM_THREADS``,
        ``threadpoolctl`` limits and joblib's nested limits are respected.
    memory_budget : int, default=2**30
        Bytes for everything that a fit takes beside the rows themselves. Features, squared lengths and labels of
        all rows are kept if they leave room for the rest, for which 384 MiB, or half of a smaller budget, are set
        aside: a sample of the rows and its features, landmarks, and what threads work on. If they do not, or if
        the machine or container has less free, features are computed anew in every pass. The rest has bounds
        but no switch: a budget of less than some 400 MB may be exceeded, as may any by rows of thousands of
        columns or by dozens of threads (``python -m benchmarks.memory`` measures it). Exact kernel matrices are
        always kept: there is an error if they do not fit in memory.
    kernel : {"auto", "numpy", "compiled"}, default="auto"
        What computes the sums of a block: NumPy, or the compiled library, which is several times faster.
        ``"auto"`` takes the compiled one if it is installed.

    """

    n_threads: int | None = None
    memory_budget: int = 2**30
    kernel: str = "auto"

    def __post_init__(self) -> None:
        word_or((None,), integer(1), "an int >= 1")("n_threads", self.n_threads)
        integer(0)("memory_budget", self.memory_budget)
        word(*KERNEL_CHOICES)("kernel", self.kernel)


@dataclass(frozen=True)
class DaskOptions:
    """How the engine on rows that Dask has works: arrays, data frames, or xarray's arrays of them.

    Such rows choose it by themselves; these options are for the rest. Sums are added in the order of the rows, by
    groups of chunks that the data fix: how many workers there are changes no bit of a result, where their
    processors are alike.

    Parameters
    ----------
    client : distributed.Client or None, default=None
        Whose cluster does the work. ``None`` takes the client that is there, and Dask's threads in this process
        if there is none, or if this is a task of a worker. It is not pickled with an estimator.
    rows_per_task : int or None, default=None
        Rows that a task works on at least: consecutive chunks are bound together until they have so many.
        ``None`` takes as many as a tenth of a second is worth, but no more than 256 MiB of them.
    memory_budget : int or None, default=None
        Bytes that workers may keep of rows and features between passes, all together. What does not fit is made
        anew in every pass. ``None`` takes two fifths of the workers' memory limits, and in this process
        1 GiB.
    kernel : {"auto", "numpy", "compiled"}, default="auto"
        What computes the sums of a block, as in ``NumpyOptions``; each worker chooses by its own processor.

    """

    client: Any = None
    rows_per_task: int | None = None
    memory_budget: int | None = None
    kernel: str = "auto"

    def __post_init__(self) -> None:
        if self.client is not None and not hasattr(self.client, "scheduler_info"):
            raise wrong("client", "a distributed.Client or None", self.client)
        word_or((None,), integer(1), "an int >= 1")("rows_per_task", self.rows_per_task)
        word_or((None,), integer(0), "an int >= 0")("memory_budget", self.memory_budget)
        word(*KERNEL_CHOICES)("kernel", self.kernel)

    def __deepcopy__(self, memo: Any) -> DaskOptions:
        return self  # a client is not copied with an estimator

    def __reduce__(self) -> tuple[Any, ...]:
        return DaskOptions, (None, self.rows_per_task, self.memory_budget, self.kernel)  # nor sent with one


# which executor works for which options: a new engine is a line here
ENGINES: dict[type, Callable[[Any], Executor]] = {NumpyOptions: lambda options: Threads(options.n_threads)}


def dask_options(choice: object) -> DaskOptions:
    """What ``choice`` asks for where rows are with Dask."""
    if isinstance(choice, DaskOptions):
        return choice
    if isinstance(choice, str) and choice in KERNEL_CHOICES:
        return DaskOptions(kernel=choice)
    raise ValueError(
        f"engine={shown(choice)} is not for rows that Dask has; use engine='auto' or {_call(DaskOptions)}, or "
        "bring the rows here: X.compute()."
    )


def checked_engine(choice: object) -> object:
    """What users ask for, as it is, if there is such an engine."""
    engine_options(choice)
    return choice


def engine_options(choice: object) -> EngineOptions:
    """What ``choice`` asks for where rows are here: options as they are, or a kernel by its name."""
    if isinstance(choice, DaskOptions):  # the part of a fit that is done on this machine
        return NumpyOptions(kernel=choice.kernel)
    if type(choice) in ENGINES:
        return cast(EngineOptions, choice)
    if isinstance(choice, str) and choice in KERNEL_CHOICES:
        return NumpyOptions(kernel=choice)
    kernels = ", ".join(map(repr, sorted(KERNEL_CHOICES)))
    options = ", ".join(map(_call, [*ENGINES, DaskOptions]))
    raise ValueError(f"engine={shown(choice)} is not available; this version has {kernels} and {options}.")


def _call(options: type) -> str:
    """How options are made, where users find them."""
    module = "powerkmeans.engines" if options.__module__ == __name__ else options.__module__
    return f"{module}.{options.__name__}({', '.join(f'{field.name}=...' for field in fields(options))})"
