"""Pictures of the study: what each factor does, and cost and accuracy over the start of the annealing."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

from benchmarks.harness.store import Row
from benchmarks.paper.pictures import BLACK, BLUE, GREY, ORANGE, log_scale
from benchmarks.study import factors
from benchmarks.study.factors import ADVICE, BEFORE
from benchmarks.study.run import Settled
from benchmarks.study.sets import load
from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans
from powerkmeans.metrics import clustering_accuracy
from powerkmeans.plotting import SplitDisplay

MULTIPLES = (0.3, 0.5, 0.7, 0.9, 1.0, 1.2, 1.5, 2.0, 3.0, 5.0)
STARTED_ON, STARTS, START_SEEDS = "HW2", {"cloud": BLUE, "k-means++": ORANGE}, 3
START_KEYS = ("init", "multiple", "seed")


def start_row(job: tuple[str, float, int], folder: Path) -> Row:
    """One annealing from a multiple of the critical exponent: its hard cost, accuracy and iterations."""
    init, multiple, seed = job
    views, y = load(STARTED_ON, folder, 0, "standardised")
    level = factors.starts(multiple, multiple).constants
    with warnings.catch_warnings(), threadpool_limits(limits=1):
        warnings.simplefilter("ignore")
        with factors.set_constants(level | factors.FACTORS["moves"]["none"].constants):
            model = MultiViewPowerKMeans(
                len(np.unique(y)), feature_map="nystroem", n_components=432, init=init, random_state=seed
            ).fit(views)
    found = {"ACC": clustering_accuracy(y, model.labels_), "cost": model.inertia_, "iterations": model.n_iter_}
    return {"init": init, "multiple": multiple, "seed": seed, "s_init": model.s_init_} | found


def draw_starts(plt: Any, rows: list[Row]) -> Any:
    """Accuracy and cost over the multiple of the critical exponent at which the annealing starts."""
    figure, (above, below) = plt.subplots(2, 1, figsize=(6.4, 5.2), sharex=True, layout="constrained")
    least = min(row["cost"] for row in rows)
    for init, colour in STARTS.items():
        mine = [row for row in rows if row["init"] == init]
        multiples = sorted({row["multiple"] for row in mine})
        for axes, value in ((above, lambda r: 100 * r["ACC"]), (below, lambda r: 100 * (r["cost"] / least - 1))):
            axes.plot([r["multiple"] for r in mine], [value(r) for r in mine], "o", ms=4, alpha=0.35, color=colour)
            means = [np.mean([value(r) for r in mine if r["multiple"] == m]) for m in multiples]
            axes.plot(multiples, means, "-", lw=2, color=colour, label=f"from {init}")
    for axes in (above, below):
        axes.axvline(1, color=GREY, lw=1, ls="--")
        axes.spines[["top", "right"]].set_visible(False)
    above.set_ylabel("ACC, %")
    below.set_ylabel("cost above the least seen, %")
    below.set_xlabel("start of the exponent, in multiples of the critical one")
    log_scale(below, "x")
    below.set_xticks(MULTIPLES, [f"{m:g}" for m in MULTIPLES])
    above.annotate(
        "collapse loses stability",
        (1, above.get_ylim()[0]),
        (4, 6),
        textcoords="offset points",
        color=GREY,
        fontsize=8,
    )
    above.legend(frameon=False)
    above.set_title(f"{STARTED_ON}: every point is one annealing, without moves", fontsize=10, loc="left")
    return figure


def draw_splits(plt: Any) -> Any:
    """Which clusters of the digits separate at which exponent, in a slow annealing."""
    X, y = load_digits(return_X_y=True)
    rows = np.concatenate([np.flatnonzero(y == digit)[:40] for digit in range(10)])
    settings = {
        "feature_map": "nystroem",
        "init": "cloud",
        "anneal_factor": 1.02,
        "anneal_every": 10,
        "max_iter": 3000,
    }
    model = KernelPowerKMeans(10, n_components=300, random_state=0, **settings).fit(X[rows])
    names = [np.bincount(y[rows][model.labels_ == cluster]).argmax() for cluster in range(10)]
    figure, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    SplitDisplay.from_estimator(model, ax=axes)
    labels = [text.get_text() for text in axes.get_yticklabels()]
    numbers = [int(label.split()[1].rstrip(",")) for label in labels]
    axes.set_yticklabels([f"mostly {names[number]}" for number in numbers])
    axes.set_title("Forty images of each digit: the coarse groups part first", fontsize=10, loc="left")
    return figure


def draw_factors(plt: Any, settled: list[Settled]) -> Any:
    """Mean ACC of every level against that of the level that stood before, on one scale for all factors."""
    columns = 2
    lines = -(-len(settled) // columns)
    figure, grid = plt.subplots(lines, columns, figsize=(9.6, 1.7 * lines), layout="constrained", sharex=True)
    for axes, found in zip(grid.flat, settled, strict=False):
        levels = [standing for standing in found.scan if standing.complete][::-1]
        (stood,) = [s.scores["ACC"] for s in levels if s.level == BEFORE[found.factor]]
        axes.axvline(0, color=GREY, lw=1)
        for place, standing in enumerate(levels):
            chosen = standing.level == found.winner and found.factor not in ADVICE
            gain = 100 * (standing.scores["ACC"] - stood)
            axes.plot(gain, place, "o", color=ORANGE if chosen else BLACK, ms=5)
            text = f"{gain:+.1f}" if standing.level != BEFORE[found.factor] else f"{100 * stood:.1f}"
            side = {"xytext": (-6, 0), "ha": "right"} if gain < 0 else {"xytext": (6, 0), "ha": "left"}
            axes.annotate(
                text, (gain, place), textcoords="offset points", va="center", fontsize=7, color=GREY, **side
            )
        axes.set_yticks(range(len(levels)), [standing.level for standing in levels], fontsize=7)
        axes.set_title(found.factor, fontsize=9, loc="left")
        axes.tick_params(axis="x", labelsize=7)
        axes.margins(x=0.1, y=0.15)
        axes.spines[["top", "right", "left"]].set_visible(False)
    for axes in grid.flat[len(settled) :]:
        axes.set_visible(False)
    figure.supxlabel(
        "mean ACC over the sets that chose, in points above the level that stood; orange: chosen", fontsize=8
    )
    return figure
