"""Compile the kernels for a card that need not be there: the interpreter runs much that the compiler refuses.

python tests/cards/compiled.py

One line a kernel and precision. TRITON_INTERPRET has to be unset, so tests run this as a process of its own.
"""

from __future__ import annotations

import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.compiler import compile as compiled

from powerkmeans.compute.triton import adding, fourier, fused, select, splitting, staged

HOPPER = GPUTarget("cuda", 90, 32)
KINDS = {"bf16": tl.bfloat16, "fp16": tl.float16}
SINGLE = "*fp32"
BY_POINTER = (
    "center_norms",
    "numbers",
    "slots",
    "centers",
    "shift",
    "moments",
    "tallies",
    "covers",
    "view_numbers",
)
POINTERS = dict.fromkeys(BY_POINTER, SINGLE) | {"ranges": "*i32", "length": "fp32"}


def tiles(kind: str, *shape: int) -> str:
    return f"tensordesc<{kind}[{','.join(map(str, shape))}]>"


def build(kernel, types, constants, warps=4) -> None:
    """Compile one; whatever has no type is an integer."""
    known = POINTERS | types
    signature = {name: "constexpr" if name in constants else known.get(name, "i32") for name in kernel.arg_names}
    compiled(ASTSource(kernel, signature, constants), target=HOPPER, options={"num_warps": warps})
    print("compiled", kernel.fn.__name__, constants.get("KIND", ""), constants.get("PARTS", ""), flush=True)


def equations(parts: int, kind: str, bounded: bool = False, hard: bool = False, gentle: bool = False) -> dict:
    flags = {"BOUNDED": bounded, "SQUARE": True, "HARD": hard, "GENTLE": gentle, "DIGITS": parts - 1}
    return flags | {"PARTS": parts, "KIND": KINDS[kind], "EMULATED": False}


def by_rows(parts: int, kind: str, careful: bool, **which: bool) -> None:
    size = {"ROWS": 64, "COLUMNS": 64, "CLUSTERS": 16, "FLUSH": 16, "STAGES": 2, "CAREFUL": careful}
    numbers = {"norms": tiles("fp32", 64), "weights": tiles("fp32", 64), "rows": "*" + kind}
    tables = {"tiles": tiles(kind, 64, 64), "points": tiles(kind, 64, 16 * parts)}
    build(fused.pass_by_rows, numbers | tables, equations(parts, kind, **which) | size)


def by_clusters(parts: int, kind: str, **which: bool) -> None:
    size = {"ROWS": 32, "COLUMNS": 64, "CLUSTERS": 128, "FLUSH": 16, "STAGES": 2}
    numbers = {"norms": tiles("fp32", 32), "weights": tiles("fp32", 32)}
    tables = {"tiles": tiles(kind, 32, 64), "points": tiles(kind, 128, 64)}
    build(fused.pass_by_clusters, numbers | tables, equations(parts, kind, **which) | size, warps=8)


def by_views(parts: int, kind: str, careful: bool, viewed: bool, **which: bool) -> None:
    size = {"ROWS": 64, "WIDTH": 64, "CLUSTERS": 16, "STAGES": 2}
    pointers = {"rows": "*" + kind, "pulled": "*" + kind, "norms": SINGLE, "weights": SINGLE}
    given = equations(parts, kind, **which) | {"CAREFUL": careful, "COVERED": viewed, "VIEWED": viewed}
    tables = {"tiles": tiles(kind, 64, 64), "points": tiles(kind, 64, 16)}
    build(staged.row_pulls, pointers | tables, given | size)
    tables = {"tiles": tiles(kind, 64, 64), "pulled": tiles(kind, 64, 16)}
    build(staged.pulled_rows, tables, size | {"PARTS": parts, "EMULATED": False}, warps=8)


def from_raw(parts: int, kind: str, **which: bool) -> None:
    size = {"ROWS": 64, "WIDTH": 64, "WAVES": 64, "CLUSTERS": 16, "FLUSH": 16, "STAGES": 2}
    tables = {"raw": tiles("fp32", 64, 64), "waves": tiles("bf16", 64, 64), "points": tiles(kind, 64, 16 * parts)}
    numbers = {"weights": tiles("fp32", 64)}
    build(fourier.pass_from_raw, tables | numbers, equations(parts, kind, **which) | size)


def main() -> None:
    for parts, kind in ((2, "bf16"), (1, "fp16"), (1, "bf16")):
        by_rows(parts, kind, careful=parts == 2, bounded=kind == "fp16", gentle=kind == "bf16")
        by_clusters(parts, kind, bounded=parts == 2, hard=kind == "fp16")
        by_views(parts, kind, careful=kind == "fp16", viewed=kind == "bf16", bounded=parts == 2)
        from_raw(parts, kind, bounded=parts == 1)
        size = {"PARTS": parts, "KIND": KINDS[kind], "COLUMNS": 256, "EMULATED": False}
        build(splitting.split_centers, {"points": "*" + kind, "squares": SINGLE}, size, warps=1)
    build(adding.add_slots, {"sums": "*fp64"}, {"WIDTH": 64, "DEPTH": 16})
    groups = {"GROUPS": 256, "SIZE": 8, "MOST": 16}
    build(select.smallest_columns, {"values": "*fp64", "found": "*i64"}, groups, warps=1)


if __name__ == "__main__":
    main()
