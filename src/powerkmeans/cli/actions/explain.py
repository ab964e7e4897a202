"""``powerkmeans explain``: what a model found."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.text import Text

from powerkmeans.cli.actions.predict import read_for
from powerkmeans.cli.actions.summary import bandwidths, cluster_table, features, view_weights
from powerkmeans.cli.answers import view_table
from powerkmeans.cli.errors import counted
from powerkmeans.cli.loading import load_prepared
from powerkmeans.cli.manifest import check_run
from powerkmeans.cli.terminal import Terminal, facts, grid, heading, number
from powerkmeans.preparing.prepared import PreparedModel
from powerkmeans.support.escapes import printable


def run(options: dict[str, Any]) -> None:
    """Tell what is in a model; judge its views on new data if there is any."""
    terminal = Terminal(quiet=options["quiet"], as_json=options["as_json"])
    terminal.note_all(check_run(options["model"]))
    bundle = load_prepared(options["model"])
    views = bundle.found.get("views")
    if options["data"]:
        X, samples = read_for(bundle, options, terminal)
        terminal.say(f"Views are judged on {samples.n_samples:,} new samples; the rest is what the fit found.")
        with terminal.hearing_warnings():
            views = view_table(bundle.estimator, X, tuple(view.name for view in bundle.views))
    clusters = cluster_columns(bundle, options["n_columns"])
    if terminal.as_json:
        terminal.give(_as_json(bundle, views, clusters) | {"notes": terminal.notes})
        return
    estimator = bundle.estimator
    clusters_of = counted(estimator.n_clusters, "cluster")
    about = f"{estimator.n_samples_seen_:,} samples · {clusters_of} · {_membership(estimator)}"
    terminal.show(heading(type(estimator).__name__, about), facts(_facts(bundle)))
    terminal.show(cluster_table(_sizes(bundle), bundle.found.get("n_noise", 0)))
    if views is not None:
        terminal.show(_views(views, bundle))
    if any(clusters):
        terminal.show(_columns(clusters))
    elif not clusters:
        terminal.say(
            "Saved from Python: which columns set clusters apart is not known; give DATA to judge the views."
        )


def cluster_columns(bundle: PreparedModel, most: int) -> list[list[dict[str, Any]]]:
    """For each cluster the columns in which its mean is farthest from that of all, in standard deviations."""
    profiles = bundle.found.get("profiles")
    if not profiles:
        return []
    labels = [(view.name, column) for view in bundle.views for column in view.columns]
    parts = [_offsets(np.asarray(profiles[view.name]), bundle, place) for place, view in enumerate(bundle.views)]
    offsets = np.nan_to_num(np.concatenate(parts, axis=1))
    found = []
    for row in offsets:
        order = [int(place) for place in np.argsort(-np.abs(row), kind="stable")[:most] if row[place] != 0]
        found.append([{"view": labels[p][0], "column": labels[p][1], "offset": float(row[p])} for p in order])
    return found


def _offsets(means: Any, bundle: PreparedModel, place: int) -> Any:
    """Cluster means less the mean over all samples, in the columns' standard deviations; 0 for constant ones."""
    deviation = np.asarray(bundle.found["units"][bundle.views[place].name])
    sizes = _sizes(bundle)[:, None] * np.isfinite(means)
    overall = np.sum(np.where(np.isfinite(means), means, 0) * sizes, axis=0) / np.maximum(np.sum(sizes, axis=0), 1)
    unit = np.where(deviation == 0, np.inf, deviation)
    return (means - overall) / unit


def _sizes(bundle: PreparedModel) -> Any:
    sizes = bundle.found.get("sizes")
    model = bundle.estimator
    return np.asarray(np.bincount(model.labels_, minlength=model.n_clusters) if sizes is None else sizes)


def _facts(bundle: PreparedModel) -> list[tuple[str, Any]]:
    model = bundle.estimator
    restart = model.restarts_[model.best_restart_]
    pairs = [
        ("features", features(model)),
        ("bandwidth", ", ".join("none" if width is None else f"{width:.4g}" for width in bandwidths(bundle))),
        ("metric", str(model.metric)),
        ("scaling", bundle.scale),
        ("run", f"{restart['init']}: {model.status_}, {model.n_iter_} iterations, {restart['n_moves']} moves"),
        ("cost", f"{model.inertia_:.6g}"),
    ]
    if bundle.threshold is not None:
        pairs.append(("outliers", f"score above {bundle.threshold:.3f}"))
    return pairs


def _membership(model: Any) -> str:
    """The membership, also where the fit has chosen it."""
    return str(model._fit.model.problem.membership.name)


def _views(views: dict[str, Any], bundle: PreparedModel) -> Any:
    if len(views["view"]) > 1:
        return view_weights(views, bandwidths(bundle))
    rows = [[number(views[name][0]) for name in ("n_features", "explained", "silhouette")]]
    return grid(["columns", "explained", "silhouette"], rows, left=0)


def _columns(clusters: list[list[dict[str, Any]]]) -> Any:
    rows = []
    for cluster, columns in enumerate(clusters):
        words = Text(", ").join(
            Text.assemble(
                printable(entry["column"]),
                (f" {entry['offset']:+.1f}", "cyan" if entry["offset"] > 0 else "magenta"),
            )
            for entry in columns
        )
        rows.append([str(cluster), words])
    return grid(["cluster", "set apart by (mean of the cluster less that of all, in deviations)"], rows, left=2)


def _as_json(bundle: PreparedModel, views: dict[str, Any] | None, clusters: Any) -> dict[str, Any]:
    model = bundle.estimator
    return {
        "estimator": type(model).__name__,
        "parameters": {name: _plain(value) for name, value in model.get_params(deep=False).items()},
        "n_samples": model.n_samples_seen_,
        "feature_map": model.feature_map_,
        "membership": _membership(model),
        "cluster_sizes": _sizes(bundle),
        "views": views,
        "bandwidth": bandwidths(bundle),
        "scale": bundle.scale,
        "threshold": bundle.threshold,
        "columns": {view.name: list(view.columns) for view in bundle.views},
        "clusters": clusters,
        "status": str(model.status_),
        "n_iter": model.n_iter_,
        "inertia": model.inertia_,
    }


def _plain(value: Any) -> Any:
    return value if isinstance(value, (str, int, float, bool, list, dict, type(None))) else str(value)
