"""The sections of the page as HTML, in the order in which a reader needs them."""

from __future__ import annotations

import math

import numpy as np

from powerkmeans.report.charts import Line, bar, line_chart
from powerkmeans.report.facts import Facts
from powerkmeans.report.markup import Markup, count, counted, join, number, percent, plain_text, tag
from powerkmeans.report.story import VERDICTS, parameters_of, verdicts, versions, warnings_of
from powerkmeans.report.words import words_of
from powerkmeans.types import Status

# a probability from which the cluster of a sample counts as certain
CERTAIN = 0.9
# a share of the spread on the map beyond which there is nothing else to see
ALL_OF_IT = 0.9995
# notes at the top of the page before the rest is folded away
NOTES = 3
# lines of the chart of weights that have a colour and a name
NAMED_LINES = 5


def warning_list(facts: Facts) -> Markup:
    """What to know before trusting the page."""
    texts = warnings_of(facts.estimator, len(facts.samples))
    if not texts:
        return Markup("")
    texts = [facts.wording(text) for text in texts]
    items = [tag("p", tag("strong", "Note. "), text[:1].upper() + text[1:]) for text in texts]
    if len(items) > NOTES + 1:
        rest = tag("summary", f"{len(items) - NOTES} more notes")
        items[NOTES:] = [tag("details", rest, *items[NOTES:])]
    return tag("div", *items, class_="warning", role="note")


def evidence(facts: Facts) -> Markup:
    """Whether the clusters are more than a way to cut the data, where that can be said."""
    found = facts.separation
    if found is None:
        return Markup("")
    style = "evidence" if found.separated else "evidence doubtful"
    return tag("p", tag("strong", "Are they real? "), found.sentence, class_=style, id="evidence")


def cards(facts: Facts) -> Markup:
    """The key figures."""
    samples, estimator = facts.samples, facts.estimator
    used, words = int(np.sum(samples.sizes > 0)), words_of(estimator)
    n_views, n_columns = len(facts.original), sum(len(view.columns) for view in facts.original)
    kernels = not any(view.has_columns for view in facts.original)
    asked = "" if used == samples.n_clusters else f"of {samples.n_clusters} asked for"
    found = [
        ("Samples", count(len(samples)), "a kernel matrix" if kernels else counted(n_columns, "column")),
        ("Clusters", count(used), asked or _sizes(facts)),
    ]
    if n_views > 1:
        found[0] = ("Samples", count(len(samples)), "")
        found.append(("Views", count(n_views), counted(n_columns, "column")))
    found.append(_certainty(facts) if samples.fence is None else _outlier_card(facts))
    if samples.fence is not None:
        found.append(("Typicality", f"{float(np.median(samples.typicality)):.2f}", words.usual))
    if samples.n_clusters > 1:
        found.append(("Explained", percent(explained_share(facts)), words.share))
    converged = estimator.status_ in (Status.CONVERGED, Status.EXACT)
    found.append(("Iterations", count(estimator.n_iter_), "converged" if converged else str(estimator.status_)))
    items = [
        tag(
            "div",
            tag("dt", name),
            tag("dd", tag("span", value, class_="figure"), tag("span", note, class_="muted")),
        )
        for name, value, note in found
    ]
    return tag("dl", *items, class_="cards")


def _sizes(facts: Facts) -> str:
    sizes = facts.samples.sizes
    smallest, largest = int(np.min(sizes)), int(np.max(sizes))
    if len(sizes) == 1:
        return ""
    return f"of {count(smallest)} to {count(largest)}" if smallest < largest else f"of {count(smallest)} each"


def _certainty(facts: Facts) -> tuple[str, str, str]:
    share = float(np.mean(facts.samples.probability >= CERTAIN))
    return "Certain", percent(share), f"of the samples, at {percent(CERTAIN)} or more"


def _outlier_card(facts: Facts) -> tuple[str, str, str]:
    found = int(np.sum(facts.samples.outlier))
    return "Outliers", count(found), f"{percent(found / len(facts.samples))} of the samples"


def explained_share(facts: Facts) -> float:
    """The share of the spread in the feature space that the clusters explain, views by their weights."""
    weights, shares = facts.views["weight"], facts.views["explained"]
    known = np.isfinite(shares) & (weights > 0)
    return float(np.sum(weights[known] * shares[known]) / np.sum(weights[known])) if np.any(known) else math.nan


