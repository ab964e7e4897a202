"""Tensors of PyTorch, which not everyone has: the module when it is needed, and its devices."""

from __future__ import annotations

from typing import Any

from powerkmeans.support.install import needed


def torch_module() -> Any:
    """PyTorch, or an error that says how to install it."""
    return needed("torch", "gpu", "for tensors and for engine=TorchOptions(...)")


def open_device(name: str | None) -> Any:
    """The device of that name; the first card, or the processor, where none is given."""
    torch = torch_module()
    cards = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if name in (None, "auto"):
        name = "cuda" if cards else "cpu"
    device = torch.device(name)
    if device.type != "cuda":
        return device
    if not cards:
        build = "finds no card" if torch.version.cuda else "is built for processors alone"
        raise ValueError(
            f"device={name!r} is not available: PyTorch {torch.__version__} {build}. Use device='cpu', or install "
            "a driver and a PyTorch for CUDA: https://pytorch.org/get-started/locally"
        )
    index = torch.cuda.current_device() if device.index is None else device.index
    if index >= cards:
        names = ", ".join(f"'cuda:{number}'" for number in range(cards))
        raise ValueError(f"device={name!r} is not available; this machine has {names}.")
    return torch.device("cuda", index)
