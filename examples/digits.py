"""Two views of scikit-learn's handwritten digits: k-means and power k-means side by side.

python examples/digits.py [--seeds 3] [--output demo_output]

Prints a table on stdout and writes the labels (digits_labels.csv) and a picture (digits.png).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.manifold import TSNE

from powerkmeans import KernelPowerKMeans
from powerkmeans.metrics import clustering_accuracy, normalized_mutual_info, purity
from powerkmeans.support.install import install_line

Estimator = KMeans | KernelPowerKMeans

# colour-blind safe (Paul Tol's muted scheme and grey)
COLOURS = [
    "#332288", "#88ccee", "#44aa99", "#117733", "#999933",
    "#ddcc77", "#cc6677", "#882255", "#aa4499", "#777777",
]  # fmt: skip


def two_views(images: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pixels and stroke directions of the digits, each scaled to the same spread, side by side."""
    digits = load_digits()
    images = digits.images / 16 if images is None else images
    pixels = images.reshape(len(images), -1)
    vertical, horizontal = np.gradient(images, axis=(1, 2))
    strength = np.hypot(horizontal, vertical)
    angle = np.minimum((np.arctan2(vertical, horizontal) % np.pi) / np.pi * 6, 5).astype(int)
    # strength of the strokes in six directions, summed over 2 x 2 pixels
    strokes = [np.where(angle == a, strength, 0).reshape(-1, 4, 2, 4, 2).sum(axis=(2, 4)) for a in range(6)]
    views = [pixels, np.stack(strokes, axis=1).reshape(len(images), -1)]
    views = [view - view.mean(axis=0) for view in views]
    views = [view / np.sqrt(np.mean(np.sum(view**2, axis=1))) for view in views]
    return np.hstack(views), images, digits.target


def score(
    name: str, make: Callable[[int], Estimator], X: np.ndarray, y: np.ndarray, seeds: int
) -> list[Estimator]:
    """Fit once a seed, print one line of means, return the fitted models."""
    models, rows = [], []
    for seed in range(seeds):
        start = time.perf_counter()
        models.append(make(seed).fit(X))
        seconds = time.perf_counter() - start
        labels = models[-1].labels_
        rows.append([m(y, labels) for m in (clustering_accuracy, normalized_mutual_info, purity)] + [seconds])
    acc, nmi, pur, seconds = np.mean(rows, axis=0)
    spread, cost = np.std(rows, axis=0)[0], np.mean([model.inertia_ for model in models])
    print(f"{name:34s} {acc:.3f} ±{spread:.3f}  {nmi:.3f}  {pur:.3f}  {cost:9.2f}  {seconds:6.2f} s")
    return models


def compare(X: np.ndarray, y: np.ndarray, seeds: int) -> tuple[KernelPowerKMeans, dict[str, list[float]]]:
    """Run all methods; return the first fitted model and the costs that starts reach without a kernel."""
    print(f"{'':34s} ACC           NMI    Purity  objective   time   (means of {seeds} seeds)")

    def plain(n_init: int) -> Callable[[int], Estimator]:
        return lambda seed: KMeans(10, n_init=n_init, random_state=seed)

    def ours(**parameters: object) -> Callable[[int], Estimator]:
        return lambda seed: KernelPowerKMeans(10, random_state=seed, **parameters)

    def costs(models: list[Estimator], make: Callable[[int], Estimator]) -> list[float]:
        more = [make(seed).fit(X) for seed in range(seeds, 4 * seeds)]
        return [model.inertia_ for model in models + more]

    once, power = plain(1), ours(feature_map="identity")
    once_fitted = score("k-means, 1 run", once, X, y, seeds)
    score("k-means, best of 10 runs", plain(10), X, y, seeds)
    power_fitted = score("power k-means (no kernel)", power, X, y, seeds)
    score("landmarks of a kernel", ours(feature_map="nystroem"), X, y, seeds)
    model = score("a graph of landmarks (default)", ours(), X, y, seeds)[0]
    print("Objective: sum of squared distances to the nearest centroid, in each method's own feature space.")
    return model, {"k-means, 1 run": costs(once_fitted, once), "power k-means": costs(power_fitted, power)}


