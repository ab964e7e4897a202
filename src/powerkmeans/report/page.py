"""The page: a template, a style sheet, a script and data, all in one text."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np

from powerkmeans.report import sections
from powerkmeans.report.facts import Facts
from powerkmeans.report.files import file_list
from powerkmeans.report.listing import listing
from powerkmeans.report.markup import Markup, as_json, content_hash, count, escaped, plain_text, tag
from powerkmeans.report.next_steps import next_steps
from powerkmeans.report.profiles import most_columns, profile_data
from powerkmeans.report.story import summary, versions
from powerkmeans.report.words import words_of
from powerkmeans.types import Float64Array


@cache
def asset(name: str) -> str:
    """A file of this package."""
    return files("powerkmeans.report").joinpath(name).read_text(encoding="utf-8")


def render(facts: Facts, title: str) -> str:
    """The whole page."""
    style, script = asset("report.css"), asset("report.js")
    policy = (
        f"default-src 'none'; style-src {content_hash(style)}; script-src {content_hash(script)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    several, scored = len(facts.original) > 1, facts.samples.fence is not None
    words = {f"word_{name}": escaped(text) for name, text in words_of(facts.estimator)._asdict().items()}
    parts = words | {
        "policy": policy,
        "generator": f"powerkmeans {versions()['powerkmeans']}",
        "style": style,
        "script": script,
        "title": escaped(title),
        "summary": escaped(summary(facts.samples, facts.views)),
        "evidence": sections.evidence(facts),
        "warnings": sections.warning_list(facts),
        "cards": sections.cards(facts),
        "options": _options(facts),
        "clusters": sections.cluster_list(facts),
        "one_cluster": " hidden" if facts.samples.n_clusters == 1 else "",
        "shapes": sections.shapes(facts),
        "map_note": escaped(sections.map_note(facts)),
        "apart_note": "" if facts.planes.apart is None else escaped(words_of(facts.estimator).apart),
        "no_apart": " hidden" if facts.planes.apart is None else "",
        "views": sections.view_section(facts),
        "no_views": "" if several else " hidden",
        "profile_title": "What sets the clusters apart" if facts.samples.n_clusters > 1 else "Columns",
        "profile_note": escaped(profile_note(facts)),
        "no_profiles": "" if facts.profiles.name else " hidden",
        "outliers_title": "Outliers" if scored else "Borderline samples",
        "listing": listing(facts),
        "next_steps": next_steps(facts),
        "files": file_list(facts.files) if facts.files else "",
        "no_files": "" if facts.files else " hidden",
        "charts": sections.fit_charts(facts),
        "restarts": sections.restart_table(facts),
        "parameters": sections.parameter_table(facts),
        "versions": sections.version_line(facts),
        "data": as_json(page_data(facts)),
    }
    return Template(asset("template.html")).substitute(parts)


def _options(facts: Facts) -> Markup:
    chosen = [tag("option", "All clusters", value="")]
    chosen += [
        tag("option", f"Cluster {cluster} ({count(size)})", value=cluster)
        for cluster, size in enumerate(facts.samples.sizes.tolist())
    ]
    return Markup("".join(chosen))


def profile_note(facts: Facts) -> str:
    """Where the means come from, and what is left out."""
    left_out = [plain_text(view.name) for view in facts.described if not view.has_columns]
    gaps = facts.profiles.name and not np.all(np.isfinite(facts.profiles.means[facts.samples.sizes > 0]))
    kernels = f" Matrices of kernels have no columns to show: {', '.join(left_out)}." if left_out else ""
    scaled = (
        f" The fit itself saw scaled columns ({facts.scaling})." if facts.scaling not in (None, "none") else ""
    )
    other = f" {facts.about} Clusters were looked for in other columns." if facts.about else ""
    made = (
        f" Columns are what the steps before the model made of those passed: {facts.steps}." if facts.steps else ""
    )
    n_columns, kept = len(facts.profiles.name), most_columns(facts.profiles)
    fewer = (
        f" The page holds the {count(kept)} most telling of {count(n_columns)} columns."
        if kept < n_columns
        else ""
    )
    return (
        f"Means are computed on all {count(len(facts.samples))} samples, in the units of the table that was given."
        + (" A dash is a cluster without a value." if gaps else "")
        + fewer
        + other
        + scaled
        + made
        + kernels
    )


def page_data(facts: Facts) -> dict[str, Any]:
    """What the script reads."""
    samples, drawn = facts.samples, facts.drawn
    return {
        "sizes": samples.sizes.tolist(),
        "outliers": np.bincount(samples.labels[samples.outlier], minlength=samples.n_clusters).tolist(),
        "n": len(samples),
        "scored": samples.fence is not None,
        "views": [plain_text(view.name) for view in facts.described],
        "apart": None if facts.planes.apart is None else _drawn(facts.planes.apart),
        "map": _drawn(facts.planes.widest.points)
        | {
            "shares": _rounded(np.array(facts.planes.widest.shares), 4),
            "cluster": samples.labels[drawn].tolist(),
            "typicality": _rounded(samples.typicality[drawn], 3),
            "probability": _rounded(samples.probability[drawn], 3),
            "outlier": np.flatnonzero(samples.outlier[drawn]).tolist(),
            "id": [facts.names[row] for row in drawn.tolist()],
        },
        "profiles": profile_data(facts.profiles),
    }


def _drawn(points: Float64Array) -> dict[str, Any]:
    """Points as the script draws them; flat ones have no height of their own."""
    reach = float(np.max(np.abs(points), initial=0)) or 1.0
    x, y = (_rounded(points[:, axis] / reach, 4) for axis in (0, 1))
    return {"x": x, "y": y, "flat": not np.any(points[:, 1])}


def _rounded(values: Any, digits: int) -> list[float]:
    return [round(value, digits) + 0.0 for value in np.asarray(values, dtype=np.float64).tolist()]
