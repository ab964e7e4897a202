"""Which files are broken, and which tests each is put before, the quickest first."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

from benchmarks.mutants import cpp_sites, python_sites
from benchmarks.mutants.mutant import Mutant, named

ROOT = Path(__file__).parents[2]
PACKAGE = "src/powerkmeans"
# of the fits that are recorded, quick ones that between them go through all maps, memberships and forms of views
_FITS = tuple(
    f"tests/test_fits.py::test_a_fit_gives_what_it_gave[{name}]"
    for name in ("iris", "exact", "weighted", "within", "missing views", "views of several maps", "default, rings")
)
_LITERAL = "tests/test_against_oracle.py::test_algorithm_2_with_missing_views_and_weights"
_GRAPH = ("tests/features/test_graph.py", "tests/features/test_graph_choice.py", *_FITS[-1:])
_NEIGHBOURS = ("tests/compute/test_nearest.py", "tests/features/test_graph.py")
_EXACT = ("tests/fitting/test_exact.py", "tests/fitting/test_exact_matrices.py", *_FITS[1:2])
_CALLS = (
    "tests/compute/test_arguments.py",
    "tests/compute/test_fuzz_shapes.py",
    "tests/compute/test_landmarks.py",
    "tests/compute/test_nearest.py",
)
_LIBRARIES = ("tests/compute/test_landmarks.py", "tests/compute/test_libraries.py")
# a room of their own, whose tests need no other processes: those that do take minutes a mutant
_ON_DASK = ("cluster", "parts", "lazy", "dask")
_MOVES = ("tests/solver/test_moves.py", "tests/fitting/test_fit.py", *_FITS)


class Room(NamedTuple):
    """Files of a folder of the package, how many of 230 mutants are theirs, tests of single files and others."""

    folder: str
    pattern: str
    share: int
    tests: tuple[str, ...]
    special: dict[str, tuple[str, ...]]
    on_dask: bool = False


ROOMS = {
    "objective": Room(
        "objective",
        "*.py",
        62,
        (
            "tests/solver/test_solver.py",
            "tests/objective/test_told.py",
            "tests/objective/test_distances.py",
            "tests/objective/test_membership_conformance.py",
            "tests/objective/test_membership.py",
            "tests/objective/test_power_mean.py",
            "tests/objective/test_portable.py",
            "tests/engines/test_conformance.py::test_statistics_are_the_literal_sums",
            _LITERAL,
            *_FITS,
        ),
        {"space": _EXACT, "evidence": ("tests/objective/test_told.py", "tests/objective/test_portable.py")},
    ),
    "solver": Room(
        "solver",
        "*.py",
        62,
        ("tests/solver/test_solver.py", "tests/solver/test_last_sums.py", _LITERAL, *_FITS),
        dict.fromkeys(("relocate", "release", "holdings"), _MOVES),
    ),
    "compute": Room(
        "compute",
        "*.py",
        20,
        (
            "tests/compute/test_sampling.py",
            "tests/engines/test_blas.py",
            "tests/engines/test_conformance.py",
            "tests/api/test_source_input.py",
        ),
        {
            **dict.fromkeys(("arguments", "compiled", "structures"), _CALLS),
            **dict.fromkeys(("library", "build", "__main__"), _LIBRARIES),
            "progress": ("tests/estimators/test_progress.py",),
        },
    ),
    "features": Room(
        "features",
        "*.py",
        40,
        (
            "tests/features/test_features.py",
            "tests/features/test_kernel_values.py",
            "tests/features/test_maps_conformance.py",
            *_FITS,
        ),
        {
            **dict.fromkeys(("agreement", "build", "choice", "edge", "placing"), _GRAPH),
            **dict.fromkeys(("shares", "spectrum", "votes"), _GRAPH),
            "graph": ("tests/models/test_graph_files.py", *_GRAPH),
            **dict.fromkeys(("distances", "neighbours"), _NEIGHBOURS),
            "averages": ("tests/features/test_averages.py",),
            **dict.fromkeys(("map_error", "size"), ("tests/features/test_landmark_size.py",)),
            "exact": _EXACT,
        },
    ),
    "native": Room(
        "compute/native/cpp",
        "*.[hc]*",
        24,
        (
            "tests/compute/test_fuzz_shapes.py",
            "tests/compute/test_landmarks.py",
            "tests/compute/test_nearest.py",
            "tests/compute/test_kernels.py",
            "tests/compute/test_answers.py",
        ),
        {
            "nearest": ("tests/compute/test_nearest.py",),
            "landmarks": ("tests/compute/test_landmarks.py",),
            "pass": (
                "tests/compute/test_fuzz_shapes.py",
                "tests/compute/test_answers.py",
                "tests/compute/test_kernels.py",
            ),
        },
    ),
    "fitting": Room(
        "fitting",
        "*.py",
        10,
        (
            "tests/fitting/test_small_parts.py",
            "tests/fitting/test_fit.py",
            "tests/solver/test_last_sums.py",
            "tests/inputs/test_missing_views.py",
            "tests/estimators/test_progress.py",
            *_FITS,
        ),
        {
            "checkpoints": ("tests/fitting/test_checkpoints.py",),
            "progress": ("tests/estimators/test_progress.py",),
            "listener": ("tests/fitting/test_small_parts.py", "tests/estimators/test_progress.py"),
            "explicit": _EXACT,
            "fused": ("tests/fitting/test_small_parts.py", *_GRAPH),
        },
    ),
    "cluster": Room(
        "compute", "*.py", 12, ("tests/cluster/test_sizes.py", "tests/cluster/test_input.py"), {}, on_dask=True
    ),
}


def chosen_tests(mutant: Mutant) -> tuple[str, ...]:
    """The tests that a mutant is put before."""
    room = ROOMS[mutant.room]
    return room.special.get(Path(mutant.path).stem, room.tests)


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
    found = (ROOT / PACKAGE / room.folder).rglob(room.pattern)
    return sorted(file for file in found if (file.stem in _ON_DASK) == room.on_dask)
