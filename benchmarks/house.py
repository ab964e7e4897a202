"""The shape of the code in numbers: what a fit walks through, what lies where, and how long things are.

``python -m benchmarks.house`` counts, in the package: files and functions that a default fit of two views calls;
modules at the top level; named numbers; lengths of functions and modules; tests of types on maps and sources;
passes over all rows of a fit to 40,000 samples, by kind.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_blobs

import powerkmeans
from powerkmeans import MultiViewPowerKMeans
from powerkmeans.compute.rows import RowEngine
from powerkmeans.engines import NumpyOptions

SOURCE = Path(powerkmeans.__file__).parent
MAPS = re.compile(r"isinstance\([^()]*(?:\([^()]*\)[^()]*)*\b\w*(?:Map|KernelRows|CentredKernel)\b")
SOURCES = re.compile(r"isinstance\([^()]*(?:\([^()]*\)[^()]*)*\b\w*Source\b")


def two_views(n_samples: int) -> dict[str, np.ndarray]:
    """Two views of blobs."""
    X, _ = make_blobs(n_samples, 10, centers=5, cluster_std=3.0, random_state=0)
    return {"left": X[:, :5], "right": X[:, 5:]}


def walked(action: Callable[[], Any]) -> list[tuple[str, str]]:
    """Every entrance into a function of the package during ``action``, in order, from this thread."""
    seen: list[tuple[str, str]] = []

    def note(frame: Any, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(str(SOURCE)):
            path = str(Path(frame.f_code.co_filename).relative_to(SOURCE))
            seen.append((path, frame.f_code.co_qualname))

    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(None)
    return seen


def crossings(seen: list[tuple[str, str]], rooms: Callable[[str], str]) -> Counter[tuple[str, str]]:
    """How often the walk goes from one room to another."""
    places = [rooms(path) for path, _ in seen]
    return Counter((a, b) for a, b in pairwise(places) if a != b)


def trees() -> Iterator[tuple[Path, ast.Module]]:
    """Every module, parsed."""
    for path in sorted(SOURCE.rglob("*.py")):
        yield path, ast.parse(path.read_text())


def _is_number(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (int, float)) and not isinstance(node.value, bool)
    if isinstance(node, ast.UnaryOp):
        return _is_number(node.operand)
    if isinstance(node, ast.BinOp):
        return _is_number(node.left) and _is_number(node.right)
    return False


def constants(tree: ast.Module) -> list[str]:
    """Names in capitals that stand for a number, at the level of the module."""
    found = []
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        for target in targets:
            values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            pairs = zip(names, values, strict=False)
            found += [n.id for n, v in pairs if isinstance(n, ast.Name) and n.id.isupper() and _is_number(v)]
    return found


def lengths(tree: ast.Module) -> list[int]:
    """Lines of each function without its docstring."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            body = node.body[1:] if ast.get_docstring(node) and len(node.body) > 1 else node.body
            found.append((body[-1].end_lineno or 0) - body[0].lineno + 1)
    return found


def passes(n_samples: int) -> Counter[str]:
    """Runs of block functions over as many rows, by function, in a default fit of two views."""
    counted: Counter[str] = Counter()
    originals = {name: getattr(RowEngine, name) for name in ("fold", "map_blocks")}

    def counting(original: Callable[..., Any]) -> Callable[..., Any]:
        def run(engine: Any, function: Any, parameters: Any) -> Any:
            if engine.n_samples == n_samples:
                stored = "stored features" if getattr(engine, "stored", False) else "rows"
                counted[f"{getattr(function, '__qualname__', function)} over {stored}"] += 1
            return original(engine, function, parameters)

        return run

    for name, original in originals.items():
        setattr(RowEngine, name, counting(original))
    try:
        MultiViewPowerKMeans(5, random_state=0).fit(two_views(n_samples))
    finally:
        for name, original in originals.items():
            setattr(RowEngine, name, original)
    return counted


def main() -> int:
    """Print the numbers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=40_000, help="samples of the fit whose passes are counted")
    parser.add_argument("--list", action="store_true", help="name files, functions and constants too")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    MultiViewPowerKMeans(5, random_state=0).fit(two_views(400))  # what is done once per process
    model = MultiViewPowerKMeans(5, random_state=0, engine=NumpyOptions(n_threads=1))
    seen = walked(lambda: model.fit(two_views(400)))
    files = sorted({path for path, _ in seen})
    print(f"a fit walks through {len(files)} files and {len(set(seen))} functions")
    moves = crossings(seen, lambda path: Path(path).parts[0])
    for (a, b), count in sorted(moves.items()):
        back = moves.get((b, a), 0)
        if a < b and min(count, back) > 1:
            print(f"  {a} <-> {b}: {count} and {back} times")
    modules = [path for path, _ in trees()]
    top = [p.stem for p in modules if p.parent == SOURCE and not p.stem.startswith("__")]
    print(f"modules at the top level: {len(top)} ({', '.join(top)})")
    named = {str(path.relative_to(SOURCE)): constants(tree) for path, tree in trees()}
    print(f"named numbers: {sum(map(len, named.values()))} in the package")
    for room in sorted({Path(name).parts[0] for name in named}):
        count = sum(len(found) for name, found in named.items() if Path(name).parts[0] == room)
        print(f"  {room}: {count}") if count else None
    sizes = sorted(size for _, tree in trees() for size in lengths(tree))
    middle, most = np.quantile(sizes, [0.5, 0.95])
    print(f"functions: {len(sizes)}, median {middle:.0f} lines, 95 % under {most:.0f}, longest {sizes[-1]}")
    long = [str(p.relative_to(SOURCE)) for p in modules if len(p.read_text().splitlines()) > 400]
    print(f"modules over 400 lines: {len(long)}")
    text = "\n".join(p.read_text() for p in modules)
    print(f"isinstance tests on maps: {len(MAPS.findall(text))}, on sources: {len(SOURCES.findall(text))}")
    print(f"passes over all of {chosen.rows} rows:")
    for name, count in sorted(passes(chosen.rows).items(), key=lambda pair: (-pair[1], pair[0])):
        print(f"  {count:4d}  {name}")
    if chosen.list:
        print(
            "\n".join(["files:", *files, "constants:", *(f"{n}: {', '.join(v)}" for n, v in named.items() if v)])
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
