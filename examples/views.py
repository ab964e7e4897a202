"""Three views of handwritten digits, spoiled step by step: a view of noise, outliers, missing rows.

python examples/views.py [--seeds 3] [--output demo_output]

Prints on stdout what each step does to view weights, outlier scores and labels; writes one line per sample
(views_samples.csv), a picture (views.png) and the report of the last fit (views.html).
"""

from __future__ import annotations

import argparse
import sys
import warnings
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.cluster import KMeans
from sklearn.metrics import roc_auc_score

from digits import COLOURS, two_views
from powerkmeans import MultiViewPowerKMeans, explain_views
from powerkmeans.exceptions import DataGuidanceWarning
from powerkmeans.metrics import clustering_accuracy
from powerkmeans.report import write_report
from powerkmeans.support.install import install_line

OUTLIERS, MISSING, THRESHOLD_SHARE = 0.10, 0.20, 0.10


class Step(NamedTuple):
    """Views as they are after a step, which samples are outliers, and the images behind them."""

    name: str
    views: dict[str, np.ndarray]
    outlier: np.ndarray
    images: np.ndarray


def steps(seed: int) -> tuple[list[Step], np.ndarray]:
    """The digits in two views, then with one more spoilt thing per step."""
    rng = np.random.default_rng(seed)
    _, images, y = two_views()
    n = len(y)
    nobody, outlier = np.zeros(n, dtype=bool), rng.random(n) < OUTLIERS
    shuffled = images.copy()
    for i in np.flatnonzero(outlier):  # an image with its pixels in a random order is no digit
        shuffled[i] = rng.permutation(images[i].ravel()).reshape(8, 8)
    noise = {"noise": rng.normal(size=(n, 64))}
    clean, spoilt = split(images), split(shuffled)
    gaps = np.where((rng.random(n) < MISSING)[:, None], np.nan, spoilt["strokes"])
    return [
        Step("two views", clean, nobody, images),
        Step("+ a view of noise", {**clean, **noise}, nobody, images),
        Step("+ 10 % outliers", {**spoilt, **noise}, outlier, shuffled),
        Step("+ 20 % of the strokes missing", {**spoilt, "strokes": gaps, **noise}, outlier, shuffled),
    ], y


def split(images: np.ndarray) -> dict[str, np.ndarray]:
    """Pixels, and strengths of the strokes in six directions."""
    table, _, _ = two_views(images)
    return {"pixels": table[:, :64], "strokes": table[:, 64:]}


def kmeans_labels(views: dict[str, np.ndarray], seed: int) -> np.ndarray:
    """k-means on all columns, each view at the same spread, missing entries at their mean."""
    filled = [np.where(np.isnan(v), np.nanmean(v, axis=0), v) for v in views.values()]
    centred = [v - v.mean(axis=0) for v in filled]
    table = np.hstack([v / np.sqrt(np.mean(np.sum(v**2, axis=1))) for v in centred])
    return KMeans(10, n_init=10, random_state=seed).fit_predict(table)


def measure(step: Step, y: np.ndarray, seed: int) -> tuple[MultiViewPowerKMeans, dict[str, float]]:
    """Fit, and compare with what is known: digits, outliers, and k-means on the same columns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataGuidanceWarning)  # the view of noise is there on purpose
        model = MultiViewPowerKMeans(10, random_state=seed).fit(step.views)
    scores, genuine = model.outlier_score(step.views), ~step.outlier
    result = {
        "ours": clustering_accuracy(y[genuine], model.labels_[genuine]),
        "kmeans": clustering_accuracy(y[genuine], kmeans_labels(step.views, seed)[genuine]),
        "auc": roc_auc_score(step.outlier, scores) if np.any(step.outlier) else np.nan,
        "score_genuine": float(np.median(scores[genuine])),
        "score_outlier": float(np.median(scores[step.outlier])) if np.any(step.outlier) else np.nan,
    }
    return model, result | dict(zip(step.views, model.view_weights_.tolist(), strict=True))


def show(step: Step, results: list[dict[str, float]]) -> dict[str, float]:
    """One line of means over the seeds."""
    mean = {key: float(np.mean([r[key] for r in results])) for key in results[0]}
    names = ("pixels", "strokes", "noise")
    weights = "  ".join(f"{mean[n]:7.3f}" if n in mean else " " * 7 for n in names)
    blank = np.isnan(mean["auc"])
    found = " " * 26 if blank else f"{mean['score_genuine']:8.3f}{mean['score_outlier']:10.3f}{mean['auc']:8.3f}"
    print(f"{step.name:31s}{mean['ours']:6.3f}  {mean['kmeans']:8.3f}    {weights}  {found}".rstrip(), flush=True)
    return mean


def draw(model: MultiViewPowerKMeans, step: Step, means: dict[str, dict[str, float]], path: Path) -> None:
    """Weights of the views, outlier scores with the images behind them, accuracy step by step."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.offsetbox import AnnotationBbox, OffsetImage

    plt.rcParams.update({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False})
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(14, 4.6), width_ratios=[1, 1.35, 1])

    bars = left.bar(list(step.views), model.view_weights_, color=(COLOURS[0], COLOURS[2], COLOURS[6]))
    left.bar_label(bars, fmt="%.2f", padding=3)
    left.set(title="View weights", ylim=(0, 1.15 * max(model.view_weights_)))

    scores = model.outlier_score(step.views)
    bins = np.linspace(scores.min(), scores.max(), 45)
    for mine, colour, label in (
        (~step.outlier, COLOURS[0], "digits"),
        (step.outlier, COLOURS[6], "shuffled images"),
    ):
        middle.hist(scores[mine], bins, color=colour, alpha=0.65, label=label)
    top = middle.get_ylim()[1]
    middle.set(ylim=(0, 1.5 * top), title="Outlier scores", xlabel="score")
    order = np.argsort(scores)
    for place, i in enumerate([*order[:4], *order[-4:]]):
        x = bins[0] + (bins[-1] - bins[0]) * (place + 0.5) / 8
        colour = COLOURS[6] if step.outlier[i] else COLOURS[0]
        picture = OffsetImage(step.images[i], zoom=2.7, cmap="gray_r")
        box = {"edgecolor": colour, "linewidth": 2, "boxstyle": "round,pad=0.1"}
        middle.add_artist(AnnotationBbox(picture, (x, 1.36 * top), bboxprops=box, pad=0.1))
    middle.text(bins[0], 1.18 * top, "lowest four", fontsize=9)
    middle.text(bins[-1], 1.18 * top, "highest four", fontsize=9, ha="right")
    middle.legend(frameon=False, loc="center right")

    for key, colour, label in (("ours", COLOURS[0], "powerkmeans"), ("kmeans", COLOURS[6], "k-means")):
        right.plot([m[key] for m in means.values()], "o-", color=colour, lw=2, label=label)
    right.set_xticks(range(len(means)), ["two\nviews", "+ noise\nview", "+ outliers", "+ missing\nrows"])
    right.set(title="Accuracy on the digits", ylim=(0.5, 1.0), xlim=(-0.3, 3.3))
    right.legend(frameon=False, loc="lower left")
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    plt.close(figure)


