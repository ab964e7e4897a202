"""``powerkmeans evaluate``: labels beside known classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score

from powerkmeans.cli.earlier import check_run
from powerkmeans.cli.errors import UserError, listed, usage
from powerkmeans.cli.labels import Labels, read_labels
from powerkmeans.cli.terminal import Terminal, facts, heading
from powerkmeans.metrics import clustering_accuracy, normalized_mutual_info, purity

_SCORES = {
    "accuracy": ("accuracy", "share right under the best matching with classes"),
    "nmi": ("NMI", "normalised mutual information, geometric mean"),
    "purity": ("purity", "share of samples in the majority class of their cluster"),
    "ari": ("ARI", "adjusted Rand index, 0 by chance"),
}


def run(options: dict[str, Any]) -> None:
    """Read both, put them side by side, score."""
    terminal = Terminal(quiet=options["quiet"], as_json=options["as_json"])
    for path in (options["labels"], options["truth"]):
        terminal.note_all(check_run(path))
    named = options["id_column"]
    labels = read_labels(
        options["labels"], options["labels_column"], named, option="--labels-column", usual="cluster"
    )
    if options["truth_id"] is not None and named is None:
        raise usage("--truth-id names the rows of the second file; name those of the first with --id.")
    known_by = options["truth_id"] or named
    truth = read_labels(options["truth"], options["truth_column"], known_by, option="--truth-column")
    found, known = paired(labels, truth, terminal)
    noise = int(np.sum(found == "-1"))
    if noise:
        terminal.note(f"{noise} samples are labelled -1 (outliers) and count as a cluster of their own.")
    scores = {
        "accuracy": clustering_accuracy(known, found),
        "nmi": normalized_mutual_info(known, found),
        "purity": purity(known, found),
        "ari": float(adjusted_rand_score(known, found)),
    }
    sizes = {"n_samples": len(found), "n_clusters": len(np.unique(found)), "n_classes": len(np.unique(known))}
    if terminal.as_json:
        terminal.give({**scores, **sizes, "notes": terminal.notes})
        return
    about = f"{sizes['n_samples']:,} samples · {sizes['n_clusters']} clusters · {sizes['n_classes']} classes"
    lines = [(_SCORES[name][0], f"{value:.4f}   {_SCORES[name][1]}") for name, value in scores.items()]
    terminal.show(heading(f"{labels.source} beside {truth.source}", about), facts(lines))


def paired(labels: Labels, truth: Labels, terminal: Terminal) -> tuple[NDArray[Any], NDArray[Any]]:
    """Labels and classes of the same samples, as plain texts."""
    if labels.ids is None or truth.ids is None:
        if len(labels.values) != len(truth.values):
            raise UserError(
                f"{labels.source} has {len(labels.values)} rows and {truth.source} has {len(truth.values)}; name "
                "the column that tells which belong together with --id."
            )
        return labels.values.astype(str), truth.values.astype(str)
    place = {name: row for row, name in enumerate(truth.ids)}
    rows = [row for row, name in enumerate(labels.ids) if name in place]
    if not rows:
        raise UserError(
            f"No id of {labels.source} ({listed(labels.ids[:2].tolist())}, ...) is in {truth.source} "
            f"({listed(truth.ids[:2].tolist())}, ...)."
        )
    if len(rows) < max(len(labels.values), len(truth.values)):
        terminal.note(
            f"{len(rows)} samples are in both files; {len(labels.values) - len(rows)} only in {labels.source}, "
            f"{len(truth.values) - len(rows)} only in {truth.source}."
        )
    known = truth.values[[place[labels.ids[row]] for row in rows]]
    return labels.values[rows].astype(str), known.astype(str)