def cluster_list(facts: Facts) -> Markup:
    """One button per cluster: its size as a bar, and how many outliers it has."""
    samples = facts.samples
    sizes, largest = samples.sizes, int(np.max(samples.sizes))
    outliers = np.bincount(samples.labels[samples.outlier], minlength=samples.n_clusters)
    items = []
    for cluster, size in enumerate(sizes.tolist()):
        share = percent(size / len(samples))
        note = (
            counted(int(outliers[cluster]), "outlier") if samples.fence is not None and outliers[cluster] else ""
        )
        parts = [
            tag("span", class_="swatch", aria_hidden="true"),
            tag("span", f"Cluster {cluster}", class_="name"),
            bar(size / largest),
            tag(
                "span", tag("span", count(size), class_="size"), tag("span", share, class_="share"), class_="sizes"
            ),
            tag("span", note, class_="note") if note else None,
        ]
        button = tag("button", *parts, type="button", class_="cluster", data_cluster=cluster, aria_pressed="false")
        items.append(tag("li", button))
    return tag("ul", *items, class_=f"clusters{' many' if len(items) > 12 else ''}", id="clusters")


def shapes(facts: Facts) -> Markup:
    """What the marks of the map are."""
    marks = [("sample", tag("circle", class_="solid", cx=7, cy=7, r=4))]
    if np.any(facts.samples.outlier[facts.drawn]):
        marks.append(("outlier", tag("path", d="M2.5 2.5l9 9M2.5 11.5l9-9")))
    if facts.samples.n_clusters == 1:
        return tag("div", *(_mark(text, mark) for text, mark in marks), class_="shapes")
    room = ", where there is room" if facts.samples.n_clusters > 10 else ""
    marks.append((f"middle of a cluster{room}", tag("rect", x=1.5, y=1.5, width=11, height=11, rx=3)))
    return tag("div", *(_mark(text, mark) for text, mark in marks), class_="shapes")


def _mark(text: str, mark: Markup) -> Markup:
    return tag("span", tag("svg", mark, viewBox="0 0 14 14", aria_hidden="true"), text)


def map_note(facts: Facts) -> str:
    """How the points of the map were drawn."""
    drawn, n_samples = len(facts.drawn), len(facts.samples)
    shares = facts.planes.widest.shares
    if drawn == n_samples:
        which = f"All {count(n_samples)} samples" if n_samples > 1 else "The one sample"
    else:
        extra = (
            "outliers that the table lists" if facts.samples.fence is not None else "samples that the table lists"
        )
        which = (
            f"A sample of {count(drawn)} of the {count(n_samples)} samples: drawn at random in each cluster, "
            f"small clusters more densely, and all {extra}"
        )
    if shares[1] == 0:
        return f"{which}. The data vary in one direction only; the height of a point is arbitrary."
    held = min(float(shares[0] + shares[1]), 1.0)
    beyond = "" if held > ALL_OF_IT else ", so clusters that overlap here may be apart in others"
    return (
        f"{which}. The two directions are the principal components of {words_of(facts.estimator).space} and hold "
        f"{percent(held)} of the spread{beyond}."
    )


def view_section(facts: Facts) -> Markup:
    """Weights of the views and what each contributes; nothing for a single one."""
    table = facts.views
    if len(table["view"]) == 1:
        return Markup("")
    heaviest = max(float(np.max(table["weight"])), np.finfo(float).tiny)
    partial = bool(np.any(table["coverage"] < 1))
    found, rows = verdicts(table, facts.samples), []
    for view in np.argsort(-table["weight"], kind="stable").tolist():
        word, weight = found[view], float(table["weight"][view])
        name = tag("th", tag("span", plain_text(table["view"][view]), class_="name"),
                   tag("span", VERDICTS[word], class_=f"verdict {word}"), scope="row")  # fmt: skip
        weighed = tag("td", tag("span", tag("span", percent(weight)), bar(weight / heaviest), class_="weighed"))
        cells = [tag("td", count(int(table["n_features"][view])), class_="number")]
        cells += [tag("td", percent(float(table["coverage"][view])), class_="number")] if partial else []
        for column in ("distance_share", "explained", "agreement"):
            cells.append(tag("td", percent(float(table[column][view])), class_="number"))
        cells.append(tag("td", _signed(float(table["silhouette"][view])), class_="number"))
        rows.append(tag("tr", name, weighed, *cells, class_=word))
    heads = ["View", "Weight", "Columns", *(["Coverage"] if partial else []), "Share of distance", "Explained",
             "Agreement", "Separation"]  # fmt: skip
    head = tag(
        "thead",
        tag("tr", *(tag("th", h, scope="col", class_="number" if i > 1 else None) for i, h in enumerate(heads))),
    )
    return tag("div", tag("table", head, tag("tbody", *rows), class_="views"), class_="scroll", tabindex=0,
               role="region", aria_label="Table of the views")  # fmt: skip


