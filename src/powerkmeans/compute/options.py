"""Which engine users ask for, and how it is to work."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Protocol, cast

from powerkmeans.compute.executors.executor import Executor
from powerkmeans.compute.executors.several import Several
from powerkmeans.compute.executors.threads import Threads
from powerkmeans.compute.executors.torch import Torch
from powerkmeans.support.memory import GIB, can_keep
from powerkmeans.support.tensors import ALL_CARDS, open_devices
from powerkmeans.support.values import integer, shown, word, word_or, wrong

KERNEL_CHOICES = ("auto", "numpy", "compiled")
TORCH_KERNELS = ("auto", "torch")
PRECISIONS = ("float32", "tf32", "bfloat16")
_DEVICE = re.compile(r"cpu|cuda(:\d+)?")
_DEVICES = f"'cpu', 'cuda', 'cuda:0' or another number, '{ALL_CARDS}' for every card, a list of devices, or None"


class EngineOptions(Protocol):
    """What every engine is told: bytes for everything beside the rows, and which passes it may choose from."""

    @property
    def memory_budget(self) -> int | None: ...
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
        the machine or container has less free, features are computed anew in every pass; but those of a graph,
        which are few and take long, go to a temporary file without a name, if the disk has twice the room and the
        budget is not 0. It lies where ``TMPDIR`` says, else in ``/var/tmp``, and ends with the fit. The rest has
        bounds but no switch: a budget of less than some 400 MB may be exceeded, as may any by rows of thousands
        of columns or by dozens of threads (``python -m benchmarks.memory`` measures it). Exact kernel matrices
        are always kept: there is an error if they do not fit in memory.
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
    worker : TorchOptions or None, default=None
        The engine of every worker: on a card of its own, say, where one worker is started for each. ``None`` is
        the processor. Features that workers hold are on their devices then, and count for ``memory_budget``.

    """

    client: Any = None
    rows_per_task: int | None = None
    memory_budget: int | None = None
    kernel: str = "auto"
    worker: TorchOptions | None = None

    @property
    def on_worker(self) -> EngineOptions:
        """What an engine is opened with where a task runs, which is one thread."""
        return NumpyOptions(n_threads=1, kernel=self.kernel) if self.worker is None else self.worker

    def __post_init__(self) -> None:
        if self.worker is not None and not isinstance(self.worker, TorchOptions):
            raise wrong("worker", "TorchOptions(...) or None", self.worker)
        if self.client is not None and not hasattr(self.client, "scheduler_info"):
            raise wrong("client", "a distributed.Client or None", self.client)
        word_or((None,), integer(1), "an int >= 1")("rows_per_task", self.rows_per_task)
        word_or((None,), integer(0), "an int >= 0")("memory_budget", self.memory_budget)
        word(*KERNEL_CHOICES)("kernel", self.kernel)

    def __deepcopy__(self, memo: Any) -> DaskOptions:
        return self  # a client is not copied with an estimator

    def __reduce__(self) -> tuple[Any, ...]:
        return DaskOptions, (
            None,
            self.rows_per_task,
            self.memory_budget,
            self.kernel,
            self.worker,
        )  # nor sent with one


@dataclass(frozen=True)
class TorchOptions:
    """How the engine on a device of PyTorch works: a graphics card, or the processor.

    Tensors choose it by themselves; with these options it works on any rows, which are sent to the device. It
    needs PyTorch (``pip install "powerkmeans[gpu]"``). One device gives the same bits in every run; another one,
    or whether features are stored, changes rounding.

    Parameters
    ----------
    device : str, torch.device, list of these or None, default=None
        ``"cpu"``, ``"cuda"`` or a card by its number, such as ``"cuda:1"``. ``None`` takes the device of tensors
        that come; for other rows a card if there is one, else the processor. A list of cards, or ``"cuda:*"`` for
        all that there are, deals blocks of rows to them in turn: what PyTorch's functions compute has the bits of
        one card then, and kernels, which add up what each card holds, differ by rounding.
    precision : {"float32", "tf32", "bfloat16"}, default="float32"
        How products of rows in single precision are computed: exactly, or by the faster products that a card has,
        of 10 or 7 binary digits. What is added up is always added in double precision, and rows in double
        precision stay in it.
    memory_budget : int or None, default=None
        Bytes that features of all rows may take on the device, or on all devices together; if they take more, they
        are computed anew in every pass. ``None`` is six tenths of what cards have free, 1 GiB on the processor.
    kernel : {"auto", "torch"}, default="auto"
        What computes the sums of a block: the fastest code that takes them, or PyTorch's functions alone.

    """

    device: str | tuple[str, ...] | None = None
    precision: str = "float32"
    memory_budget: int | None = None
    kernel: str = "auto"

    def __post_init__(self) -> None:
        object.__setattr__(self, "device", _named(self.device))
        word(*PRECISIONS)("precision", self.precision)
        word_or((None,), integer(0), "an int >= 0")("memory_budget", self.memory_budget)
        word(*TORCH_KERNELS)("kernel", self.kernel)


def _named(device: Any) -> Any:
    """Devices by their names, those of a list in a tuple; a ``torch.device`` is what files do not keep."""
    if not isinstance(device, list | tuple):
        return _named_one(device)
    names = tuple(str(_named_one(one)) for one in device)
    if not names or None in device or (ALL_CARDS in names and len(names) > 1):
        raise wrong("device", _DEVICES, device)
    if len({name.partition(":")[0] for name in names}) > 1:
        raise wrong("device", "a list of devices of one kind, for which sums have the same bits", device)
    return names if len(names) > 1 else names[0]


def _named_one(device: Any) -> str | None:
    name = str(device) if hasattr(device, "type") and not isinstance(device, str) else device
    if name is not None and not (isinstance(name, str) and (name == ALL_CARDS or _DEVICE.fullmatch(name))):
        raise wrong("device", _DEVICES, device)
    return name


def _torch(options: TorchOptions) -> Executor:
    executors = [Torch(device, options.precision, options.kernel) for device in open_devices(options.device)]
    return executors[0] if len(executors) == 1 else Several(executors)


# which executor works for which options: a new engine is a line here
ENGINES: dict[type, Callable[[Any], Executor]] = {
    NumpyOptions: lambda options: Threads(options.n_threads),
    TorchOptions: _torch,
}


def kept_here(n_bytes: int, choice: object) -> bool:
    """Whether so many bytes may be kept in the memory of this machine, within the budget that ``choice`` has."""
    budget = engine_options(choice).memory_budget
    return can_keep(n_bytes, GIB if budget is None else budget)


def keeps_files(choice: object) -> bool:
    """Whether features that memory has no room for may go to a file.

    A budget of nothing keeps nothing, and a device makes anew what it has no room for.
    """
    options = engine_options(choice)
    return isinstance(options, NumpyOptions) and options.memory_budget != 0


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
