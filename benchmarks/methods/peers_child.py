"""One fit of a peer, run by the interpreter of the peers' environment: ``python peers_child.py FOLDER``.

FOLDER holds ``request.npz`` (view_0, view_1, ...) and ``request.json`` (method, k, seed, setting, memory_limit),
and receives ``answer.npz`` (labels) and ``answer.json`` (seconds, peak_bytes, version, note; or error).
``python peers_child.py --list`` prints which peers can be imported.

Nothing is imported here but NumPy and, when it is asked for, the peer. Methods for one view get the views side by
side. The seconds are those of the fit with the choice of its bandwidth, but without imports and compilation: a fit
of a few rows comes first and does not count.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import json
import os
import signal
import sys
import time
import warnings
from pathlib import Path

import numpy as np

_MEDIAN_ROWS = 2000
_WARM_UP_ROWS, _WARM_UP_CLUSTERS = 60, 2
_NOTED_WARNINGS, _NOTED_CHARACTERS = 3, 200


def side_by_side(views, dtype=np.float64):
    """All columns in one array; some peers would answer rubbish where a value is missing, so that is refused."""
    X = np.ascontiguousarray(np.hstack(views), dtype=dtype)
    if not np.isfinite(X).all():
        raise ValueError("a view lacks values, and this method needs all of them")
    return X


def squared_distances(X):
    norms = np.einsum("ij,ij->i", X, X)
    return np.maximum(norms[:, None] + norms - 2 * X @ X.T, 0)


def median_gamma(X, seed):
    """The coefficient of a Gaussian kernel whose bandwidth is the median distance between rows."""
    X = X[~np.isnan(X).any(axis=1)]
    chosen = X[np.random.default_rng(seed).permutation(len(X))[:_MEDIAN_ROWS]]
    return float(1 / (2 * np.median(squared_distances(chosen)[np.triu_indices(len(chosen), k=1)])))


def kkmeans(views, k, seed, gamma=None, n_init=10, **setting):
    """It names minus infinity as NumPy did before version 2."""
    vars(np).setdefault("NINF", -np.inf)
    X = side_by_side(views)
    model = importlib.import_module("KKMeans").KKMeans(
        n_clusters=k, kernel="rbf", gamma=gamma or median_gamma(X, seed), n_init=n_init, rng=seed, **setting
    )
    model.fit(X)
    return model.labels_


def tslearn(views, k, seed, gamma=None, n_init=10, **setting):
    """It leaves the norms of the centroids out of the distances, so it is not quite kernel k-means."""
    X = side_by_side(views)
    model = (
        importlib.import_module("tslearn.clustering")
        .KernelKMeans(
            k,
            kernel="rbf",
            kernel_params={"gamma": gamma or median_gamma(X, seed)},
            n_init=n_init,
            random_state=seed,
            **setting,
        )
        .fit(X[:, :, None])
    )
    if model._X_fit is None:  # then its labels are those of a start that failed
        raise RuntimeError("every start ended with an empty cluster")
    return model.labels_, "approximate"


def mvlearn_spectral(views, k, seed, **setting):
    """Its own bandwidths are the median distances of the views."""
    module = importlib.import_module("mvlearn.cluster")
    return module.MultiviewSpectralClustering(k, random_state=seed, **setting).fit_predict(views)


def mvlearn_kmeans(views, k, seed, init="random", **setting):
    """Its default start, "k-means++", gives two distinct centroids at most, so that clusters are lost.

    It keeps the first of its starts and stops after ``patience`` iterations, because its objective stays infinite.
    """
    if len(views) != 2:
        raise ValueError(f"takes 2 views, not {len(views)}")
    module = importlib.import_module("mvlearn.cluster")
    return module.MultiviewKMeans(k, random_state=seed, init=init, **setting).fit_predict(views)


def imml(name):
    """A method of imml; ``kernel`` is "linear", which is its default, or "rbf" with the median of each view."""

    def run(views, k, seed, kernel="rbf", **setting):
        if kernel == "rbf":
            setting["kernel"] = lambda X: np.exp(
                -median_gamma(np.asarray(X), seed) * squared_distances(np.asarray(X))
            )
        elif kernel != "linear":
            raise ValueError(f'kernel is "rbf" or "linear", not {kernel!r}')
        estimator = getattr(importlib.import_module("imml.cluster"), name)
        model = estimator(n_clusters=k, random_state=seed, engine="python", **setting)
        return model.fit_predict([np.asarray(view, dtype=np.float64) for view in views])

    return run


def scikit_fuzzy(views, k, seed, m=1.1, error=1e-5, maxiter=1000, **setting):
    """With m=2 all centroids of data of many columns fall together."""
    module = importlib.import_module("skfuzzy.cluster")
    memberships = module.cmeans(side_by_side(views).T, k, m, error=error, maxiter=maxiter, seed=seed, **setting)[1]
    return memberships.argmax(axis=0)


def possibilistic(views, k, seed, **setting):
    model = importlib.import_module("soft_clustering").PCM(random_state=seed, **setting)
    return model.fit_predict(side_by_side(views), k).argmax(axis=1)


def faiss(views, k, seed, nredo=10, niter=100, **setting):
    """All rows are taken; by default faiss takes 256 per cluster and 25 iterations."""
    X = side_by_side(views, np.float32)
    setting = {"min_points_per_centroid": 1, "max_points_per_centroid": 2**31 - 1} | setting
    model = importlib.import_module("faiss").Kmeans(X.shape[1], k, niter=niter, nredo=nredo, seed=seed, **setting)
    model.train(X)
    return model.index.search(X, 1)[1][:, 0]


def echo(views, k, seed, behave="answer", size=0, note=None):
    """A method for tests: it labels rows in turn, or fails as it is told."""
    labels = (np.arange(len(views[0])) + seed) % k
    if behave == "describe":
        note = ", ".join(f"{view.shape} {view.dtype} {view.sum():g}" for view in views)
    elif behave == "environment":
        names = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "PYTHONPATH")
        note = " ".join(f"{name}={os.environ.get(name)}" for name in names)
    elif behave == "allocate":
        np.ones(size, dtype=np.uint8)
    elif behave == "sleep":
        _sleep(note)
    elif behave != "answer":
        labels = _MISBEHAVIOURS[behave](labels)
    return labels, note


def _raise(_labels):
    raise ValueError("not\n  like this")


def _exit(_labels):
    print("told to leave", file=sys.stderr, flush=True)
    os._exit(3)


def _sleep(path):
    """Sleep long, and so does a process that is started here; it touches a file as long as it lives."""
    if os.fork() > 0:
        time.sleep(600)
    for _ in range(6000):
        Path(path).touch()
        time.sleep(0.1)


def _warn(labels):
    for _ in range(3):
        warnings.warn("not quite there", stacklevel=2)
    return np.zeros_like(labels)


_MISBEHAVIOURS = {
    "raise": _raise,
    "exit": _exit,
    "warn": _warn,
    "kill": lambda _labels: os.kill(os.getpid(), signal.SIGKILL),
    "crash": lambda _labels: os.abort(),
    "short": lambda labels: labels[:-1],
    "columns": lambda labels: labels[:, None],
    "halves": lambda labels: labels + 0.5,
}


class MissingError(Exception):
    """The line that says that a peer is not installed, and how to install it."""


class Peer:
    """A method, the module that it imports, and what pip installs to bring it."""

    def __init__(self, run, module, install):
        self.run = run
        self.module = module
        self.install = install

    def version(self):
        """The version, after the import of the peer, which is thus not part of the fit."""
        try:
            importlib.import_module(self.module)
        except ModuleNotFoundError as error:
            raise MissingError(f"{one_line(error)}; install it: pip install {self.install}") from None
        return importlib.metadata.version(self.install.split()[-1].split("==")[0])


_IMML = {"module": "imml.cluster", "install": "imml==0.6.0"}
_MVLEARN = {"module": "mvlearn.cluster", "install": "--no-deps mvlearn==0.5.0"}

PEERS = {
    "kkmeans": Peer(kkmeans, "KKMeans", "kkmeans==0.1.0"),
    "tslearn": Peer(tslearn, "tslearn.clustering", "tslearn==0.10.0"),
    "mvlearn-spectral": Peer(mvlearn_spectral, **_MVLEARN),
    "mvlearn-kmeans": Peer(mvlearn_kmeans, **_MVLEARN),
    "imml-EEIMVC": Peer(imml("EEIMVC"), **_IMML),
    "imml-LFIMVC": Peer(imml("LFIMVC"), **_IMML),
    "scikit-fuzzy": Peer(scikit_fuzzy, "skfuzzy.cluster", "scikit-fuzzy==0.5.0"),
    "soft-clustering-PCM": Peer(possibilistic, "soft_clustering", "soft-clustering==0.2.0"),
    "faiss": Peer(faiss, "faiss", "faiss-cpu==1.15.1"),
}
_FOR_TESTS = {"echo": Peer(echo, "numpy", "numpy"), "absent": Peer(echo, "no_such_peer", "no-such-peer==1.0")}


def one_line(error):
    """The type and message of an exception in one line."""
    message = " ".join(str(error).split())
    if isinstance(error, MissingError):
        return message
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def limit_memory(limit):
    """Make allocations fail once this process holds that many bytes of data."""
    if limit is not None:
        import resource  # noqa: PLC0415 - not on Windows

        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def peak_bytes():
    """The most memory this process has held.

    Linux's VmHWM where there is one: ru_maxrss of a new process starts at the peak of its parent.
    """
    status = Path("/proc/self/status")
    if status.exists():
        (line,) = [line for line in status.read_text().splitlines() if line.startswith("VmHWM")]
        return 1024 * int(line.split()[1])
    import resource  # noqa: PLC0415 - not on Windows

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def warm_up(peer, views, seed, setting):
    """Fit a few rows, so that all code is loaded and compiled before the fit that counts."""
    complete = np.flatnonzero(~np.any([np.isnan(view).any(axis=1) for view in views], axis=0))
    rows = np.random.default_rng(seed).permutation(complete)[:_WARM_UP_ROWS]
    with contextlib.suppress(Exception), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer.run([view[rows] for view in views], _WARM_UP_CLUSTERS, seed, **setting)


def timed(peer, views, k, seed, setting):
    """Labels, notes and seconds of a fit."""
    warm_up(peer, views, seed, setting)
    np.random.seed(seed)  # noqa: NPY002 - what peers draw from that take no seed
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        answer = peer.run(views, k, seed, **setting)
        seconds = time.perf_counter() - start
    labels, note = answer if isinstance(answer, tuple) else (answer, None)
    serious = [w for w in caught if not issubclass(w.category, (DeprecationWarning, FutureWarning, ImportWarning))]
    said = dict.fromkeys(one_line(w.message)[:_NOTED_CHARACTERS] for w in serious)
    return np.asarray(labels), [*filter(None, [note]), *list(said)[:_NOTED_WARNINGS]], seconds


def whole(labels):
    """Labels as whole numbers, which they must be whatever their type."""
    numbers = labels.astype(np.int64)
    if not np.array_equal(numbers, labels):
        raise ValueError("labels are not whole numbers")
    return numbers


def answer(folder):
    """Labels and what is said about them, for the request in a folder."""
    request = json.loads((folder / "request.json").read_text())
    known = _FOR_TESTS | PEERS
    if request["method"] not in known:
        return None, {"error": f"no such method; there are {', '.join(sorted(known))}"}
    peer = known[request["method"]]
    try:
        limit_memory(request["memory_limit"])
        version = peer.version()
        with np.load(folder / "request.npz") as arrays:
            views = [arrays[f"view_{i}"] for i in range(len(arrays.files))]
        labels, notes, seconds = timed(peer, views, request["k"], request["seed"], request["setting"])
        labels = whole(labels)
    except (Exception, SystemExit) as error:
        return None, {"error": one_line(error)}
    found = len(np.unique(labels))
    if found < request["k"]:
        notes.insert(0, f"{found} of {request['k']} clusters")
    said = {"seconds": seconds, "peak_bytes": peak_bytes(), "version": version, "note": "; ".join(notes) or None}
    return labels, said


def listed():
    """The version of every peer, or why it has none."""
    found = {}
    for name, peer in PEERS.items():
        try:
            found[name] = {"version": peer.version()}
        except Exception as error:
            found[name] = {"error": one_line(error)}
    return found


def main():
    sys.path[:] = [place for place in sys.path if Path(place or ".").resolve() != Path(__file__).resolve().parent]
    if sys.argv[1:] == ["--list"]:
        with contextlib.redirect_stdout(sys.stderr):
            found = listed()
        print(json.dumps(found, indent=2))
        return
    folder = Path(sys.argv[1])
    labels, said = answer(folder)
    if labels is not None:
        np.savez(folder / "answer.npz", labels=labels)
    (folder / "answer.json").write_text(json.dumps(said))


if __name__ == "__main__":
    main()