def _signed(value: float) -> str:
    return "\u2014" if math.isnan(value) else f"{value:.2f}".replace("-", "\u2212")


def fit_charts(facts: Facts) -> Markup:
    """Objective, cost, exponent, clusters apart and weights along the iterations."""
    history, n_samples = facts.estimator.history_, max(len(facts.samples), 1)
    hard = np.flatnonzero(~np.isfinite(history["s"]))
    mark = int(hard[0]) if len(hard) else None
    size = np.where(np.isfinite(history["s"]), -history["s"], np.nan)
    charts = [
        ("Objective", "at the exponent of the iteration", [Line(history["objective"])], ""),
        ("Cost", "mean squared distance to the nearest centroid", [Line(history["inertia"] / n_samples)], ""),
        ("Exponent", "size of s; the larger, the harder the clusters", [Line(size)], "log"),
        ("Clusters apart", "centroids that have separated", [Line(history["n_distinct"].astype(float))], "zero"),
    ]
    if history["view_weights"].shape[1] > 1:
        charts.append(("View weights", "", _weight_lines(facts), "zero"))
    figures = []
    for title, note, lines, scale in charts:
        if not np.any(np.isfinite(np.concatenate([line.values for line in lines]))):
            continue
        named = [line for line in lines if line.name]
        legend = tag(
            "span", *(tag("span", line.name, class_=f"key {line.style}") for line in named), class_="legend"
        )
        caption = tag("figcaption", tag("strong", title), tag("span", note, class_="muted") if note else legend)
        label = f"{title} over {len(history['s'])} iterations"
        figures.append(tag("figure", caption, line_chart(lines, label, scale=scale, mark=mark)))
    dashed = tag("p", "Dashed: from here on plain k-means steps finish the fit.", class_="muted") if mark else None
    return join(tag("div", *figures, class_="charts"), dashed)


def _weight_lines(facts: Facts) -> list[Line]:
    weights = facts.estimator.history_["view_weights"]
    order = np.argsort(-weights[-1], kind="stable").tolist()
    names = facts.views["view"]
    lines = [Line(weights[:, view], style="line other") for view in order[NAMED_LINES:]]
    return lines + [
        Line(weights[:, view], plain_text(names[view]), f"line v{rank}")
        for rank, view in enumerate(order[:NAMED_LINES])
    ]


def restart_table(facts: Facts) -> Markup:
    """Every run from a start."""
    estimator, rows = facts.estimator, []
    for index, run in enumerate(estimator.restarts_):
        kept = index == estimator.best_restart_
        cells = [number(run["s_init"]), number(run["s"]), count(run["n_iter"]), count(run["n_moves"]),
                 number(run["hard_objective"], 6), str(run["status"])]  # fmt: skip
        name = tag("th", run["init"], tag("span", "kept", class_="verdict telling") if kept else None, scope="row")
        rows.append(
            tag("tr", name, *(tag("td", c, class_="number" if i < 5 else None) for i, c in enumerate(cells)))
        )
    heads = ["Start", "s from", "s to", "Iterations", "Moves", "Hard objective", "Status"]
    return _plain_table(heads, rows, "Runs of the solver", numbers=range(1, 6))


def parameter_table(facts: Facts) -> Markup:
    """All parameters, those that were given first."""
    rows = []
    for parameter in parameters_of(facts.estimator):
        name = tag("th", tag("code", parameter.name), scope="row")
        value = tag(
            "td", tag("code", parameter.value), tag("span", f" = {parameter.became}") if parameter.became else None
        )
        rows.append(
            tag(
                "tr",
                name,
                value,
                tag("td", tag("code", parameter.default)),
                class_="given" if parameter.given else None,
            )
        )
    return _plain_table(["Parameter", "Value", "Default"], rows, "Parameters of the estimator")


def _plain_table(heads: list[str], rows: list[Markup], label: str, numbers: range = range(0)) -> Markup:
    head = tag(
        "tr", *(tag("th", h, scope="col", class_="number" if i in numbers else None) for i, h in enumerate(heads))
    )
    table = tag("table", tag("thead", head), tag("tbody", *rows), class_="plain")
    return tag("div", table, class_="scroll", tabindex=0, role="region", aria_label=label)


def version_line(facts: Facts) -> Markup:
    """What the page was made with."""
    parts = [f"{name} {version}" for name, version in versions().items()]
    told = f"Columns were scaled before the fit: {facts.scaling}. "
    scaling = {None: "", "none": "Columns were not scaled before the fit. "}.get(facts.scaling, told)
    return join(
        tag("p", scaling, f"Made with {', '.join(parts)}, by {type(facts.estimator).__name__}.", class_="muted")
    )
