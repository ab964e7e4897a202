"""Theorem 2 (theorem:consistency): memberships approach those of kernel k-means on the whole population.

It says: if the population's optimum of kernel k-means is unique (Assumption 1), ``W_n,s -> W*`` as n and D grow
and s falls to minus infinity, with any constant probability; its proof shows ``Psi(W_n,s, rho) -> Psi(W*, rho)``.
W has as many rows as there are samples, so what converges has to be said. Here it is the memberships of all points
of the population, as the method gives them, against the hard ones of the best known W* (half the mean absolute
difference, after matching the clusters), and beside it ``Psi(W_n,s) / Psi(W*) - 1``.

Tested: on a population with a clear optimum (see ``population``), each of n, D and |s| alone with the two others
large, and all three together. Alone, each one levels off where the others leave it. And on data, at fixed n and s,
the matrices W themselves: those of the features against those of the exact kernel on the same rows, the first
descended from the second, as D grows.

A limit cannot be seen in a program. What is asked is that the distance falls along the path, by a slope that is
negative by two standard errors, and to at most half of where it began. Not tested: almost sure convergence,
data without a clear optimum (there two runs of the exact method differ too), and global minimisers.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import linear_sum_assignment

from benchmarks.theorems.excess_risk import mean_error
from benchmarks.theorems.partitions import found
from benchmarks.theorems.population import (
    Population,
    blobs,
    features_gram,
    fixed_exponent,
    minimiser,
    shares,
)
from benchmarks.theorems.sets import DataSet, Plan, data_sets
from benchmarks.theorems.verdicts import (
    Floats,
    Row,
    Slope,
    Statement,
    Table,
    Verdict,
    approach_verdict,
    fit_slope,
    of,
)
from powerkmeans.features.kernels import KERNELS

HARD = -np.inf
ALL = "all three"
# n, D and |s| along each path
PATHS: dict[str, list[tuple[int, int, float]]] = {
    "n": [(n, 1024, 200.0) for n in (25, 50, 100, 200, 400, 800)],
    "D": [(800, D, 200.0) for D in (4, 8, 16, 32, 64, 128, 256)],
    "|s|": [(800, 1024, s) for s in (3.0, 6.0, 12.0, 25.0, 50.0, 100.0)],
    ALL: [(25 * 2**t, 8 * 2**t, 3.0 * 2**t) for t in range(6)],
}
QUICK: dict[str, list[tuple[int, int, float]]] = {
    ALL: [(25 * 3**t, 8 * 3**t, 3.0 * 3**t) for t in range(3)],
}
FIXED_S = -10.0
SIZES = (16, 64, 256, 1024)
EXACT_TWICE = "exact, another seed"


@dataclass(frozen=True)
class Target:
    """A population with its best known partition."""

    population: Population

    @cached_property
    def _best(self) -> tuple[Floats, float]:
        return self.population.optimum(HARD, seeds=range(5))

    @property
    def cost(self) -> float:
        return self._best[1]

    @cached_property
    def memberships(self) -> Floats:
        """One at the nearest centroid, (points, k)."""
        distances = self.population.distances(np.arange(len(self.population.X)), self._best[0])
        return np.asarray(np.eye(self.population.k)[np.argmin(distances, axis=0)])

    def measure(self, n: int, D: int, size: float, seed: int) -> tuple[float, float]:
        """How far the method's memberships are from the optimum's, and by what share its hard cost exceeds it."""
        population, rng = self.population, np.random.default_rng([seed, n, D])
        rows = rng.integers(len(population.X), size=n)
        sample = population.X[rows]
        model = fixed_exponent(
            population.k, -size, "k-means", seed, feature_map="rff", n_components=D, bandwidth=population.bandwidth
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # clusters may coincide where |s| is small
            model.fit(sample)
        W = shares(np.asarray(model.transform(sample)).T ** 2, -size)
        far = matched_distance(np.asarray(model.predict_proba(population.X)), self.memberships)
        return far, population.risk(rows, W, HARD) / self.cost - 1


def matched_distance(p: Floats, q: Floats) -> float:
    """``mean_i sum_j |p_ij - q_ij| / 2`` with clusters matched so that it is least."""
    cost = np.mean(np.abs(p[:, :, None] - q[:, None, :]), axis=0)
    return float(np.sum(cost[linear_sum_assignment(cost)]) / 2)


def column_distance(W: Floats, V: Floats) -> float:
    """The largest, over clusters, of half the sum over samples of ``|W_ij - V_ij|``: columns are distributions."""
    return float(np.max(np.sum(np.abs(W - V), axis=0)) / 2)


def measure_path(target: Target, name: str, steps: list[tuple[int, int, float]], repeats: int) -> list[Row]:
    """A row a step of a path."""
    rows = []
    for n, D, size in steps:
        pairs = [target.measure(n, D, size, seed) for seed in range(repeats)]
        rows.append(
            {
                "measured": "consistency",
                "data": target.population.name,
                "path": name,
                "n": n,
                "D": D,
                "s": -size,
                "repeats": repeats,
                "distance": [pair[0] for pair in pairs],
                "excess": [pair[1] for pair in pairs],
            }
        )
    return rows


def measure_matrices(data: DataSet, repeats: int) -> list[Row]:
    """W of the features beside W of the exact kernel on the same rows, from the same start, by D."""
    gram = KERNELS["rbf"].gram(data.X, data.X, data.median)
    exact = minimiser(gram, data.k, FIXED_S, ["k-means++"] * 3, range(3))
    rng, rows = np.random.default_rng(2), []
    for D in SIZES:
        grams = (features_gram(data.X, data.median, D, rng) for _ in range(repeats))
        far = [column_distance(minimiser(g, data.k, FIXED_S, [exact.T], [0]), exact) for g in grams]
        rows.append(
            {
                "measured": "membership matrices",
                "data": data.name,
                "k": data.k,
                "n": len(data.X),
                "s": FIXED_S,
                "D": D,
                "repeats": repeats,
                "distance": far,
            }
        )
    return rows


def measure_labels(data: DataSet, repeats: int) -> Row:
    """Share of rows that our defaults, each from its own start, label otherwise than with the exact kernel."""
    answers = {"exact": [found(data, data.median, seed, feature_map="exact").labels_ for seed in range(2)]}
    for D in SIZES:
        models = [found(data, data.median, seed, feature_map="rff", n_components=D) for seed in range(repeats)]
        answers[str(D)] = [model.labels_ for model in models]
    hard = {name: [np.eye(data.k)[labels] for labels in own] for name, own in answers.items()}
    reference, other = hard.pop("exact")
    far = {name: [matched_distance(mine, reference) for mine in own] for name, own in hard.items()}
    far[EXACT_TWICE] = [matched_distance(other, reference)]
    return {"measured": "labels", "data": data.name, "k": data.k, "n": len(data.X), "distance": far}


def step_of(row: Row) -> float:
    """What grows along the row's path; all three grow together, so n stands for them."""
    steps: dict[str, float] = {"D": row["D"], "|s|": -row["s"]}
    return steps.get(row.get("path", "D"), float(row["n"]))


