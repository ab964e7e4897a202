"""Which files are broken, and which tests each is put before, the quickest first."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

from benchmarks.mutants import cpp_sites, python_sites
from benchmarks.mutants.mutant import Mutant, named

ROOT = Path(__file__).parents[2]
PACKAGE = "src/powerkmeans"
_PASSES = ("tests/compute/test_kernels.py", "tests/compute/test_answers.py", "tests/engines/test_conformance.py")
_GRAPH = (
    "tests/features/test_graph.py",
    "tests/features/test_graph_choice.py",
    "tests/models/test_graph_files.py",
)
_MAPS = (
    "tests/features/test_features.py",
    "tests/features/test_kernel_values.py",
    "tests/features/test_maps_conformance.py",
)
_FITS = ("tests/test_fits.py",)


class Room(NamedTuple):
    """Files of a folder of the package, their share of all mutants, and tests: of any file, and of some first."""

    folder: str
    pattern: str
    share: int
    tests: tuple[str, ...]
    first: dict[str, tuple[str, ...]]


ROOMS = {
    "objective": Room(
        "objective",
        "*.py",
        20,
        (
            "tests/objective/test_distances.py",
            "tests/solver/test_solver.py",
            "tests/objective/test_membership.py",
            "tests/objective/test_membership_conformance.py",
            "tests/objective/test_portable.py",
            "tests/objective/test_power_mean.py",
            "tests/test_against_oracle.py",
            *_FITS,
        ),
        {"space": ("tests/fitting/test_exact.py",)},
    ),
    "solver": Room(
        "solver",
        "*.py",
        20,
        (
            "tests/solver/test_solver.py",
            "tests/solver/test_last_sums.py",
            "tests/test_against_oracle.py",
            *_FITS,
        ),
        {
            "critical": ("tests/choose/test_critical.py",),
            **dict.fromkeys(("relocate", "release", "holdings"), ("tests/solver/test_moves.py",)),
        },
    ),
    "compute": Room(
        "compute",
        "*.py",
        15,
        (
            "tests/compute/test_sampling.py",
            "tests/engines/test_conformance.py",
            "tests/api/test_toy_engine.py",
            "tests/api/test_source_input.py",
        ),
        {
            "arguments": ("tests/compute/test_arguments.py", *_PASSES, "tests/compute/test_landmarks.py"),
            "compiled": ("tests/compute/test_arguments.py", *_PASSES, "tests/compute/test_landmarks.py"),
            "structures": _PASSES,
            "library": ("tests/compute/test_libraries.py",),
            "build": ("tests/compute/test_libraries.py",),
            "__main__": ("tests/compute/test_libraries.py",),
            "cluster": ("tests/cluster/test_input.py", "tests/cluster/test_cluster.py"),
            "parts": ("tests/cluster/test_input.py", "tests/cluster/test_cluster.py"),
            "lazy": ("tests/cluster/test_input.py", "tests/cluster/test_cluster.py"),
            "dask": ("tests/cluster/test_input.py", "tests/cluster/test_cluster.py"),
            "progress": ("tests/estimators/test_progress.py",),
        },
    ),
    "features": Room(
        "features",
        "*.py",
        20,
        (*_MAPS, *_FITS),
        {
            **dict.fromkeys(
                ("agreement", "build", "choice", "distances", "edge", "neighbours", "placing"), _GRAPH
            ),
            **dict.fromkeys(("shares", "spectrum", "votes", "graph"), _GRAPH),
            "averages": ("tests/features/test_averages.py",),
            "map_error": ("tests/features/test_landmark_size.py",),
            "size": ("tests/features/test_landmark_size.py", "tests/support/test_memory.py"),
            "exact": ("tests/fitting/test_exact.py", "tests/fitting/test_exact_matrices.py"),
        },
    ),
    "native": Room(
        "compute/native/cpp",
        "*.[hc]*",
        15,
        (
            "tests/compute/test_kernels.py",
            "tests/compute/test_answers.py",
            "tests/compute/test_fuzz_shapes.py",
            "tests/compute/test_nearest.py",
            "tests/compute/test_landmarks.py",
        ),
        {
            "nearest": ("tests/compute/test_nearest.py",),
            "landmarks": ("tests/compute/test_landmarks.py",),
        },
    ),
    "fitting": Room(
        "fitting",
        "*.py",
        10,
        (
            "tests/fitting/test_fit.py",
            "tests/choose/test_critical.py",
            "tests/solver/test_last_sums.py",
            "tests/fitting",
            "tests/inputs/test_missing_views.py",
            "tests/properties/test_views.py",
            *_FITS,
        ),
        {
            "checkpoints": ("tests/fitting/test_checkpoints.py",),
            "progress": ("tests/estimators/test_progress.py",),
            "listener": ("tests/estimators/test_progress.py",),
        },
    ),
}


def tests_of(mutant: Mutant) -> tuple[str, ...]:
    """The tests that a mutant is put before, none twice."""
    room = ROOMS[mutant.room]
    chosen = (*room.first.get(Path(mutant.path).stem, ()), *room.tests)
    return tuple(dict.fromkeys(chosen))


@cache
def sources() -> dict[str, str]:
    """The texts of all files that may be broken, by their paths."""
    files = [file for room in ROOMS.values() for file in _files(room)]
    return {str(file.relative_to(ROOT)): file.read_text() for file in files}


@cache
def all_mutants(room: str) -> tuple[Mutant, ...]:
    """Everything that may be changed in a room."""
    search = python_sites.sites if ROOMS[room].pattern == "*.py" else cpp_sites.sites
    paths = [str(file.relative_to(ROOT)) for file in _files(ROOMS[room])]
    return tuple(mutant for path in paths for mutant in named(room, path, search(sources()[path])))


def drawn(room: str, count: int, seed: int) -> list[Mutant]:
    """So many mutants of a room, by turns of each operator, the same for the same seed."""
    waiting: dict[str, list[Mutant]] = {}
    for mutant in sorted(all_mutants(room), key=lambda mutant: mutant.rank(seed), reverse=True):
        waiting.setdefault(mutant.site.operator, []).append(mutant)
    chosen: list[Mutant] = []
    while len(chosen) < count and any(waiting.values()):
        chosen += [mutants.pop() for _, mutants in sorted(waiting.items()) if mutants]
    return chosen[:count]


def _files(room: Room) -> list[Path]:
    return sorted((ROOT / PACKAGE / room.folder).rglob(room.pattern))
