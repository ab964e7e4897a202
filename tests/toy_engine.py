"""An engine as anyone might add one: arrays of another library, on a device of its own, one block after another.

``array_api_strict`` has nothing that is not in the array-API standard, refuses to mix with NumPy, and its devices
refuse to mix with each other. So whatever runs here runs on any library of arrays.
"""

from __future__ import annotations

import pickle
from contextlib import closing
from dataclasses import dataclass

import array_api_strict
import numpy as np
from scipy.sparse import csr_array, csr_matrix

from powerkmeans.compute.blocks import StoredBlocks
from powerkmeans.compute.placement import moved
from powerkmeans.features.pairs import as_dense
from powerkmeans.support.memory import can_keep

# the library has no sparse rows, so a block of them is made dense on its way
HOST_ARRAYS = (np.ndarray, csr_array, csr_matrix)
DEVICE = array_api_strict.Device("device1")


@dataclass(frozen=True)
class StrictOptions:
    memory_budget: int = 2**30
    kernel: str = "auto"


class Here:
    """Rows are where functions run, as those of NumPy are."""

    on_device, passes = False, ()

    def sent(self, views, budget):
        return views

    def gathered(self, result):
        return result


class Strict(Here):
    """The executor."""

    xp, block_bytes = array_api_strict, None

    def __init__(self, options):
        self.options = options

    def room_for(self, n_bytes, budget):
        return can_keep(n_bytes, budget)

    def place(self, inputs):
        return moved(inputs, HOST_ARRAYS, lambda array: array_api_strict.asarray(as_dense(array), device=DEVICE))

    def fetch(self, result):
        home = array_api_strict.Device("CPU_DEVICE")
        return moved(result, type(array_api_strict.zeros(())), lambda array: np.asarray(array.to_device(home)))

    def keep(self, function, blocks, inputs):
        return StoredBlocks(list(self.run(function, blocks, inputs)))

    def run(self, function, blocks, inputs):
        with closing(blocks.read()) as waiting:
            for block in waiting:
                with np.errstate(over="ignore", under="ignore"):
                    result = function(block, inputs)
                yield result


@dataclass(frozen=True)
class ElsewhereOptions:
    memory_budget: int = 2**30
    kernel: str = "auto"


class PickledBlocks:
    """Blocks that never come back as arrays until they are read."""

    def __init__(self, blocks):
        self.blocks = [pickle.dumps(block) for block in blocks]

    def __len__(self):
        return len(self.blocks)

    def read(self):
        yield from map(pickle.loads, self.blocks)


class Elsewhere(Here):
    """An executor as one of other processes would be: whatever goes there or comes back is pickled."""

    xp, block_bytes = np, None

    def __init__(self, options):
        self.options = options

    def room_for(self, n_bytes, budget):
        return can_keep(n_bytes, budget)

    def place(self, inputs):
        return inputs

    def fetch(self, result):
        return result

    def keep(self, function, blocks, inputs):
        return PickledBlocks(self.run(function, blocks, inputs))

    def run(self, function, blocks, inputs):
        sent = pickle.dumps((function, inputs))
        with closing(blocks.read()) as waiting:
            for block in waiting:
                received, arrived = pickle.loads(sent)
                with np.errstate(over="ignore", under="ignore"):
                    result = received(pickle.loads(pickle.dumps(block)), arrived)
                yield pickle.loads(pickle.dumps(result))
