"""How much memory can be had: the machine's, or what a container or a limit of the process leaves of it.

The one probe of the package; every check of sizes asks it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

try:
    import resource
except ImportError:  # not on Windows
    resource = None  # type: ignore[assignment]

GIB = 2**30
# bytes that every machine has to spare: nobody asks the system before they are taken
SPARE_BYTES = 2**28
# bytes that a fit takes besides what it keeps of all rows: hashes, a sample and its features, landmarks with their
# ties, and blocks in work
WORK_BYTES = 3 * 2**27
# numbers that a temporary array may hold; and rows, where a pair of them takes more than a product, or many fits
ENTRIES = 2**24
FEW_ENTRIES = ENTRIES // 8
# rows of the smallest block; and those of a kernel matrix, which are as wide as there are samples
SMALLEST_BLOCK, KERNEL_ROWS = 32, 512
# where control groups of the second version may be mounted, and that of the first version for memory
_SECOND, _FIRST = ("sys/fs/cgroup", "sys/fs/cgroup/unified"), "sys/fs/cgroup/memory"


def available_memory(root: str | os.PathLike[str] = "/") -> int | None:
    """Bytes that can be allocated now without swapping; None where the system does not tell.

    The least of what the machine has free, what every control group around the process still allows (a container
    is such a group), and what ``ulimit -v`` leaves. ``root`` is the folder that holds ``proc`` and ``sys``.
    """
    place = Path(root)
    found = [_of_machine(place), *_of_groups(place), _of_process(place)]
    known = [value for value in found if value is not None]
    return max(0, min(known)) if known else None


def can_keep(n_bytes: int, budget: int) -> bool:
    """Whether so many bytes may be kept of all rows within a budget, and within what the machine has.

    What a fit takes besides has its part of either, at most half.
    """
    if n_bytes > _room(budget):
        return False
    available = available_memory() if n_bytes > SPARE_BYTES else None
    return available is None or n_bytes <= _room(available)


def _room(n_bytes: int) -> int:
    return max(n_bytes // 2, n_bytes - WORK_BYTES)


def _of_machine(root: Path) -> int | None:
    free = _field(root / "proc/meminfo", "MemAvailable:")
    if free is not None:
        return 1024 * free
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


def _of_groups(root: Path) -> Iterator[int | None]:
    """What each group that the process is in still allows, and each group around that."""
    for line in _text(root / "proc/self/cgroup").splitlines():
        number, controllers, path = [*line.split(":", 2), "", ""][:3]
        if number == "0" and not controllers:
            for mount in _SECOND:
                for folder in _upwards(root / mount, path):
                    yield _left(folder, "memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            for folder in _upwards(root / _FIRST, path):
                yield _left(folder, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")


def _upwards(mount: Path, path: str) -> Iterator[Path]:
    """A group's folder and those around it; a container sees its own as the mount, whatever the path says."""
    parts = [part for part in path.split("/") if part not in ("", "..")]
    yield from (mount.joinpath(*parts[:depth]) for depth in range(len(parts), -1, -1))


def _left(folder: Path, limit: str, usage: str, cache: str) -> int | None:
    """A group's limit less what it uses; files that the system keeps at hand but can drop do not count."""
    allowed, used = _number(folder / limit), _number(folder / usage)
    if allowed is None:
        return None
    return allowed - max(0, (used or 0) - (_field(folder / "memory.stat", cache) or 0))


def _of_process(root: Path) -> int | None:
    """What the limit on the process's address space leaves."""
    if resource is None:
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    pages = _text(root / "proc/self/statm").split()
    return limit - (int(pages[0]) * resource.getpagesize() if pages else 0)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""


def _number(path: Path) -> int | None:
    """The number that a file holds; None for ``max``, or if there is no such file."""
    text = _text(path).strip()
    return int(text) if text.isdigit() else None


def _field(path: Path, name: str) -> int | None:
    """The number behind a name in a file of such lines."""
    for line in _text(path).splitlines():
        words = line.split()
        if len(words) > 1 and words[0] == name and words[1].isdigit():
            return int(words[1])
    return None
