"""What a graph of landmarks tells of its own limits."""

from __future__ import annotations

from powerkmeans.advice.thresholds import LEAST_AGREEMENT
from powerkmeans.features.graph.agreement import Judgement
from powerkmeans.features.graph.neighbours import TOO_FEW
from powerkmeans.fitting.task import Task


def about_graph(task: Task) -> list[str | None]:
    """Sentences about the graph, where a fit has one."""
    base = task.prepared.maps_of_rows[0].base
    if not base.fuses or task.settings.n_clusters == 1:
        return []
    return [in_pieces(task), no_clear_graph(base.judged, base.n_components)]


def in_pieces(task: Task) -> str | None:
    """The graph fell into more pieces than there are clusters, with as many neighbours as were asked for."""
    base, settings = task.prepared.maps_of_rows[0].base, task.settings
    if base.n_neighbors <= base.n_wanted:
        return None
    begun = f"With n_neighbors={base.n_wanted} the graph falls into more pieces than there are clusters"
    if base.n_pieces <= settings.n_clusters:
        return (
            f"{begun}, or into splinters of a few rows that are equally far from all others, so "
            f"{base.n_neighbors} were taken, with which it does not. Pieces of many rows may be clusters of their "
            "own, which a larger n_clusters keeps apart."
        )
    return (
        f"{begun}, and into {base.n_pieces} whatever their number: some rows share no view with others, or are "
        "far from all. Which pieces go together is arbitrary then; use a larger n_clusters, or "
        "feature_map='nystroem'."
    )


def no_clear_graph(judged: Judgement, n_landmarks: int) -> str | None:
    """Graphs on other landmarks give other clusters, and neighbours are of any; or there are hardly any others."""
    if judged.clear or judged.agreement >= LEAST_AGREEMENT:
        return None
    if n_landmarks <= TOO_FEW:
        return (
            f"There are only {n_landmarks} distinct rows to be landmarks, too few for a graph: a row is tied to "
            "half of them. Use feature_map='nystroem'."
        )
    return (
        f"The graph shows no clear clusters: it and its halves agree on {judged.agreement:.2f} of them (1 is all, "
        "0 chance). Compare with feature_map='nystroem', try fewer clusters, or leave out useless columns."
    )
