"""``powerkmeans demo``: handwritten digits in three views, spoilt step by step, as in ``examples/views.py``."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.text import Text
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score

from powerkmeans.cli.actions.fit import Plan, Stopwatch, fit_and_write
from powerkmeans.cli.inputs import InputOptions, Kinds, make_inputs
from powerkmeans.cli.modelling import ModelOptions
from powerkmeans.cli.outputs import Columns, Outputs
from powerkmeans.cli.planning import MODEL, REPORT
from powerkmeans.cli.samples import Samples
from powerkmeans.cli.table import Ids
from powerkmeans.cli.terminal import Terminal, grid, heading, number
from powerkmeans.estimators import MultiViewPowerKMeans
from powerkmeans.metrics import clustering_accuracy
from powerkmeans.preparing.cells import Cells
from powerkmeans.preparing.spelling import Kind

VIEWS = ("pixels", "strokes", "noise")
_OUTLIERS, _MISSING, _DIRECTIONS = 0.10, 0.20, 6
_ID = "sample"


class Step(NamedTuple):
    """Views as they are after a step, and which samples are no digits any more."""

    name: str
    views: dict[str, NDArray[Any]]
    outlier: NDArray[np.bool_]


def run(options: dict[str, Any]) -> None:
    """Tell what each step does, then write the last one's data and what was found in it."""
    terminal = Terminal(quiet=options["quiet"], as_json=options["as_json"])
    names = ["labels.csv", "memberships.csv", MODEL, *(f"{view}.csv" for view in VIEWS), "digits.csv", REPORT]
    outputs = Outputs(options["output"], names, overwrite=options["overwrite"])
    outputs.check()
    all_steps, digits = steps(seed=0)
    means = _means(all_steps, digits, options["seeds"], terminal)
    if not terminal.as_json and not terminal.quiet:
        terminal.show(*_table(all_steps, means))
    last = all_steps[-1]
    plan = Plan(outputs, Stopwatch({}), terminal, written_data(last, digits))
    reading = InputOptions(tuple(f"{view}.csv" for view in VIEWS), id_column=_ID, scale="none")
    samples = _samples(last)
    kinds: Kinds = {
        name: dict.fromkeys(cells.columns, Kind.NUMBER) for name, cells in samples.views.items() if cells
    }
    inputs = make_inputs(samples, reading, kinds, dict.fromkeys(kinds, "none"), named=True)
    parameters = ModelOptions(10).parameters(several=True)
    fit_and_write(inputs, parameters, reading, {"outliers": _OUTLIERS}, plan)
    files = " ".join(str(outputs.folder / f"{view}.csv") for view in VIEWS)
    terminal.say("Go on with these files:")
    terminal.say(f"  powerkmeans fit {files} --id {_ID} -k 10 -o digits")
    terminal.say(f"  powerkmeans evaluate digits/labels.csv {outputs.folder / 'digits.csv'} --id {_ID}")
    terminal.say("  powerkmeans explain digits/model.npz")


def _means(all_steps: list[Step], digits: NDArray[Any], seeds: int, terminal: Terminal) -> list[dict[str, float]]:
    """What was measured at each step, over as many seeds, with a bar."""
    means_of = "one seed" if seeds == 1 else f"means of {seeds} seeds"
    terminal.say(f"Handwritten digits: {len(digits):,} samples, 10 clusters; {means_of}")
    means = []
    with terminal.bar("Fitting") as bar, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the table tells, and the fit that is written tells again
        for place, step in enumerate(all_steps):
            results = []
            for seed in range(seeds):
                done = (place * seeds + seed) / (len(all_steps) * seeds)
                bar.update(done, f"{step.name}, seed {seed + 1} of {seeds}")
                results.append(measured(step, digits, seed))
            means.append({key: float(np.mean([result[key] for result in results])) for key in results[0]})
    return means


def steps(seed: int) -> tuple[list[Step], NDArray[Any]]:
    """The digits in two views, then with one more spoilt thing per step."""
    rng = np.random.default_rng(seed)
    data = load_digits()
    images = data.images / 16
    n = len(images)
    nobody, outlier = np.zeros(n, dtype=bool), rng.random(n) < _OUTLIERS
    shuffled = images.copy()
    for i in np.flatnonzero(outlier):  # an image with its pixels in a random order is no digit
        shuffled[i] = rng.permutation(images[i].ravel()).reshape(8, 8)
    noise = {"noise": rng.normal(size=(n, 64))}
    clean, spoilt = two_views(images), two_views(shuffled)
    gaps = np.where((rng.random(n) < _MISSING)[:, None], np.nan, spoilt["strokes"])
    return [
        Step("two views", clean, nobody),
        Step("+ a view of noise", {**clean, **noise}, nobody),
        Step("+ 10 % of the images shuffled", {**spoilt, **noise}, outlier),
        Step("+ 20 % of the strokes missing", {**spoilt, "strokes": gaps, **noise}, outlier),
    ], data.target


