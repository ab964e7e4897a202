"""What one would do next with the clusters of a page."""

from __future__ import annotations

import shlex

import numpy as np

from powerkmeans.report.facts import Facts
from powerkmeans.report.files import model_file
from powerkmeans.report.markup import Markup, counted, join, plain_text, tag


def next_steps(facts: Facts) -> Markup:
    """A short list: the number of clusters, odd samples, new samples."""
    steps = [_number(facts), _odd(facts), _new(facts)]
    return tag("ol", *(tag("li", step) for step in steps if step), class_="steps")


def _number(facts: Facts) -> Markup:
    used = int(np.sum(facts.samples.sizes > 0))
    doubtful = facts.separation is not None and not facts.separation.separated
    why = (
        "Before you use these clusters, see whether another number of them is more separated, or none is."
        if doubtful
        else f"See whether {used} is the number that the data speak for: numbers of clusters are compared by cost "
        "there, so none may be recommended although the clusters of this page are apart."
    )
    return join(
        why + " On the command line, or in Python:",
        _code("powerkmeans choose-k data.csv", "powerkmeans.choose_k(X)"),
    )


def _odd(facts: Facts) -> Markup:
    """What to look at in the table of samples."""
    samples = facts.samples
    if samples.fence is None:
        return join(
            tag("a", "Look at the borderline samples", href="#outliers-section"),
            ": they may as well be of their next cluster. ",
            facts.wording("membership='possibilistic'") + " tells outliers too.",
        )
    found = int(np.sum(samples.outlier))
    if found == 0:
        return Markup("")
    return join(
        tag("a", f"Look at the {counted(found, 'outlier')}", href="#outliers-section"),
        ": correct mistakes of measurement or leave them out, and fit again.",
    )


def _new(facts: Facts) -> Markup:
    """How new samples are labelled, by the file of the model if there is one."""
    file = model_file(facts.files)
    prepared = facts.steps or facts.scaling not in (None, "none")
    as_then = " In Python, columns are prepared as before the fit." if prepared else ""
    if file is None:
        lines = ['model.save("model.npz")', 'powerkmeans.load("model.npz").predict(X_new)']
        return join(f"Keep the model, and label new samples with it.{as_then}", _code(*lines))
    name = plain_text(file)
    lines = [f"powerkmeans predict {shlex.quote(name)} new.csv", f"powerkmeans.load({name!r}).predict(X_new)"]
    return join(f"Label new samples with the model, on the command line or in Python.{as_then}", _code(*lines))


def _code(*lines: str) -> Markup:
    return join(*(tag("pre", tag("code", line)) for line in lines))
