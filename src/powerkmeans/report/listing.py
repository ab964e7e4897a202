"""The table of outliers, or of borderline samples where there are no outlier scores."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from powerkmeans.report.facts import Facts
from powerkmeans.report.markup import Markup, count, counted, fixed, join, percent, plain_text, shortened, tag
from powerkmeans.report.names import labels_of
from powerkmeans.report.profiles import decimals_of
from powerkmeans.report.words import words_of
from powerkmeans.types import Array

WHISKER_RULE = (
    "A sample is called an outlier if its {far_from} lies beyond the upper whisker of "
    "a box plot over all samples; here that is an outlier score above {fence:.3f}."
)
ASKED_RULE = "A sample is called an outlier if its outlier score is above {fence:.3f}, as was asked for."
# characters of names in cells
LONGEST_ID, LONGEST_COLUMN = 40, 26
SCORES = " Scores rank samples within this fit; they are no probabilities."


class Column(NamedTuple):
    """A column of the table: its cells, and by what each of them sorts.

    ``kind`` is ``"text"``, ``"number"`` or ``"cluster"``.
    """

    head: str
    cells: list[Markup]
    keys: list[str]
    kind: str = "text"


def listing(facts: Facts) -> Markup:
    """The table with everything that is said about it."""
    columns, scored = _columns(facts), facts.samples.fence is not None
    first = "Outlier score" if scored else "Probability"
    labels, flagged = facts.samples.labels[facts.listed.rows], facts.samples.outlier[facts.listed.rows]
    rows = [_row(columns, place, int(labels[place]), bool(flagged[place])) for place in range(len(labels))]
    head = tag("tr", *(_head(column, first, "descending" if scored else "ascending") for column in columns))
    table = tag("table", tag("thead", head), tag("tbody", *rows), class_="sortable", id="outliers")
    label = "Table of outliers" if scored else "Table of borderline samples"
    nothing = "No sample of the chosen clusters is in this table."
    return join(
        *(tag("p", text) for text in notes(facts)),
        tag("p", id="outlier-count", class_="muted", role="status"),
        tag("div", table, class_="scroll tall", tabindex=0, role="region", aria_label=label),
        tag("p", nothing, id="outlier-none", class_="muted", hidden=True),
    )


def notes(facts: Facts) -> list[str]:
    """What counts as an outlier, and what is left out of the table."""
    samples, shown = facts.samples, len(facts.listed.rows)
    if samples.fence is None:
        fitted, other = (
            facts.wording(f"membership={word!r}") for word in (facts.estimator.membership, "possibilistic")
        )
        return [
            f"This model was fitted with {fitted}, which has no outlier scores; {other} has them. "
            + _all_or_some(shown, len(samples), "whose cluster is least certain")
        ]
    found = int(np.sum(samples.outlier))
    far_from = words_of(facts.estimator).far_from
    rule = (ASKED_RULE if samples.asked else WHISKER_RULE).format(fence=samples.fence, far_from=far_from) + SCORES
    if found > shown:
        return [
            rule,
            f"Listed are the {count(shown)} highest scores of {counted(found, 'outlier')}; the rest is left out.",
        ]
    if found == 0:
        return [rule, "There are none. " + _all_or_some(shown, len(samples), "of highest score")]
    more = "" if found == shown else f", and the next highest scores to make up {count(shown)} rows"
    return [rule, f"Listed {'is the one outlier' if found == 1 else f'are all {count(found)} outliers'}{more}."]


def _all_or_some(shown: int, n_samples: int, which: str) -> str:
    if shown == n_samples:
        return "Listed are all samples."
    return f"Listed are the {count(shown)} samples {which}, of {count(n_samples)}."


def _head(column: Column, first: str, direction: str) -> Markup:
    return tag(
        "th",
        tag("button", column.head, type="button"),
        tag("span", column.head, class_="paper", aria_hidden="true"),
        scope="col",
        class_="number" if column.kind == "number" else None,
        data_kind=column.kind,
        aria_sort=direction if column.head == first else "none",
    )


def _row(columns: list[Column], place: int, cluster: int, flagged: bool) -> Markup:
    cells = []
    for index, column in enumerate(columns):
        name, scope = ("th", "row") if index == 0 else ("td", None)
        style = "number" if column.kind == "number" else None
        cells.append(tag(name, column.cells[place], scope=scope, class_=style, data_key=column.keys[place]))
    return tag("tr", *cells, data_cluster=cluster, class_="outlier" if flagged else None)


def _columns(facts: Facts) -> list[Column]:
    samples, listed = facts.samples, facts.listed
    names = [facts.names[row] for row in listed.rows.tolist()]
    columns = [
        Column("Sample", _named(names), names),
        _clusters("Cluster", samples.labels[listed.rows]),
    ]
    if samples.fence is not None:
        scores = (1 - samples.typicality[listed.rows]).tolist()
        columns.append(Column("Outlier score", [tag("span", f"{s:.3f}") for s in scores], _keys(scores), "number"))
    likely = samples.probability[listed.rows].tolist()
    columns.append(Column("Probability", [tag("span", percent(p)) for p in likely], _keys(likely), "number"))
    if samples.n_clusters > 1:
        columns.append(_clusters("Next cluster", listed.runner_up))
    if len(facts.original) > 1:
        views = [plain_text(facts.views["view"][view]) for view in listed.view.tolist()]
        columns.append(Column("Stands out in", _named(views), views))
    if np.any(listed.column >= 0):
        known = [facts.profiles.name[c] if c >= 0 else "" for c in listed.column.tolist()]
        away = listed.deviation.tolist()
        shared = {name for name, times in Counter(facts.profiles.name).items() if times > 1}
        labels = labels_of(facts.profiles.name, LONGEST_COLUMN)
        cells = [_unusual(facts, place, shared, labels) for place in range(len(known))]
        columns.append(Column("Most unusual column", cells, known))
        columns.append(
            Column("Deviation", [tag("span", _sds(z)) for z in away], _keys(np.abs(away).tolist()), "number")
        )
    return columns


def _named(names: list[str]) -> list[Markup]:
    """Cells of names, of long ones what tells them apart."""
    labels = labels_of(names, LONGEST_ID)
    return [shortened(name, labels.get(name), "id") for name in names]


def _clusters(head: str, labels: Array) -> Column:
    swatch = tag("span", class_="swatch", aria_hidden="true")
    cells = [tag("span", swatch, str(c), class_="tag", data_cluster=c) for c in labels.tolist()]
    return Column(head, cells, [str(c) for c in labels.tolist()], "cluster")


def _keys(values: list[float]) -> list[str]:
    return [f"{value:.6g}" for value in values]


def _unusual(facts: Facts, place: int, shared: set[str], labels: dict[str, str]) -> Markup:
    """The column's name, with its view if several have one of that name, its value and its mean in the cluster."""
    column = int(facts.listed.column[place])
    if column < 0:
        return tag("span", "\u2014")
    cluster = int(facts.samples.labels[facts.listed.rows[place]])
    value, mean = float(facts.listed.value[place]), float(facts.profiles.means[cluster, column])
    decimals = decimals_of(float(facts.profiles.deviation[column]), mean)
    note = f"{fixed(value, decimals)}, cluster mean {fixed(mean, decimals)}"
    name = facts.profiles.name[column]
    if name in shared and len(facts.original) > 1:
        note = f"{plain_text(facts.described[facts.profiles.view[column]].name)}: {note}"
    return join(shortened(name, labels.get(name), "name"), tag("span", note, class_="muted"))


def _sds(deviation: float) -> str:
    sign = "+" if deviation >= 0 else "\u2212"
    return f"{sign}{abs(deviation):.1f}\u00a0sd"
