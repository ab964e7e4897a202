"""Which code runs a block: the one place that chooses.

The plain pass is the equations as written (``objective.block``), handed in by the caller; it takes everything.
Faster ones declare what they take: memberships, maps, rows. Whatever none of them takes goes to the plain one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from powerkmeans.compute.executors.torch import Torch
from powerkmeans.compute.native.compiled import CompiledPass, FusedPass
from powerkmeans.compute.native.library import find_target, why_missing
from powerkmeans.compute.triton.passes import RawPass, TritonPass
from powerkmeans.objective.block import PassInput
from powerkmeans.types import Array, Block, BlockFunction, Engine, Executor, FeatureMap, Pass, PassStatistics


def run_pass(engine: Engine, inputs: PassInput, plain: BlockFunction) -> PassStatistics:
    """The sums over all rows, by the fastest code that takes them, of whichever machine has them."""
    if engine.elsewhere:
        return engine.on_parts(_pass_of_part, (inputs, plain))
    chosen = choose_pass(engine, inputs)
    return engine.fold(plain, inputs) if chosen is None else chosen.run(engine, inputs)


def _pass_of_part(engine: Engine, given: tuple[PassInput, BlockFunction]) -> PassStatistics:
    return run_pass(engine, *given)


def choose_pass(engine: Engine, inputs: PassInput) -> Pass | None:
    """The first of the engine's passes that takes such inputs; None for the plain one."""
    return next((candidate for candidate in engine.passes if candidate.takes(engine, inputs)), None)


def answered(
    engine: Engine, function: Callable[[Block, Any], Array], inputs: PassInput
) -> tuple[Engine, Callable[[Block, Any], Array], Any]:
    """What to run for what ``function`` tells of rows, by the fastest code that takes them."""
    chosen = None if engine.elsewhere else choose_pass(engine, inputs)
    faster = None if chosen is None else chosen.answered(engine, function, inputs)
    return (engine, function, inputs) if faster is None else faster


def map_rows(engine: Engine, function: Callable[[Block, Any], Array], inputs: PassInput) -> Array:
    """What ``function`` tells of all rows."""
    rows, faster, prepared = answered(engine, function, inputs)
    return rows.map_rows(faster, prepared)


def available_passes(choice: str, xp: Any) -> tuple[Pass, ...]:
    """The passes that ``choice`` allows, the fastest first: compiled ones where they are installed."""
    if choice == "numpy" or xp is not np:
        return ()
    target = find_target()
    if target is not None:
        return FusedPass(target), CompiledPass(target)
    if choice == "compiled":
        raise ValueError(
            f"kernel='compiled' is not available: {why_missing()}. Install a C++ compiler (for example g++ or "
            "clang++) and run `python -m powerkmeans.compute.native`, or use engine='auto'."
        )
    return ()


def card_passes(executor: Executor) -> tuple[Pass, ...]:
    """The passes that a card has, where an executor holds features as these take them."""
    return (TritonPass(executor), RawPass(executor)) if isinstance(executor, Torch) and executor.planes else ()


def search_of(passes: tuple[Pass, ...]) -> Any | None:
    """What finds nearest landmarks faster than the equations as written, if anything does."""
    having = (candidate for candidate in passes if isinstance(candidate, CompiledPass | TritonPass))
    return next((candidate.search for candidate in having), None)


def fastest(feature_map: FeatureMap, passes: tuple[Pass, ...]) -> FeatureMap:
    """The map in the fastest form that the passes have of it."""
    for candidate in passes:
        feature_map = candidate.accelerated(feature_map)
    return feature_map
