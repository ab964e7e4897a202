"""What the library says in words of Python, in words of the command: one place, for notes, errors and reports."""

from __future__ import annotations

import re
from functools import cache

import click

from powerkmeans.advice.columns import SCALE_COLUMNS
from powerkmeans.advice.totals import COUNT_BY_SHARES
from powerkmeans.cli.options import model_options
from powerkmeans.estimators import MultiViewPowerKMeans

# what is no parameter: a function that is a command here, and ways out that are other steps
_STEPS = {
    "choose_k": "choose-k",
    SCALE_COLUMNS: "with --scale standard",
    COUNT_BY_SHARES: "use --scale rows, or --total 10000 --log",
}
# names of columns, views and values, which are left as they are; a quote within a word is an apostrophe
_QUOTED = r"""(?<!\w)(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_VALUE = r"""'[^']*'|[-+]?[0-9.]*[0-9](?:e[-+]?[0-9]+)?|[-+]?inf|[A-Z][a-z]+"""


def in_options(text: str) -> str:
    """A text with the options of the command in place of the parameters that they set.

    >>> in_options("2 landmarks are too few. Use n_components=400, or feature_map='identity'.")
    '2 landmarks are too few. Use --components 400, or --feature-map identity.'
    >>> in_options("column 'tol' has it all; increase max_iter or tol, or anneal faster (anneal_factor).")
    "column 'tol' has it all; increase --max-iter or --tol, or anneal faster (--set anneal_factor)."
    """
    for step, option in _STEPS.items():
        text = text.replace(step, option)
    return _parameters().sub(_as_option, text)


@cache
def _options() -> dict[str, str]:
    """The options that set parameters of an estimator, by these."""

    @model_options
    def declared() -> None: ...

    given = {one.name: one.opts[0] for one in declared.__click_params__ if isinstance(one, click.Option)}  # type: ignore[attr-defined]
    known = {name: given.get(name, "") for name in MultiViewPowerKMeans().get_params()}
    return known | {"n_clusters": "-k", "random_state": "--seed", "views": "--view"}


@cache
def _parameters() -> re.Pattern[str]:
    """Parameters with a value; those that messages name, and those that are no words of a sentence, without."""
    names = "|".join(sorted(_options(), key=len, reverse=True))
    bare = "|".join(sorted((name for name in _options() if "_" in name or name == "tol"), key=len, reverse=True))
    return re.compile(
        rf"The '(?P<checked>{names})' parameter|{_QUOTED}|(?<![\w.-])(?P<set>{names})=(?P<value>{_VALUE})"
        rf"|(?<![\w.=-])(?P<bare>{bare})(?![\w=(\[])"
    )


def _as_option(found: re.Match[str]) -> str:
    name = found["checked"] or found["set"] or found["bare"]
    if name is None:
        return found[0]
    option, value = _options()[name], found["value"]
    if value is None:
        return option or f"--set {name}"
    plain = value.strip("'")
    return f"{option} {plain}" if option else f"--set {name}={plain}"
