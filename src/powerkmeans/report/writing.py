"""Write the report of a fitted model: the one function that users call."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from powerkmeans.inputs.tensors import numbers_here
from powerkmeans.report.facts import gather
from powerkmeans.report.files import check_links
from powerkmeans.report.markup import plain_text
from powerkmeans.report.opened import Given, open_model
from powerkmeans.report.page import render
from powerkmeans.support.files import explained, free_target, replacing
from powerkmeans.support.values import path as check_path
from powerkmeans.support.values import text, word_or

_TEXT_OR_NONE = word_or((None,), text, "a str")


def write_report(
    path: str | os.PathLike[str],
    estimator: Any,
    X: Any,
    *,
    ids: Any = None,
    title: str | None = None,
    feature_names: Any = None,
    original: Any = None,
    scaling: str | None = None,
    present: Any = None,
    noise_threshold: float | None = None,
    files: Any = (),
    overwrite: bool = False,
) -> Path:
    """Write what a fitted model found as one HTML file that needs nothing else.

    The page has the clusters and their sizes, whether they are more separated than those of noise, two maps of
    the samples, the weights of the views, the means of every column in every cluster, the outliers, what to do
    next, and how the fit went. It reads all rows a block at a time; what it draws a sample of, it says. The same
    model and data give the same page.

    Parameters
    ----------
    path : path
        File to write, a regular one. It is written whole or not at all; a link is followed to the file that it
        leads to, and one that leads nowhere is an error.
    estimator : fitted KernelPowerKMeans or MultiViewPowerKMeans, or a Pipeline that ends in one
        The model. Rows go through the other steps of a pipeline first; where these keep the columns, as scalers
        do, the page shows the columns of ``X``, otherwise those that the steps make.
    X : as in the estimator's ``fit``
        The samples that the model, or the pipeline, was fitted to.
    ids : sequence of n_samples names, optional
        What the samples are called. Without it, the index of a data frame, or the numbers of the rows from 0.
    title : str, optional
        Title of the page.
    feature_names : sequence of str, dict or list of them by view, optional
        Names of the columns. Without it, those of the data frames.
    original : as ``X``, optional
        The same samples and columns in the units that readers know; ``X`` itself by default. It may have gaps.
    scaling : str, optional
        What was done to the columns before the fit, to be told on the page: ``"standard"``, ``"none"``.
    present : as in :meth:`MultiViewPowerKMeans.fit`, optional
        Which samples have which views.
    noise_threshold : float between 0 and 1, optional
        Outlier score above which a sample is called an outlier, as in ``predict``. Without it the page takes the
        upper whisker of a box plot of the distances.
    files : sequence of paths, optional
        Files that belong to the page, which links to them: labels, memberships, the model. A path that is not
        absolute is one in the folder of the page.
    overwrite : bool, default=False
        Whether a file of that name may be replaced; without it one that is not empty is kept, and that is an
        error.

    Returns
    -------
    pathlib.Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> from powerkmeans import KernelPowerKMeans
    >>> from powerkmeans.report import write_report
    >>> X = load_iris().data
    >>> model = KernelPowerKMeans(3, membership="possibilistic", random_state=0).fit(X)
    >>> folder = Path(tempfile.mkdtemp())
    >>> page = write_report(folder / "iris.html", model, X, feature_names=load_iris().feature_names)
    >>> page.name, page.stat().st_size < 200_000
    ('iris.html', True)

    """
    given = Given(ids, feature_names, original, _TEXT_OR_NONE("scaling", scaling))
    return write_page(path, estimator, X, given, Page(title, present, noise_threshold, files, overwrite))


class Page(NamedTuple):
    """How a page is written; see ``write_report``."""

    title: str | None = None
    present: Any = None
    noise_threshold: float | None = None
    files: Any = ()
    overwrite: bool = False


def write_page(path: str | os.PathLike[str], estimator: Any, X: Any, given: Given, page: Page) -> Path:
    """Write the report of a model and what is told about its samples."""
    title, path = _TEXT_OR_NONE("title", page.title), check_path("path", path)
    free_target(path, overwrite=page.overwrite)  # told before any work is done
    links = check_links(page.files, path)
    X, original = numbers_here(X, "X"), numbers_here(given.original, "original")
    opened = open_model(estimator, X, replace(given, original=original))
    facts = gather(opened, page.present, page.noise_threshold, links)
    heading = "Clusters found by powerkmeans" if title is None else plain_text(title)
    content = render(facts, heading).encode()
    with replacing(path, overwrite=page.overwrite) as stream, explained(path):
        stream.write(content)
    return Path(path)
