"""Fits with whatever powerkmeans is on the path: a file of views, a number of clusters and a seed a line.

All is at its default but the feature map: landmarks, which every checkout has.
Only public names are imported, so that it runs with the sources of any checkout.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans
from powerkmeans.metrics import clustering_accuracy, normalized_mutual_info


def fitted(path: str, seed: int) -> dict[str, Any]:
    """What comes of a fit to landmarks; processor seconds do not mind what else the machine does."""
    with np.load(path) as data:
        y, views = data["y"], [data[name] for name in data.files if name != "y"]
    kind = MultiViewPowerKMeans if len(views) > 1 else KernelPowerKMeans
    start = time.process_time()
    model = kind(len(np.unique(y)), feature_map="nystroem", random_state=seed)
    model.fit(views if len(views) > 1 else views[0])
    seconds = time.process_time() - start
    return {
        "ACC": clustering_accuracy(y, model.labels_),
        "NMI": normalized_mutual_info(y, model.labels_),
        "iterations": sum(restart["n_iter"] for restart in model.restarts_),
        "cpu_seconds": round(seconds, 4),
    }


def main() -> None:
    warnings.simplefilter("ignore")
    with threadpool_limits(limits=1):
        for line in sys.stdin:
            path, seed = line.rstrip("\n").rsplit("\t", 1)
            print(json.dumps(fitted(path, int(seed))), flush=True)


if __name__ == "__main__":
    main()