def two_views(images: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Pixels, and strengths of the strokes in six directions, each scaled to the same spread."""
    vertical, horizontal = np.gradient(images, axis=(1, 2))
    strength = np.hypot(horizontal, vertical)
    angle = (np.arctan2(vertical, horizontal) % np.pi) / np.pi * _DIRECTIONS
    which = np.minimum(angle, _DIRECTIONS - 1).astype(int)
    parts = [
        np.where(which == a, strength, 0).reshape(-1, 4, 2, 4, 2).sum(axis=(2, 4)) for a in range(_DIRECTIONS)
    ]  # summed over 2 x 2 pixels
    views = {
        "pixels": images.reshape(len(images), -1),
        "strokes": np.stack(parts, axis=1).reshape(len(images), -1),
    }
    centred = {name: view - view.mean(axis=0) for name, view in views.items()}
    return {name: view / np.sqrt(np.mean(np.sum(view**2, axis=1))) for name, view in centred.items()}


def measured(step: Step, digits: NDArray[Any], seed: int) -> dict[str, float]:
    """Fit, and compare with what is known: digits, outliers, and k-means on the same columns."""
    model = MultiViewPowerKMeans(10, random_state=seed).fit(step.views)
    genuine = ~step.outlier
    scores = model.outlier_score(step.views)
    weights = dict(zip(step.views, model.view_weights_.tolist(), strict=True))
    return {
        "accuracy": clustering_accuracy(digits[genuine], model.labels_[genuine]),
        "kmeans": clustering_accuracy(digits[genuine], _kmeans(step.views, seed)[genuine]),
        "auc": float(roc_auc_score(step.outlier, scores)) if np.any(step.outlier) else np.nan,
        **{f"weight_{name}": weights.get(name, np.nan) for name in VIEWS},
    }


def _kmeans(views: dict[str, NDArray[Any]], seed: int) -> NDArray[Any]:
    """k-means on all columns, each view at the same spread, missing entries at their mean."""
    filled = [np.where(np.isnan(view), np.nanmean(view, axis=0), view) for view in views.values()]
    centred = [view - view.mean(axis=0) for view in filled]
    table = np.hstack([view / np.sqrt(np.mean(np.sum(view**2, axis=1))) for view in centred])
    labels: NDArray[Any] = KMeans(10, n_init=10, random_state=seed).fit_predict(table)
    return labels


def _table(all_steps: list[Step], means: list[dict[str, float]]) -> tuple[Any, ...]:
    names = ("accuracy", "kmeans", *(f"weight_{view}" for view in VIEWS), "auc")
    rows = [
        [step.name, *(number(mean[name]) for name in names)] for step, mean in zip(all_steps, means, strict=True)
    ]
    header = ["", "accuracy", "k-means", *VIEWS, "AUC"]
    return (
        heading("Spoilt step by step", "weights of the views; AUC of the outlier scores"),
        grid(header, rows),
        Text(
            "\n  Accuracy counts the digits alone; k-means gets all columns, ten runs, gaps at their means.\n",
            "dim",
        ),
    )


def _samples(step: Step) -> Samples:
    n = len(step.outlier)
    views = {name: Cells(tuple(_column_names(name, view.shape[1])), view) for name, view in step.views.items()}
    ids = Ids(_ID, np.array([str(i) for i in range(n)], dtype=object), True)
    return Samples(dict(views), ids, n, n_rows=n)


def _column_names(view: str, width: int) -> list[str]:
    return [f"{view}_{place}" for place in range(width)]


def written_data(step: Step, digits: NDArray[Any]) -> dict[str, Columns]:
    """The views as files, without the rows they lack, and the digits that the images show."""
    files: dict[str, Columns] = {}
    for name, view in step.views.items():
        rows = np.flatnonzero(~np.isnan(view[:, 0]))
        columns = zip(_column_names(name, view.shape[1]), view[rows].T, strict=True)
        files[f"{name}.csv"] = {_ID: rows, **dict(columns)}
    return {**files, "digits.csv": {_ID: np.arange(len(digits)), "digit": digits}}
