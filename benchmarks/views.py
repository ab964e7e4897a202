"""Several views of real sets: ACC, NMI and purity of MultiViewPowerKMeans, beside k-means on all columns.

python -m benchmarks.views --data FOLDER [--sets ...] [--methods ...] [--jobs 2]

"tuned on labels" rows follow the paper: bandwidth 1000, no scaling of the features, lambda from {0.1, ..., 1000}
and |s_0| from {5, ..., 25}, the setting picked that is best by the labels (over the first seeds, see
--tuning-seeds). All other rows see no labels. Rows are written as soon as a method is through, and replace older
ones.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler

from benchmarks.accuracy import merged
from benchmarks.datasets import data_folder, load_views
from benchmarks.report import mean_std, print_table, read_lines, write_lines
from powerkmeans import MultiViewPowerKMeans
from powerkmeans.engines import NumpyOptions
from powerkmeans.metrics import clustering_accuracy, normalized_mutual_info, purity

Views = list[np.ndarray]
Answer = tuple[np.ndarray, list[float]]

SETS = {
    "HW2": "HW2",
    "handwritten": "handwritten",
    "LGG (2 of 4 views)": "LGG_2of4views",
    "Caltech101-7 (re-extracted)": "Caltech101-7_reextracted",
    "Caltech101-20 (re-extracted)": "Caltech101-20_reextracted",
    "100leaves": "100leaves",
}
ENTROPIES = (0.1, 1.0, 10.0, 100.0, 1000.0)
STARTS = (-5.0, -10.0, -15.0, -20.0, -25.0)


def ours(views: Views, k: int, seed: int, **parameters: Any) -> Answer:
    model = MultiViewPowerKMeans(k, random_state=seed, engine=NumpyOptions(n_threads=1), **parameters)
    model.fit([view.astype(np.float32) for view in views])
    return model.labels_, model.view_weights_.round(4).tolist()


def papers(views: Views, k: int, seed: int, **parameters: Any) -> Answer:
    """The paper's algorithm at the paper's bandwidth, in double precision because that flattens most kernels."""
    paper = {"bandwidth": 1000.0, "view_scaling": None, "view_baseline": None}
    model = MultiViewPowerKMeans(k, random_state=seed, engine=NumpyOptions(n_threads=1), **paper, **parameters)
    model.fit(views)
    return model.labels_, model.view_weights_.round(4).tolist()


def kmeans(views: Views, k: int, seed: int) -> Answer:
    side_by_side = np.hstack([StandardScaler().fit_transform(view) for view in views])
    return KMeans(k, n_init=10, random_state=seed).fit_predict(side_by_side), []


def with_parameters(function: Callable[..., Answer], **parameters: Any) -> Callable[[Views, int, int], Answer]:
    def run(views: Views, k: int, seed: int) -> Answer:
        return function(views, k, seed, **parameters)

    return run


METHODS: dict[str, Callable[[Views, int, int], Answer]] = {
    "defaults (possibilistic)": ours,
    "defaults, fuzzy": with_parameters(ours, membership="fuzzy"),
    "KMeans(10), standardised, side by side": kmeans,
    "even weights": with_parameters(ours, entropy=np.inf),
    "no baseline": with_parameters(ours, view_baseline=None),
    "nystroem, 432 landmarks": with_parameters(ours, feature_map="nystroem", n_components=432),
}
TUNED = {"paper, tuned on labels (possibilistic)": "possibilistic", "paper, tuned on labels, fuzzy": "fuzzy"}


def scored(run: Callable[..., Answer], views: Views, y: np.ndarray, seed: int) -> dict[str, Any]:
    warnings.simplefilter("ignore")
    start = time.perf_counter()
    try:
        labels, weights = run(views, len(np.unique(y)), seed)
    except ValueError as error:  # at bandwidth 1000 all kernels may be flat
        return {"seed": seed, "error": str(error)}
    return {
        "seed": seed,
        "ACC": clustering_accuracy(y, labels),
        "NMI": normalized_mutual_info(y, labels),
        "Purity": purity(y, labels),
        "weights": weights,
        "seconds": time.perf_counter() - start,
    }


def tuned(membership: str, views: Views, y: np.ndarray, seeds: int, tuning_seeds: int, jobs: Any) -> list[dict]:
    """The paper's grid over lambda and s_0, the best mean accuracy over the tuning seeds picked."""
    grid = [(entropy, s) for entropy in ENTROPIES for s in STARTS]
    runs = [with_parameters(papers, membership=membership, entropy=e, s_init=s) for e, s in grid]
    tries = jobs(delayed(scored)(run, views, y, seed) for run in runs for seed in range(tuning_seeds))
    accuracies = np.array([t.get("ACC", 0.0) for t in tries]).reshape(len(grid), tuning_seeds).mean(axis=1)
    best = int(np.argmax(accuracies))
    rows = jobs(delayed(scored)(runs[best], views, y, seed) for seed in range(seeds))
    return [row | {"entropy": grid[best][0], "s_init": grid[best][1]} for row in rows]


def table(rows: list[dict[str, Any]]) -> list[list[str]]:
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["data"], row["scaling"], row["method"]), []).append(row)
    lines = []
    for key, runs in groups.items():
        good = [r for r in runs if "ACC" in r]
        if not good:
            lines.append([*key, "-", "-", "-", runs[0]["error"][:40], str(len(runs)), "-"])
            continue
        weights = np.mean([r["weights"] for r in good], axis=0) if good[0]["weights"] else []
        shown = " ".join(f"{w:.2f}" for w in weights) or "-"
        scores = [mean_std([r[m] for r in good]) for m in ("ACC", "NMI", "Purity")]
        lines.append([*key, *scores, shown, str(len(good)), f"{np.mean([r['seconds'] for r in good]):.1f}"])
    return lines


HEADER = ["data", "scaling", "method", "ACC", "NMI", "Purity", "mean view weights", "runs", "s"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder of .npz data sets (default: $POWERKMEANS_DATA)")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--tuning-seeds", type=int, default=1)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--methods", nargs="+", choices=METHODS | TUNED, default=list(METHODS | TUNED))
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    folder, rows = data_folder(arguments.data), read_lines("views")
    with Parallel(n_jobs=arguments.jobs) as jobs:
        for method in arguments.methods:
            for name in arguments.sets:
                raw, y = load_views(folder, SETS[name])
                standardised = [StandardScaler().fit_transform(view) for view in raw]
                for scaling, views in (("raw", raw), ("standardised", standardised)):
                    if method in TUNED:
                        new = tuned(TUNED[method], views, y, arguments.seeds, arguments.tuning_seeds, jobs)
                    else:
                        new = jobs(delayed(scored)(METHODS[method], views, y, s) for s in range(arguments.seeds))
                    group = {"data": name, "scaling": scaling, "method": method}
                    rows = merged(rows, [group | row for row in new])
                    write_lines("views", rows)
                    print_table(HEADER, table([group | row for row in new]))
    order = {name: i for i, name in enumerate(SETS)}, {name: i for i, name in enumerate(METHODS | TUNED)}
    rows.sort(key=lambda row: (order[0][row["data"]], row["scaling"], order[1][row["method"]]))
    print_table(HEADER, table(rows))
    print(f"written to {write_lines('views', rows)}")


if __name__ == "__main__":
    main()
