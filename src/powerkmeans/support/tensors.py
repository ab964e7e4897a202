"""Arrays of other libraries, PyTorch first: how they are known, brought here and given back, and its devices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib.util import find_spec
from typing import Any

import numpy as np

from powerkmeans.support.install import needed

# libraries whose arrays can be handed over, but are columns of tables rather than tables
_OTHERS = ("numpy", "pyarrow")
# what stands for every card of a machine
ALL_CARDS = "cuda:*"
# what goes on where kernels don't
PLAIN = "TorchOptions(kernel='torch') takes PyTorch's functions alone, which are slower."
# what DLPack calls the memory of the processor
_PROCESSOR = 1


def torch_module() -> Any:
    """PyTorch, or an error that says how to install it."""
    return needed("torch", "gpu", "for tensors and for engine=TorchOptions(...), not for engine='auto',")


def open_device(name: str | None) -> Any:
    """The device of that name; the first card, or the processor, where none is given."""
    torch = torch_module()
    cards = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if name is None:
        name = "cuda" if cards else "cpu"
    device = torch.device(name)
    if device.type != "cuda":
        return device
    if not cards:
        build = "finds no card" if torch.version.cuda else "is built for processors alone"
        raise ValueError(
            f"device={name!r} is not available: PyTorch {torch.__version__} {build}. Use device='cpu' or "
            "engine='auto' (of a fitted model: model.to_device(None)), or install a driver and a PyTorch for "
            "CUDA: https://pytorch.org/get-started/locally"
        )
    index = torch.cuda.current_device() if device.index is None else device.index
    if index >= cards:
        names = ", ".join(f"'cuda:{number}'" for number in range(cards))
        raise ValueError(f"device={name!r} is not available; this machine has {names}.")
    return torch.device("cuda", index)


def open_devices(names: str | tuple[str, ...] | None) -> list[Any]:
    """The devices of those names, each card once; every card for ``ALL_CARDS``."""
    if names == ALL_CARDS:
        torch = torch_module()
        names = tuple(f"cuda:{index}" for index in range(torch.cuda.device_count())) or "cuda"
    devices = [open_device(name) for name in (names if isinstance(names, tuple) else (names,))]
    cards = [str(device) for device in devices if device.type == "cuda"]
    twice = next((name for name in cards if cards.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"device={list(names or ())!r} has the card '{twice}' twice; name every card once.")
    return devices


def is_foreign(thing: Any) -> bool:
    """Whether something is an array of another library that can be handed over by DLPack, such as a tensor."""
    kind = type(thing)
    return hasattr(kind, "__dlpack__") and kind.__module__.partition(".")[0] not in _OTHERS


def foreign_in(X: Any) -> Any:
    """The first array of another library in what users pass: a table, or several; None if there is none."""
    if is_foreign(X):
        return X
    parts: Iterable[Any] = ()
    if isinstance(X, Mapping):
        parts = X.values()
    elif isinstance(X, (list, tuple)):
        parts = X
    return next(filter(is_foreign, parts), None)


def handed_over(array: Any) -> Any:
    """An array of another library as a tensor; as one of NumPy where it is here and nobody has PyTorch."""
    if _is_tensor(array):
        return array
    if array.__dlpack_device__()[0] == _PROCESSOR and find_spec("torch") is None:
        return np.from_dlpack(array)
    return torch_module().from_dlpack(array)


def on_host(array: Any) -> Any:
    """An array of another library as one of NumPy; anything else as it is."""
    if not is_foreign(array):
        return array
    tensor = handed_over(array)
    return tensor if isinstance(tensor, np.ndarray) else to_numpy(tensor)


def to_numpy(tensor: Any) -> Any:
    """A tensor as an array of NumPy, in its memory if that is here."""
    tensor = tensor.detach().cpu()
    return (tensor.float() if tensor.dtype.itemsize < 4 and tensor.is_floating_point() else tensor).numpy()


def alike(array: Any) -> Callable[[Any], Any]:
    """What makes an array as ``array`` is of one of NumPy: of its library and on its device."""
    if array is None:
        return _unchanged
    return lambda found: _like(found, array)


def _unchanged(found: Any) -> Any:
    return found


def _like(found: Any, array: Any) -> Any:
    """A map of a file stays what it is, as does anything that is no array of NumPy."""
    if type(found) is not np.ndarray:
        return found
    if _is_tensor(array):
        return torch_module().from_numpy(found).to(array.device)
    here = found if array.__dlpack_device__()[0] == _PROCESSOR else _on_device_of(found, array)
    made = _library(array).from_dlpack(here)
    there = getattr(array, "device", None)
    return made if there is None or made.device == there else made.to_device(there)


def _on_device_of(found: Any, array: Any) -> Any:
    torch = torch_module()
    return torch.from_numpy(found).to(torch.from_dlpack(array).device)


def _library(array: Any) -> Any:
    if hasattr(array, "__array_namespace__"):
        return array.__array_namespace__()
    return needed(type(array).__module__.partition(".")[0], None)


def _is_tensor(array: Any) -> bool:
    return type(array).__module__.partition(".")[0] == "torch" or hasattr(array, "requires_grad")
