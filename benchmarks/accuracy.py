"""ACC, NMI and purity on real sets: defaults and the paper's settings beside scikit-learn's KMeans.

python -m benchmarks.accuracy --data FOLDER

The paper's settings: bandwidth 1000, k-means start, s multiplied by 1.04 every 3 iterations, |s_0| from
{5, ..., 25}. The paper picks the best |s_0| with the labels; here every one is a row of its own, and the
table marks the one that the labels would pick.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler

from benchmarks.datasets import data_folder, load_views
from benchmarks.report import mean_std, print_table, read_lines, write_lines
from benchmarks.starts import features
from powerkmeans import KernelPowerKMeans
from powerkmeans.metrics import clustering_accuracy, normalized_mutual_info, purity

Labels = np.ndarray
Run = Callable[[np.ndarray, int, int], Labels]

SETS = {
    "HW2 pix": ("HW2", [0]),
    "100leaves margin": ("100leaves", [0]),
    "Yale": ("Yale", [0]),
    "HW2 both": ("HW2", [0, 1]),
}
PAPER_STARTS = (-5.0, -10.0, -15.0, -20.0, -25.0)


def ours(**parameters: Any) -> Run:
    return lambda X, k, seed: KernelPowerKMeans(k, random_state=seed, **parameters).fit_predict(X)


def paper(s_init: float) -> Run:
    return ours(bandwidth=1000.0, s_init=s_init, anneal_every=3, init="k-means")


def kmeans(X: np.ndarray, k: int, seed: int) -> Labels:
    return KMeans(k, n_init=10, random_state=seed).fit_predict(X)


def kmeans_on_features(**parameters: Any) -> Run:
    def run(X: np.ndarray, k: int, seed: int) -> Labels:
        # one iteration is enough to draw the features
        model = KernelPowerKMeans(k, random_state=seed, s_init=-np.inf, init="random", max_iter=1, **parameters)
        return kmeans(features(model.fit(X), X), k, seed)

    return run


METHODS: dict[str, Run] = {
    "defaults": ours(),
    **{f"paper, s0={s:g}": paper(s) for s in PAPER_STARTS},
    "KMeans(10)": kmeans,
    "KMeans(10), same features": kmeans_on_features(),
    "KMeans(10), paper's features": kmeans_on_features(bandwidth=1000.0),
}
VARIANTS: dict[str, Run] = {
    "defaults, orf": ours(feature_map="orf"),
    "defaults, nystroem": ours(feature_map="nystroem"),
    "defaults, possibilistic": ours(membership="possibilistic"),
    "defaults, k-means++ start alone": ours(init="k-means++"),
    "orf, D=432": ours(feature_map="orf", n_components=432),
    "nystroem, 432": ours(feature_map="nystroem", n_components=432),
    "nystroem, 432, possibilistic": ours(feature_map="nystroem", n_components=432, membership="possibilistic"),
    "KMeans(10), nystroem, 432": kmeans_on_features(feature_map="nystroem", n_components=432),
}


def run_set(folder: Path, name: str, seeds: int, wanted: list[str] | None) -> list[dict[str, Any]]:
    file, chosen = SETS[name]
    views, y = load_views(folder, file)
    raw = np.hstack([views[i] for i in chosen])
    rows = []
    methods = METHODS | (VARIANTS if name.startswith("HW2") else {})
    methods = {key: run for key, run in methods.items() if wanted is None or key in wanted}
    for scaling, X in (("raw", raw), ("standardised", StandardScaler().fit_transform(raw))):
        for method, run in methods.items():
            for seed in range(seeds):
                start = time.perf_counter()
                labels = run(X, len(np.unique(y)), seed)
                rows.append(
                    {
                        "data": name,
                        "scaling": scaling,
                        "method": method,
                        "seed": seed,
                        "ACC": clustering_accuracy(y, labels),
                        "NMI": normalized_mutual_info(y, labels),
                        "Purity": purity(y, labels),
                        "seconds": time.perf_counter() - start,
                    }
                )
            print(".", end="", flush=True)
    print(f" {name}")
    return rows


def merged(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Old rows with those of the same data, scaling and method replaced, in their old places."""
    keys = ("data", "scaling", "method")
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in old:
        groups.setdefault(tuple(row[k] for k in keys), []).append(row)
    for key in {tuple(row[k] for k in keys) for row in new}:
        groups[key] = [row for row in new if tuple(row[k] for k in keys) == key]
    return [row for rows in groups.values() for row in rows]


def table(rows: list[dict[str, Any]]) -> list[list[str]]:
    """One line a data set, scaling and method; of the paper's starts, the one the labels pick is marked."""
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["data"], row["scaling"], row["method"]), []).append(row)
    best = {}
    for (data, scaling, method), runs in groups.items():
        if method.startswith("paper, "):
            accuracy = np.mean([r["ACC"] for r in runs])
            best[data, scaling] = max(best.get((data, scaling), (0.0, "")), (accuracy, method))
    lines = []
    for (data, scaling, method), runs in groups.items():
        accuracies = [r["ACC"] for r in runs]
        mark = " (tuned on labels)" if best.get((data, scaling), ("", ""))[1] == method else ""
        scores = [mean_std([r[m] for r in runs]) for m in ("ACC", "NMI", "Purity")]
        spread = f"{min(accuracies):.3f} {np.median(accuracies):.3f} {max(accuracies):.3f}"
        lines.append(
            [data, scaling, method + mark, *scores, spread, f"{np.mean([r['seconds'] for r in runs]):.2f}"]
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder of .npz data sets (default: $POWERKMEANS_DATA)")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument(
        "--methods", nargs="+", choices=METHODS | VARIANTS, help="run these only; other rows stay as they were"
    )
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    folder = data_folder(arguments.data)
    new = [row for name in arguments.sets for row in run_set(folder, name, arguments.seeds, arguments.methods)]
    rows = merged(read_lines("accuracy"), new)
    print_table(["data", "scaling", "method", "ACC", "NMI", "Purity", "ACC min, median, max", "s"], table(rows))
    print(f"written to {write_lines('accuracy', rows)}")


if __name__ == "__main__":
    main()