def draw(
    model: KernelPowerKMeans, X: np.ndarray, images: np.ndarray, costs: dict[str, list[float]], path: Path
) -> None:
    """Clusters with their mean digits, the annealing, and the costs that restarts reach."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.offsetbox import AnnotationBbox, OffsetImage

    plt.rcParams.update({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False})
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(14, 4.8), width_ratios=[1.5, 1, 0.9])

    labels, shown = model.labels_, slice(None, None, 2)  # half of them are enough to see, in a third of the time
    plane = TSNE(init="pca", max_iter=500, random_state=0).fit_transform(X[shown])
    for j in range(model.n_clusters):
        left.scatter(*plane[labels[shown] == j].T, s=9, color=COLOURS[j], alpha=0.6, linewidths=0)
    for j in range(model.n_clusters):
        thumbnail = OffsetImage(images[labels == j].mean(axis=0), zoom=2.3, cmap="gray_r")
        box = {"edgecolor": COLOURS[j], "linewidth": 2, "boxstyle": "round,pad=0.1"}
        place = np.median(plane[labels[shown] == j], axis=0)
        left.add_artist(AnnotationBbox(thumbnail, place, bboxprops=box, pad=0.1))
    left.set(title="Clusters and their mean digits", xticks=[], yticks=[])
    left.set_xlabel("t-SNE of every second sample; colours are the clusters found")

    annealed = np.isfinite(model.history_["s"])
    size = -model.history_["s"][annealed]
    middle.plot(size, model.history_["inertia"][annealed], color=COLOURS[0], lw=2)
    middle.set(xscale="log", xlabel="|s|, growing", ylabel="cost", title="The annealing")
    critical = -model.critical_exponent_
    middle.axvline(critical, color=COLOURS[6], lw=1.2, ls="--")
    note = f"critical exponent\ns = {-critical:.1f}: clusters\nbegin to separate"
    middle.text(0.98, 0.97, note, color=COLOURS[6], ha="right", va="top", transform=middle.transAxes)
    ticks = [t for t in (1, 2, 3, 4, 6, 8, 10, 15, 20, 30, 40, 60, 100) if size[0] <= t <= size[-1]]
    middle.set_xticks(ticks, [str(t) for t in ticks])
    middle.set_xticks([], minor=True)

    rng = np.random.default_rng(0)
    for place, values in enumerate(costs.values()):
        colour = COLOURS[[6, 0][place]]
        right.scatter(
            place + rng.uniform(-0.12, 0.12, len(values)), values, s=22, color=colour, alpha=0.75, linewidths=0
        )
        right.plot([place - 0.25, place + 0.25], [np.mean(values)] * 2, color=colour, lw=2)
    right.set_xticks(range(len(costs)), costs)
    right.set(xlim=(-0.6, 1.6), ylabel="cost", title=f"The same data, {len(values)} starts")
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    plt.close(figure)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--output", type=Path, default=Path("demo_output"))
    arguments = parser.parse_args()
    X, images, y = two_views()
    print(f"Handwritten digits: {len(X)} samples, two views side by side ({X.shape[1]} columns), 10 clusters.")
    model, costs = compare(X, y, arguments.seeds)
    arguments.output.mkdir(parents=True, exist_ok=True)
    labels = np.column_stack([np.arange(len(X)), model.labels_, y])
    np.savetxt(
        arguments.output / "digits_labels.csv", labels, "%d", ",", header="sample,cluster,digit", comments=""
    )
    try:
        draw(model, X, images, costs, arguments.output / "digits.png")
    except ImportError:
        print(f"No picture: matplotlib is missing; {install_line('plot')}", file=sys.stderr)
        return 1
    print(f"Labels and picture written to {arguments.output}/: digits_labels.csv, digits.png")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
