"""Compile the kernels for a card that need not be there: the interpreter runs much that the compiler refuses.

python tests/cards/compiled.py

One line a kernel and precision. TRITON_INTERPRET has to be unset, so tests run this as a process of its own.
Shapes that take most are compiled as they are launched: those of one kernel a pass have to fit the card that they
were laid out for, and those of two any card that has kernels, as there is nothing else.
"""

from __future__ import annotations

import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.compiler import compile as compiled

from powerkmeans.compute.triton import adding, fourier, fused, launches, raw, select, splitting, staged

HOPPER, SMALL = GPUTarget("cuda", 90, 32), GPUTarget("cuda", 86, 32)
# bytes of shared memory that a program may have there
ROOM = {HOPPER: 227 * 2**10, SMALL: 99 * 2**10}
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


def smallest(shapes):
    """What is tried last."""
    while shapes.smaller is not None:
        shapes = shapes.smaller
    return shapes


def tiles(kind: str, *shape: int) -> str:
    return f"tensordesc<{kind}[{','.join(map(str, shape))}]>"


def build(kernel, types, constants, warps=4, target=HOPPER) -> None:
    """Compile one; whatever has no type is an integer."""
    known = POINTERS | types
    signature = {name: "constexpr" if name in constants else known.get(name, "i32") for name in kernel.arg_names}
    made = compiled(ASTSource(kernel, signature, constants), target=target, options={"num_warps": warps})
    name, taken = kernel.fn.__name__, made.metadata.shared
    assert taken <= ROOM[target], f"{name} {constants} takes {taken} of {ROOM[target]} bytes"
    print("compiled", name, constants.get("KIND", ""), constants.get("PARTS", ""), taken, flush=True)


def equations(parts: int, kind: str, bounded: bool = False, hard: bool = False, gentle: bool = False) -> dict:
    flags = {"BOUNDED": bounded, "SQUARE": True, "HARD": hard, "GENTLE": gentle, "DIGITS": parts - 1}
    return flags | {"PARTS": parts, "KIND": KINDS[kind], "EMULATED": False}


def by_rows(parts: int, kind: str, careful: bool, **which: bool) -> None:
    columns, clusters = launches.FUSED_COLUMNS, launches.FUSED_NUMBERS // launches.FUSED_COLUMNS
    rows, warps, stages, _ = launches._by_rows_shape(columns, clusters, parts)
    size = {"ROWS": rows, "COLUMNS": columns, "CLUSTERS": clusters, "FLUSH": 16, "STAGES": stages}
    numbers = {"norms": tiles("fp32", rows), "weights": tiles("fp32", rows), "rows": "*" + kind}
    tables = {"tiles": tiles(kind, rows, columns), "points": tiles(kind, columns, clusters * parts)}
    given = equations(parts, kind, **which) | {"CAREFUL": careful}
    build(fused.pass_by_rows, numbers | tables, given | size, warps)


def by_clusters(parts: int, kind: str, **which: bool) -> None:
    columns, clusters = launches.FUSED_COLUMNS, launches.FUSED_CLUSTERS
    rows, warps, stages, _ = launches._by_clusters_shape(clusters, parts)
    size = {"ROWS": rows, "COLUMNS": columns, "CLUSTERS": clusters, "FLUSH": 16, "STAGES": stages}
    numbers = {"norms": tiles("fp32", rows), "weights": tiles("fp32", rows)}
    tables = {"tiles": tiles(kind, rows, columns), "points": tiles(kind, clusters, columns)}
    build(fused.pass_by_clusters, numbers | tables, equations(parts, kind, **which) | size, warps)


def by_views(
    parts: int, kind: str, careful: bool, viewed: bool, clusters: int = 16, target=HOPPER, **which: bool
) -> None:
    shapes, narrow = launches._staged_shapes(clusters, 256)
    first, second, wide = smallest(shapes) if target is SMALL else shapes
    pointers = {"rows": "*" + kind, "pulled": "*" + kind, "norms": SINGLE, "weights": SINGLE}
    given = equations(parts, kind, **which) | {"CAREFUL": careful, "COVERED": viewed, "VIEWED": viewed}
    tables = {"tiles": tiles(kind, first.rows, narrow), "points": tiles(kind, narrow, clusters)}
    size = {"ROWS": first.rows, "WIDTH": narrow, "CLUSTERS": clusters, "STAGES": first.stages}
    build(staged.row_pulls, pointers | tables, given | size, first.warps, target)
    tile = min(128, clusters)
    tables = {"tiles": tiles(kind, second.rows, wide), "pulled": tiles(kind, second.rows, tile)}
    size = {"ROWS": second.rows, "WIDTH": wide, "CLUSTERS": tile, "STAGES": second.stages}
    build(staged.pulled_rows, tables, size | {"PARTS": parts, "EMULATED": False}, second.warps, target)


def from_raw(parts: int, kind: str, **which: bool) -> None:
    width, waves, (rows, warps, stages, _) = raw.MOST_COLUMNS, raw.MOST_WAVES, raw.SHAPE[parts]
    size = {"ROWS": rows, "WIDTH": width, "WAVES": waves, "CLUSTERS": 16, "FLUSH": 16, "STAGES": stages}
    tables = {"raw": tiles("fp32", rows, width), "waves": tiles("bf16", width, waves)}
    numbers = {"points": tiles(kind, waves, 16 * parts), "weights": tiles("fp32", rows)}
    build(fourier.pass_from_raw, tables | numbers, equations(parts, kind, **which) | size, warps)


def main() -> None:
    for parts, kind in ((2, "bf16"), (1, "fp16"), (1, "bf16")):
        by_rows(parts, kind, careful=parts == 2, bounded=kind == "fp16", gentle=kind == "bf16")
        by_clusters(parts, kind, bounded=parts == 2, hard=kind == "fp16")
        by_views(parts, kind, careful=kind == "fp16", viewed=kind == "bf16", bounded=parts == 2)
        from_raw(parts, kind, bounded=parts == 1)
        for clusters in (128, launches.MOST_CLUSTERS):
            by_views(parts, kind, True, True, clusters, SMALL, bounded=True)
        size = {"PARTS": parts, "KIND": KINDS[kind], "COLUMNS": 256, "EMULATED": False}
        build(splitting.split_centers, {"points": "*" + kind, "squares": SINGLE}, size, warps=1)
    build(adding.add_slots, {"sums": "*fp64"}, {"WIDTH": 64, "DEPTH": 16})
    groups = {"GROUPS": 256, "SIZE": 8, "MOST": 16}
    build(select.smallest_columns, {"values": "*fp64", "found": "*i64"}, groups, warps=1)


if __name__ == "__main__":
    main()
