"""k-means of libraries that are written for speed: faiss and fastkmeans.

Their own defaults, but ``ALL_ROWS``: all rows and up to 100 iterations from ten starts, where faiss's defaults
take 256 rows per cluster, 25 iterations and one start.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from benchmarks.methods.interface import Answer, Method, Run, threads, without_setting

ALL_ROWS = {"max_points_per_centroid": 2**31 - 1, "niter": 100, "nredo": 10}
_FAISS = {"module": "faiss", "install": "faiss-cpu"}


def faiss(**parameters: Any) -> Run:
    @without_setting
    def run(X: np.ndarray, k: int, seed: int) -> Answer:
        module = importlib.import_module("faiss")
        model = module.Kmeans(X.shape[1], k, seed=seed, min_points_per_centroid=1, **parameters)
        model.train(X)

        def predict(rows: np.ndarray) -> np.ndarray:
            return model.index.search(rows, 1)[1][:, 0]

        return Answer(predict(X), len(model.obj) if "nredo" not in parameters else None, predict=predict)

    return run


@without_setting
def fastkmeans(X: np.ndarray, k: int, seed: int) -> Answer:
    importlib.import_module("torch").set_num_threads(threads())
    model = importlib.import_module("fastkmeans").FastKMeans(X.shape[1], k, gpu=False, seed=seed)
    return Answer(model.fit_predict(X), predict=model.predict)


FAISS, FAISS_10 = Method(faiss(), **_FAISS), Method(faiss(**ALL_ROWS), **_FAISS)
FASTKMEANS = Method(fastkmeans, module="fastkmeans", install="fastkmeans")
