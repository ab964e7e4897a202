"""The commands around models: scores, bandwidths, timing, a demonstration, what is installed."""

from __future__ import annotations

from typing import Any

import click

from powerkmeans.cli.options import (
    KERNELS,
    Command,
    common_options,
    data_argument,
    engine_options,
    file_options,
    metric_option,
    seed_option,
    view_options,
    weight_option,
)


@click.command(cls=Command, short_help="Compare labels with known classes.")
@click.argument("labels", type=click.Path(), metavar="LABELS")
@click.argument("truth", type=click.Path(), metavar="TRUTH")
@click.option("--id", "id_column", metavar="COLUMN", help="The column that names the rows, in both files.")
@click.option("--truth-id", metavar="COLUMN", help="The column that names the rows in TRUTH.  [default: as --id]")
@click.option("--labels-column", metavar="COLUMN", help="Of LABELS.  [default: cluster, or the only one]")
@click.option("--truth-column", metavar="COLUMN", help="Of TRUTH.  [default: the only one]")
@common_options
def evaluate(**options: Any) -> None:
    """Compare LABELS, as fit and predict write them, with the known classes in TRUTH.

    Both are .csv, .tsv, .parquet, .feather, .arrow or one-dimensional .npy files. Classes may be words.

    \b
      powerkmeans evaluate result/labels.csv classes.csv --id sample
    """
    from powerkmeans.cli.actions.evaluate import run

    run(options)


@click.command(cls=Command, short_help="Distances between rows, to choose a bandwidth by.")
@data_argument
@click.option("--kernel", type=click.Choice(KERNELS), default="rbf", show_default=True, help="The kernel.")
@metric_option
@file_options
@weight_option
@view_options
@seed_option
@common_options
def bandwidth(**options: Any) -> None:
    """Tell the bandwidths of DATA that fit would choose for a kernel, and distances to choose another by.

    The median distance suits compact clusters. Thin or ring-like ones need about the width of the shape, which is
    nearer to the distance of a row to its tenth neighbour.
    """
    from powerkmeans.cli.actions.bandwidth import run

    run(options)


@click.command(cls=Command, short_help="Time a fit beside scikit-learn's k-means.")
@click.option("--rows", type=click.IntRange(100), default=100_000, show_default=True, help="Generated rows.")
@click.option("--columns", "n_columns", type=click.IntRange(1), default=32, show_default=True, help="Columns.")
@click.option(
    "-k", "--clusters", "n_clusters", type=click.IntRange(2), default=20, show_default=True, help="Clusters."
)
@click.option("--repeats", type=click.IntRange(1), default=3, show_default=True, help="Turns; medians are told.")
@engine_options
@seed_option
@common_options
def bench(**options: Any) -> None:
    """Time a pass and a fit on generated blobs beside scikit-learn's KMeans, in turns, with the costs reached."""
    from powerkmeans.cli.actions.bench import run

    run(options)


@click.command(cls=Command, short_help="See it work, on handwritten digits.")
@click.option(
    "-o",
    "--output",
    default="demo_output",
    show_default=True,
    metavar="FOLDER",
    type=click.Path(),
    help="Where everything is written.",
)
@click.option(
    "--seeds", type=click.IntRange(1), default=5, show_default=True, help="Fits of each step; means are told."
)
@click.option("--overwrite", is_flag=True, help="Replace files that exist.")
@common_options
def demo(**options: Any) -> None:
    """Cluster views of scikit-learn's handwritten digits, spoilt step by step, and write files to go on with."""
    from powerkmeans.cli.actions.demo import run

    run(options)


@click.command(cls=Command, short_help="Versions, engines, threads, readable formats.")
@common_options
def info(**options: Any) -> None:
    """Tell versions, which engine does the work, threads, BLAS, and which files can be read."""
    from powerkmeans.cli.actions.info import run

    run(options)
