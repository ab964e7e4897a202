"""``powerkmeans explain``: what a model found."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.text import Text

from powerkmeans.cli.actions.predict import read_for
from powerkmeans.cli.actions.summary import bandwidths, cluster_table, features, view_weights
from powerkmeans.cli.answers import view_table
from powerkmeans.cli.earlier import check_run
from powerkmeans.cli.errors import counted
from powerkmeans.cli.loading import load_prepared
from powerkmeans.cli.terminal import Terminal, facts, grid, heading, number
from powerkmeans.preparing.prepared import PreparedModel, scaling_words
from powerkmeans.support.escapes import printable


def run(options: dict[str, Any]) -> None:
    """Tell what is in a model; judge its views on new data if there is any."""
    terminal = Terminal(quiet=options["quiet"], as_json=options["as_json"])
    terminal.note_all(check_run(options["model"]))
    prepared = load_prepared(options["model"])
    views = prepared.found.get("views")
    if options["data"]:
        X, samples = read_for(prepared, options, terminal)
        terminal.say(f"Views are judged on {samples.n_samples:,} new samples; the rest is what the fit found.")
        with terminal.hearing_warnings():
            views = view_table(prepared.estimator, X, tuple(view.name for view in prepared.views))
    clusters = cluster_columns(prepared, options["n_columns"])
    if terminal.as_json:
        terminal.give(_as_json(prepared, views, clusters) | {"notes": terminal.notes})
        return
    estimator = prepared.estimator
    clusters_of = counted(estimator.n_clusters, "cluster")
    about = f"{estimator.n_samples_seen_:,} samples · {clusters_of} · {_membership(estimator)}"
    terminal.show(heading(type(estimator).__name__, about), facts(_facts(prepared)))
    terminal.show(cluster_table(_sizes(prepared), prepared.found.get("n_noise", 0)))
    if views is not None:
        terminal.show(_views(views, prepared))
    if any(clusters):
        terminal.show(_columns(clusters))
    elif not clusters:
        terminal.say(
            "Saved from Python: which columns set clusters apart is not known; give DATA to judge the views."
        )


def cluster_columns(prepared: PreparedModel, most: int) -> list[list[dict[str, Any]]]:
    """For each cluster the columns in which its mean is farthest from that of all, in standard deviations."""
    profiles = prepared.found.get("profiles")
    if not profiles:
        return []
    labels = [(view.name, column) for view in prepared.views for column in view.columns]
    parts = [_offsets(np.asarray(profiles[view.name]), prepared, view.name) for view in prepared.views]
    offsets = np.nan_to_num(np.concatenate(parts, axis=1))
    found = []
    for row in offsets:
        order = [int(place) for place in np.argsort(-np.abs(row), kind="stable")[:most] if row[place] != 0]
        found.append([{"view": labels[p][0], "column": labels[p][1], "offset": float(row[p])} for p in order])
    return found


def _offsets(means: Any, prepared: PreparedModel, view: str) -> Any:
    """Cluster means less the mean over all samples, in the columns' standard deviations; 0 for constant ones."""
    deviation = np.asarray(prepared.found["units"][view])
    sizes = _sizes(prepared)[:, None] * np.isfinite(means)
    overall = np.sum(np.where(np.isfinite(means), means, 0) * sizes, axis=0) / np.maximum(np.sum(sizes, axis=0), 1)
    unit = np.where(deviation == 0, np.inf, deviation)
    return (means - overall) / unit


def _sizes(prepared: PreparedModel) -> Any:
    sizes = prepared.found.get("sizes")
    model = prepared.estimator
    return np.asarray(np.bincount(model.labels_, minlength=model.n_clusters) if sizes is None else sizes)


def _facts(prepared: PreparedModel) -> list[tuple[str, Any]]:
    model = prepared.estimator
    restart = model.restarts_[model.best_restart_]
    pairs = [
        ("features", features(model)),
        ("bandwidth", ", ".join("none" if width is None else f"{width:.4g}" for width in bandwidths(prepared))),
        ("metric", str(model.metric)),
        ("scaling", scaling_words(prepared)),
        ("run", f"{restart['init']}: {model.status_}, {model.n_iter_} iterations, {restart['n_moves']} moves"),
        ("cost", f"{model.inertia_:.6g}"),
    ]
    if prepared.threshold is not None:
        pairs.append(("outliers", f"score above {prepared.threshold:.3f}"))
    return pairs


def _membership(model: Any) -> str:
    """The membership, also where the fit has chosen it."""
    return str(model._fit.model.problem.membership.name)


def _views(views: dict[str, Any], prepared: PreparedModel) -> Any:
    if len(views["view"]) > 1:
        return view_weights(views, bandwidths(prepared))
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


def _as_json(prepared: PreparedModel, views: dict[str, Any] | None, clusters: Any) -> dict[str, Any]:
    model = prepared.estimator
    return {
        "estimator": type(model).__name__,
        "parameters": {name: _plain(value) for name, value in model.get_params(deep=False).items()},
        "n_samples": model.n_samples_seen_,
        "feature_map": model.feature_map_,
        "membership": _membership(model),
        "cluster_sizes": _sizes(prepared),
        "views": views,
        "bandwidth": bandwidths(prepared),
        "scale": prepared.scale,
        "threshold": prepared.threshold,
        "columns": {view.name: list(view.columns) for view in prepared.views},
        "clusters": clusters,
        "status": str(model.status_),
        "n_iter": model.n_iter_,
        "inertia": model.inertia_,
    }


def _plain(value: Any) -> Any:
    return value if isinstance(value, (str, int, float, bool, list, dict, type(None))) else str(value)
