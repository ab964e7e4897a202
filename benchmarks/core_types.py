"""Which processors this one can pretend to be: core types of OpenBLAS and the instruction sets that NumPy uses.

OpenBLAS chooses its products by ``OPENBLAS_CORETYPE`` and NumPy its loops by ``NPY_DISABLE_CPU_FEATURES``, both
when a process starts. Each question is therefore put to a child process; one that dies of it has answered, too.
"""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

# core types of OpenBLAS from the oldest to the newest: what each needs, in NumPy's words
X86 = {
    "Prescott": "SSE3",
    "Nehalem": "SSE42",
    "SandyBridge": "AVX",
    "Haswell": "AVX2",
    "Zen": "AVX2",
    "SkylakeX": "AVX512_SKX",
    "Cooperlake": "AVX512BF16",
    "SapphireRapids": "AVX512FP16",
}
# and what NumPy may use there beyond what the one before has; older versions of NumPy name single instruction sets
NUMPY = {
    "Nehalem": {"SSSE3", "SSE41", "POPCNT", "SSE42"},
    "SandyBridge": {"AVX"},
    "Haswell": {"F16C", "FMA3", "AVX2", "X86_V3"},
    "SkylakeX": {"AVX512F", "AVX512CD", "AVX512_SKX", "X86_V4"},
}

# what products are made by, after products of every kind and size, in which an impossible instruction would show
_ASK = """
import json
import numpy as np, scipy.linalg, scipy.linalg.blas
from numpy._core._multiarray_umath import __cpu_dispatch__ as chosen, __cpu_features__ as has
from threadpoolctl import threadpool_info
rng = np.random.default_rng(0)
for dtype in (np.float32, np.float64):
    for n in (3, 17, 200):
        a = rng.normal(size=(n, n)).astype(dtype)
        s = a @ a.T + n * np.eye(n, dtype=dtype)
        scipy.linalg.blas.get_blas_funcs("gemm", (a,))(1, a, a)
        np.linalg.eigh(s), scipy.linalg.cho_factor(s), scipy.linalg.svd(a), a @ a[0], np.exp(a), np.sum(a, axis=0)
found = {lib["architecture"] for lib in threadpool_info() if lib["internal_api"] == "openblas"}
print(json.dumps({"cores": sorted(found), "dispatch": [f for f in chosen if has[f]], "features": has}))
"""


class Setting(NamedTuple):
    """One processor to pretend to be: its name, and the environment that makes a process take this one for it.

    A whole one is taken for it by OpenBLAS and NumPy alike; others do not exist, but show whose rounding matters.
    """

    name: str
    environment: dict[str, str]
    whole: bool = False


class Found(NamedTuple):
    """Settings that can be had here, the machine's own first, and those that cannot, with the reason."""

    settings: list[Setting]
    not_here: dict[str, str]


class Answer(NamedTuple):
    """What a child process said of itself, or of what it died."""

    cores: tuple[str, ...] = ()
    dispatch: tuple[str, ...] = ()
    features: Mapping[str, bool] = {}
    trouble: str = ""


def ask(environment: dict[str, str]) -> Answer:
    """What OpenBLAS and NumPy take the processor for in a process with this environment."""
    command = [sys.executable, "-c", _ASK]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    if done.returncode < 0:
        return Answer(trouble=f"a process died of {signal.Signals(-done.returncode).name}")
    if done.returncode:
        return Answer(trouble=(done.stderr.strip().splitlines() or ["a process failed"])[-1])
    told: dict[str, Any] = json.loads(done.stdout)
    return Answer(tuple(told["cores"]), tuple(told["dispatch"]), told["features"])


def find_core_types(own: Answer, machine: str, ask: Callable[[dict[str, str]], Answer] = ask) -> Found:
    """Core types of OpenBLAS that differ from each other and from the machine's own, as whole processors."""
    if not own.cores:
        return Found([], {"core types": "NumPy's products here are not those of OpenBLAS"})
    if machine.lower() not in ("x86_64", "amd64"):
        return Found([], {"core types": f"none are known for {machine}"})
    settings, not_here, seen = [], {}, {own.cores: "this machine's own"}
    for name, feature in X86.items():
        environment = {"OPENBLAS_CORETYPE": name, **_without_newer(own.dispatch, name)}
        if not own.features.get(feature):
            not_here[name] = f"the processor lacks {feature}"
            continue
        answer = ask(environment)
        if answer.trouble:
            not_here[name] = answer.trouble
        elif answer.cores in seen:
            not_here[name] = f"the same code as {seen[answer.cores]}"
        else:
            seen[answer.cores] = name
            settings.append(Setting(name, environment, whole=True))
    return Found(settings, not_here)


def _without_newer(dispatch: tuple[str, ...], core_type: str) -> dict[str, str]:
    """What keeps NumPy from instructions that came after a core type."""
    order = list(X86)
    has = {f for name in order[: order.index(core_type) + 1] for f in NUMPY.get(name, ())}
    known = order.index(core_type) <= order.index(list(NUMPY)[-1])
    newer = [f for f in dispatch if known and f not in has]
    return {"NPY_DISABLE_CPU_FEATURES": " ".join(newer)} if newer else {}


def find_dispatch(own: Answer, ask: Callable[[dict[str, str]], Answer] = ask) -> Found:
    """NumPy without the newest instruction set that it uses here, without the two newest, and so on to none."""
    if not own.dispatch:
        return Found([], {"NumPy's dispatch": "NumPy uses nothing here beyond its baseline"})
    settings, not_here = [], {}
    for kept in range(len(own.dispatch) - 1, -1, -1):
        name = f"NumPy up to {own.dispatch[kept - 1]} alone" if kept else "NumPy's baseline alone"
        environment = {"NPY_DISABLE_CPU_FEATURES": " ".join(own.dispatch[kept:])}
        answer = ask(environment)
        if answer.trouble or answer.dispatch != own.dispatch[:kept]:
            not_here[name] = answer.trouble or "NumPy did not follow"
        else:
            settings.append(Setting(name, environment))
    return Found(settings, not_here)


def find_all(ask: Callable[[dict[str, str]], Answer] = ask) -> Found:
    """All that this machine can pretend to be: itself, whole processors, then OpenBLAS and NumPy by themselves."""
    own = ask({})
    if own.trouble:
        raise RuntimeError(f"NumPy and SciPy do not run here: {own.trouble}.")
    cores, dispatch = find_core_types(own, platform.machine(), ask), find_dispatch(own, ask)
    itself = Setting(f"as it is ({', '.join(own.cores) or 'no OpenBLAS'})", {}, whole=True)
    alone = [
        Setting(f"{setting.name} in OpenBLAS alone", {"OPENBLAS_CORETYPE": setting.name})
        for setting in cores.settings
        if len(setting.environment) > 1
    ]
    settings = [itself, *cores.settings, *alone, *dispatch.settings]
    return Found(settings, {**cores.not_here, **dispatch.not_here})