def write_page(model: MultiViewPowerKMeans, step: Step, path: Path) -> None:
    """The report, with pixels in grey levels from 0 to 16."""
    names = {
        "pixels": [f"row {row}, column {column}" for row in range(8) for column in range(8)],
        "strokes": [f"{30 * a}\u00b0 in field {r},{c}" for a in range(6) for r in range(4) for c in range(4)],
        "noise": [f"noise {i}" for i in range(64)],
    }
    write_report(
        path,
        model,
        step.views,
        ids=[f"image {i}" for i in range(len(step.images))],
        title="Handwritten digits in three views",
        feature_names=names,
        original={**step.views, "pixels": 16 * step.images.reshape(len(step.images), 64)},
        scaling="each view centred and at the same spread",
        overwrite=True,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--output", type=Path, default=Path("demo_output"))
    arguments = parser.parse_args()
    all_steps, y = steps(seed=0)
    print(f"Handwritten digits, {len(y)} samples, 10 clusters; means of {arguments.seeds} seeds.")
    print(f"{'':31s}   accuracy         weights of the views          outlier score, median")
    print(f"{'':31s}  ours   k-means     pixels  strokes    noise     digits  shuffled  AUC")
    asked = [(step, y, seed) for step in all_steps for seed in range(arguments.seeds)]
    # a process per core, which fits on one thread: the answers are the same
    done = Parallel(n_jobs=-1, return_as="generator")(delayed(measure)(*one) for one in asked)
    means = {}
    for step in all_steps:
        fits = list(islice(done, arguments.seeds))
        means[step.name] = show(step, [result for _, result in fits])
    print("Accuracy counts the digits alone. k-means gets all columns, missing ones at their mean.\n")

    last, model = all_steps[-1], fits[0][0]
    print("What each view contributes to the last fit (explain_views):")
    print(explain_views(model, last.views))

    arguments.output.mkdir(parents=True, exist_ok=True)
    scores = model.outlier_score(last.views)
    threshold = float(np.quantile(scores, 1 - THRESHOLD_SHARE))
    labels = model.predict(last.views, noise_threshold=threshold)
    caught = np.mean(last.outlier[labels == -1])
    print(
        f"\npredict(noise_threshold={threshold:.3f}) gives {np.sum(labels == -1)} samples the label -1,", end=" "
    )
    print(f"{caught:.0%} of them shuffled.")
    table = np.column_stack(
        [np.arange(len(y)), labels, scores, last.outlier, np.isnan(last.views["strokes"][:, 0]), y]
    )
    np.savetxt(
        arguments.output / "views_samples.csv", table, ["%d", "%d", "%.4f", "%d", "%d", "%d"], ",",
        header="sample,cluster,outlier_score,is_shuffled,lacks_strokes,digit", comments="",
    )  # fmt: skip
    write_page(model, last, arguments.output / "views.html")
    try:
        draw(model, last, means, arguments.output / "views.png")
    except ImportError:
        print(f"No picture: matplotlib is missing; {install_line('plot')}", file=sys.stderr)
        return 1
    print(f"Samples, report and picture written to {arguments.output}/: views_samples.csv, views.html, views.png")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