def slope_of(rows: list[Row]) -> Slope:
    """The slope of the mean distance along a path."""
    points = [mean_error(row["distance"]) for row in rows]
    return fit_slope([step_of(row) for row in rows], [m for m, _ in points], [e for _, e in points])


def measure(plan: Plan) -> list[Row]:
    """All paths on the population, and the matrices on data."""
    target, repeats = Target(blobs(plan.pick(2500, 600))), plan.pick(20, 6)
    paths = [measure_path(target, name, steps, repeats) for name, steps in plan.pick(PATHS, QUICK).items()]
    wanted = plan.pick(("digits", "wine", "HW2"), ("3 blobs",))
    sets = [data for data in data_sets(plan) if data.name in wanted]
    matrices = [measure_matrices(data, plan.pick(8, 4)) for data in sets]
    labels = [measure_labels(data, plan.pick(5, 2)) for data in sets]
    return [row for rows in (*paths, *matrices, labels) for row in rows]


def judge(rows: list[Row]) -> Statement:
    """What the rows say."""
    paths, matrices = groups(of(rows, "consistency"), "path"), groups(of(rows, "membership matrices"), "data")
    return Statement(
        "consistency",
        "Theorem 2, consistency",
        "The memberships that the method finds approach those of kernel k-means on the population as n, D and |s| "
        "grow (theorem:consistency).",
        [_path_table(paths), _matrix_table(matrices), _label_table(of(rows, "labels"))],
        _verdicts(paths, matrices),
    )


def groups(rows: list[Row], key: str) -> dict[str, list[Row]]:
    """Rows by one of their entries."""
    return {name: [row for row in rows if row[key] == name] for name in dict.fromkeys(row[key] for row in rows)}


def _verdicts(paths: dict[str, list[Row]], matrices: dict[str, list[Row]]) -> list[Verdict]:
    named = {f"memberships as {name} grow{'' if name == ALL else 's'}": rows for name, rows in paths.items()}
    named |= {f"{name}, matrices of features and kernel as D grows": rows for name, rows in matrices.items()}
    return [
        approach_verdict(about, [float(np.mean(row["distance"])) for row in rows], slope_of(rows))
        for about, rows in named.items()
    ]


def _path_table(paths: dict[str, list[Row]]) -> Table:
    lines = [
        [
            name,
            str(row["n"]),
            str(row["D"]),
            f"{row['s']:g}",
            _with_error(row["distance"]),
            _with_error(row["excess"]),
        ]
        for name, rows in paths.items()
        for row in rows
    ]
    caption = (
        "Distance of the method's memberships from those of kernel k-means on the population (0: the same, 1: "
        "none in common), and by what share its hard cost in the kernel exceeds the least; means ± their errors."
    )
    return Table(caption, ["what grows", "n", "D", "s", "distance", "excess cost"], lines)


def _matrix_table(matrices: dict[str, list[Row]]) -> Table:
    sizes = [str(D) for D in SIZES]
    lines = [
        [
            f"{name} (n={rows[0]['n']}, k={rows[0]['k']})",
            *(_with_error(row["distance"]) for row in rows),
            str(slope_of(rows)),
        ]
        for name, rows in matrices.items()
    ]
    caption = (
        f"Distance between the membership matrices of features and kernel on the same rows, s = {FIXED_S:g} "
        "(largest over clusters; 0: the same, 1: no sample in common), by D, and its slope in D."
    )
    return Table(caption, ["data", *sizes, "slope"], lines)


def _label_table(rows: list[Row]) -> Table:
    header = ["data", *(f"D = {D}" for D in SIZES), EXACT_TWICE]
    lines = [
        [
            row["data"],
            *(f"{np.mean(row['distance'][str(D)]):.3f}" for D in SIZES),
            f"{np.mean(row['distance'][EXACT_TWICE]):.3f}",
        ]
        for row in rows
    ]
    caption = (
        "For comparison, without a verdict: share of rows that our defaults, each from its own start, label "
        "otherwise than with the exact kernel (mean over draws); last, the exact kernel with another seed."
    )
    return Table(caption, header, lines)


def _with_error(values: list[float]) -> str:
    return "{:.4f} ± {:.4f}".format(*mean_error(values))
