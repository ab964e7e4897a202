"""Theorem 3 (theorem:approx consistency) and its lemma: what random Fourier features make of a partition's cost.

The theorem says that with ``D = Omega((log(k/delta)^3 + log(1/eps)^3 + 2^8) / eps^2)`` frequencies, with
probability at least ``1 - delta``, the partition found in the features costs at most ``(1 + eps) / (1 - eps)``
times the best one in the exact kernel, in the limit of n and |s|. It rests on lemma:RFF for kmeans: all partitions
at once keep their cost up to ``1 +- eps``. The paper then recommends the main term alone,
``D = ceil(log(k/delta)^3 / eps^2)``.

Tested here: (a) single partitions, each in many draws of the features, at the recommended size; (b) the partition
found in each draw, by its cost in the exact kernel. All partitions at once are the matter of ``every_partition``.
The Omega hides a constant that nobody knows: it is taken as one. The limit in n and |s| is not tested here, and
the best partition is the best known: by the exact kernel, or any other that was looked at.

Why (a) is no surprise: for the Gaussian kernel the relative variance of a pair's squared distance in one frequency
is ``(1 + k(x, y))^2 / 2 <= 2`` however near the pair is, and costs are sums of squared distances with positive
weights; so the relative deviation of any partition's cost is at most ``sqrt(2/D)``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.distance import cdist

from benchmarks.starts import features
from benchmarks.theorems.costs import cost_ratios, frequencies, kernel_gaps, partition_cost
from benchmarks.theorems.partitions import FOUND, blind, found
from benchmarks.theorems.sets import DataSet, Labels, Plan, data_sets
from benchmarks.theorems.verdicts import Floats, Row, Share, Statement, Table, Verdict, of, share_verdict
from powerkmeans import KernelPowerKMeans, suggest_n_components

# bandwidths in units of the median distance: a kernel that sees little, the default, and one that is almost flat
BANDWIDTHS = {"narrow": 0.25, "median": 1.0, "flat": 20.0}
LEVELS = ((0.5, 0.5), (0.5, 0.1), (0.25, 0.5), (0.25, 0.1))
# beyond this many numbers, rows times frequencies, a level is left out
_MOST_WORK = 450_000
# so many rows are fitted quickly, so that more draws can be looked at
_FEW_ROWS = 200


@dataclass(frozen=True)
class Setting:
    """One kernel on one set, with the sizes at which draws are looked at."""

    data: DataSet
    width: str
    map_name: str
    sizes: tuple[int, ...]
    levels: tuple[tuple[float, float], ...]

    @property
    def bandwidth(self) -> float:
        return BANDWIDTHS[self.width] * self.data.median

    @property
    def about(self) -> str:
        return f"{self.data.name}, {self.width} bandwidth"


def setting(data: DataSet, width: str, map_name: str, *, quick: bool = False) -> Setting:
    """Sizes from 1 up to the largest that a level asks for, those of the levels among them."""
    asked = {level: suggest_n_components(data.k, *level) for level in (LEVELS[:2] if quick else LEVELS)}
    levels = tuple(level for level, D in asked.items() if D * len(data.X) <= _MOST_WORK)
    most = max(asked[level] for level in levels)
    grid = {int(D) for D in np.geomspace(1, most, 20).round()}
    return Setting(data, width, map_name, tuple(sorted(grid | {asked[level] for level in levels})), levels)


def settings(data: DataSet, *, quick: bool) -> list[Setting]:
    """Every bandwidth with independent frequencies, the median one with orthogonal ones too."""
    plain = [setting(data, width, "rff", quick=quick) for width in (("flat",) if quick else BANDWIDTHS)]
    return [*plain, setting(data, "median", "orf", quick=quick)]


def measure_setting(case: Setting, draws: int, rng: np.random.Generator) -> list[Row]:
    """A row a kind of partition: how far its cost is off in every draw, at every size."""
    data = case.data
    kinds = blind(data, rng) | {FOUND: found(data, case.bandwidth, seed=12345, feature_map="rff").labels_}
    partitions = [np.asarray(labels, dtype=np.intp) for labels in kinds.values()]
    gaps = kernel_gaps(data.X, case.bandwidth)
    exact = np.array([partition_cost(gaps, labels) for labels in partitions])
    omegas = _draws(case, draws, rng)
    errors = np.abs(cost_ratios(data.X, omegas, partitions, exact, case.sizes) - 1)
    return [
        _row(case, kind, float(cost) / len(data.X), errors[:, :, place])
        for place, (kind, cost) in enumerate(zip(kinds, exact, strict=True))
    ]


def _draws(case: Setting, draws: int, rng: np.random.Generator) -> Iterator[Floats]:
    for _ in range(draws):
        yield frequencies(case.map_name, case.data.X.shape[1], case.sizes[-1], rng) / case.bandwidth


def _row(case: Setting, kind: str, cost: float, errors: Floats) -> Row:
    """Quantiles of the error by size, and for every level the share within and the size that would have done."""
    levels = []
    for eps, delta in case.levels:
        D = suggest_n_components(case.data.k, eps, delta)
        at = errors[:, case.sizes.index(D)]
        levels.append(
            {
                "eps": eps,
                "delta": delta,
                "D": D,
                "inside": int(np.sum(at <= eps)),
                "worst": float(np.max(at)),
                "quantile": float(np.quantile(at, 1 - delta)),
                "needed": size_needed(case.sizes, errors, eps, delta),
            }
        )
    return {
        "measured": "relative error",
        "data": case.data.name,
        "n": len(case.data.X),
        "k": case.data.k,
        "bandwidth": case.width,
        "map": case.map_name,
        "partition": kind,
        "cost": cost,
        "draws": len(errors),
        "variance": float(np.mean(np.mean(errors**2, axis=0) * np.array(case.sizes))),
        "sizes": list(case.sizes),
        "error_90": [float(q) for q in np.quantile(errors, 0.9, axis=0)],
        "levels": levels,
    }


def size_needed(sizes: Sequence[int], errors: Floats, eps: float, delta: float) -> int | None:
    """The smallest size from which on a share ``1 - delta`` of draws is within eps; None if the last is not."""
    enough = np.mean(errors <= eps, axis=0) >= 1 - delta
    late = np.flatnonzero(~enough)
    first = int(late[-1]) + 1 if len(late) else 0
    return int(sizes[first]) if first < len(sizes) else None


def measure_found(data: DataSet, draws: int, level: tuple[float, float] = (0.5, 0.5)) -> Row:
    """Partitions found in draws of the recommended size: their costs there, in the kernel, and the best known."""
    gaps = kernel_gaps(data.X, data.median)
    D = suggest_n_components(data.k, *level)
    models = [found(data, data.median, seed, feature_map="rff", n_components=D, n_init=1) for seed in range(draws)]
    labels: list[Labels] = [model.labels_ for model in models]
    costs = np.array([partition_cost(gaps, own) for own in labels])
    others = [found(data, data.median, seed, feature_map="exact").labels_ for seed in range(2)]
    best = min(float(np.min(costs)), *(partition_cost(gaps, own) for own in [*others, data.y]))
    ratios = np.array([_own_cost(model, data.X) for model in models]) / costs
    return {
        "measured": "found partition",
        "data": data.name,
        "k": data.k,
        "D": D,
        "eps": level[0],
        "delta": level[1],
        "draws": draws,
        "kept": [float(r) for r in ratios],
        "price": [float(c) for c in costs / best],
    }


def _own_cost(model: KernelPowerKMeans, X: Floats) -> float:
    """The cost of the model's partition in the features that it was found in.

    Gaps are half the squared distances; the model's features are centred, so they are not one less a product.
    """
    phi = features(model, X)
    return partition_cost(cdist(phi, phi, "sqeuclidean") / 2, model.labels_)


def measure(plan: Plan) -> list[Row]:
    """Single partitions and found ones on all sets."""
    rng, draws = np.random.default_rng(3), plan.pick(100, 50)
    sets = data_sets(plan)
    cases = [case for data in sets for case in settings(data, quick=plan.quick)]
    fixed = [row for case in cases for row in measure_setting(case, draws, rng)]
    here = [measure_found(data, 20 if len(data.X) > _FEW_ROWS else plan.pick(60, 40)) for data in sets]
    return [*fixed, *here]


def judge(rows: list[Row]) -> Statement:
    """What the rows say."""
    fixed, here = of(rows, "relative error"), of(rows, "found partition")
    return Statement(
        "relative_error",
        "Theorem 3, one partition at a time",
        "With D = ceil(log(k/delta)^3 / eps^2) frequencies, a partition's cost in Fourier features is within "
        "1 ± eps of its cost in the exact kernel with probability at least 1 - delta, and the partition found in "
        "the features costs at most (1 + eps)/(1 - eps) times the best (theorem:approx consistency).",
        [_level_table(fixed), _kind_table(fixed), _size_table(fixed), _map_table(fixed), _found_table(here)],
        [
            share_verdict("each partition alone", _shares(fixed, "rff")),
            share_verdict("each partition alone, orthogonal features", _shares(fixed, "orf"), counts=False),
            share_verdict("the partition found, its cost in the features it was found in", _kept_shares(here)),
            _price_verdict(here),
        ],
    )


def _shares(rows: list[Row], map_name: str) -> list[Share]:
    """A share for every set, bandwidth, partition and level."""
    return [
        Share(
            f"{row['data']}, {row['bandwidth']} bandwidth, {row['partition']}, eps={at['eps']:g}, "
            f"delta={at['delta']:g}, D={at['D']}",
            at["inside"],
            row["draws"],
            1 - at["delta"],
        )
        for row in rows
        if row["map"] == map_name
        for at in row["levels"]
    ]


def _kept_shares(rows: list[Row]) -> list[Share]:
    return [
        Share(
            f"{row['data']}, D={row['D']}",
            sum(abs(ratio - 1) <= row["eps"] for ratio in row["kept"]),
            row["draws"],
            1 - row["delta"],
        )
        for row in rows
    ]


def _price_verdict(rows: list[Row]) -> Verdict:
    """The theorem itself: how often the found partition costs no more than is allowed, and the most it costs."""
    shares = [
        Share(
            f"{row['data']}, D={row['D']}",
            sum(price <= most_price(row) for price in row["price"]),
            row["draws"],
            1 - row["delta"],
        )
        for row in rows
    ]
    verdict = share_verdict("the partition found, its cost in the kernel over the best", shares)
    worst = max(rows, key=lambda row: max(row["price"]))
    most = f"at most {max(worst['price']):.3f} times the best ({worst['data']}), {most_price(worst):g} allowed"
    return replace(verdict, number=f"{most}; {verdict.number}")


def most_price(row: Row) -> float:
    """``(1 + eps) / (1 - eps)``."""
    return float((1 + row["eps"]) / (1 - row["eps"]))


def _level_table(rows: list[Row]) -> Table:
    """A line per set, map and level, over all kinds of partitions and bandwidths."""
    groups: dict[tuple[str, ...], list[tuple[Row, Row]]] = {}
    for row in rows:
        for at in row["levels"]:
            key = (row["data"], str(row["k"]), row["map"], f"{at['eps']:g}", f"{at['delta']:g}")
            groups.setdefault(key, []).append((row, at))
    lines = []
    for group, pairs in groups.items():
        row, at = min(pairs, key=lambda pair: (pair[1]["inside"], -pair[1]["worst"]))
        quantile, worst = (max(at[name] for _, at in pairs) for name in ("quantile", "worst"))
        share, required = f"{at['inside'] / row['draws']:.2f}", f"{1 - at['delta']:g}"
        where = f"{row['partition']}, {row['bandwidth']}"
        lines.append([*group, str(at["D"]), f"{quantile:.3f}", f"{worst:.3f}", share, required, where])
    header = ["data", "k", "map", "eps", "delta", "D", "quantile", "worst", "share within", "required", "hardest"]
    caption = (
        "|ratio - 1| of cost in features over cost in the kernel, over independent draws of the features, for the "
        "hardest of all partitions and bandwidths: the 1 - delta quantile, the largest value, and the share of "
        "draws within eps."
    )
    return Table(caption, header, lines)


def _kind_table(rows: list[Row]) -> Table:
    """A line per kind of partition, a column per set: the hardest bandwidth."""
    plain = [row for row in rows if row["map"] == "rff"]
    sets, lines = list(dict.fromkeys(row["data"] for row in plain)), []
    for kind in dict.fromkeys(row["partition"] for row in plain):
        mine = [row for row in plain if row["partition"] == kind]
        most = [max(row["variance"] for row in mine if row["data"] == data) for data in sets]
        lines.append([kind, *(f"{value:.2f}" for value in most), f"{min(row['cost'] for row in mine):.1e}"])
    caption = (
        "How hard each kind of partition is: D times the mean of (ratio - 1)^2, at the hardest bandwidth. It is a "
        "constant of data and partition, for the Gaussian kernel at most 2, and it does not grow as the cost "
        "(last: the smallest, a row) goes to 0."
    )
    return Table(caption, ["partition", *sets, "smallest cost"], lines)


def _size_table(rows: list[Row]) -> Table:
    """By how much the rule is larger than what was needed."""
    lines = []
    for map_name in ("rff", "orf"):
        for eps, delta in LEVELS:
            found_at = [
                (at["D"] / at["needed"], at, row)
                for row in rows
                for at in row["levels"]
                if (at["eps"], at["delta"]) == (eps, delta) and row["map"] == map_name and at["needed"]
            ]
            if not found_at:
                continue
            least, at, row = min(found_at, key=lambda item: item[0])
            where = f"{row['data']}, {row['bandwidth']}, {row['partition']}: {at['needed']} of {at['D']}"
            middle = float(np.median([item[0] for item in found_at]))
            lines.append([map_name, f"{eps:g}", f"{delta:g}", f"{middle:.0f}", f"{least:.1f}", where])
    caption = (
        "How loose the rule is: D by the rule over the smallest D (of about 20 tried) from which on a share "
        "1 - delta of the draws is within eps; the median over sets, bandwidths and partitions, and the least."
    )
    return Table(caption, ["map", "eps", "delta", "median factor", "least factor", "where it is least"], lines)


def _map_table(rows: list[Row]) -> Table:
    """Both maps at the same bandwidth and the largest D, a line per set."""
    error = {
        (row["data"], row["partition"], row["map"]): row["error_90"][-1]
        for row in rows
        if row["bandwidth"] == "median"
    }
    lines = []
    for data in dict.fromkeys(name for name, _, map_name in error if map_name == "rff"):
        kinds = [kind for name, kind, map_name in error if name == data and map_name == "rff"]
        ratios = [error[data, kind, "orf"] / error[data, kind, "rff"] for kind in kinds]
        most = [f"{max(error[data, kind, map_name] for kind in kinds):.4f}" for map_name in ("rff", "orf")]
        D = next(row["sizes"][-1] for row in rows if row["data"] == data)
        lines.append([data, str(D), *most, f"{min(ratios):.2f} to {max(ratios):.2f}"])
    caption = (
        "Independent and orthogonal frequencies at the median bandwidth: the 90 % quantile of |ratio - 1| for the "
        "hardest partition, and the ratio of the two over the kinds of partitions."
    )
    return Table(caption, ["data", "D", "rff", "orf", "orf / rff"], lines)


def _found_table(rows: list[Row]) -> Table:
    lines = [
        [
            row["data"],
            str(row["k"]),
            str(row["D"]),
            f"{min(row['kept']):.3f} to {max(row['kept']):.3f}",
            f"{np.mean(row['price']):.3f}",
            f"{max(row['price']):.3f}",
            f"{most_price(row):g}",
        ]
        for row in rows
    ]
    caption = (
        "The partition found in each draw (eps = delta = 0.5, median bandwidth): its cost there over that in the "
        "kernel, and its cost in the kernel over the best known."
    )
    header = ["data", "k", "D", "features / kernel", "kernel / best, mean", "worst", "allowed"]
    return Table(caption, header, lines)
