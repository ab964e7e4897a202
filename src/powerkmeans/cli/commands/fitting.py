"""The commands that make and use models."""

from __future__ import annotations

from typing import Any

import click

from powerkmeans.cli.options import (
    Command,
    common_options,
    data_argument,
    file_options,
    model_argument,
    model_options,
    view_options,
    weight_option,
)


def _number_of_clusters(context: click.Context, parameter: click.Parameter, value: int | None) -> int:
    if value is None:
        raise click.UsageError(
            "How many clusters? Say -k 3, for example; `powerkmeans choose-k` with these files recommends one",
            context,
        )
    return value


clusters_option = click.option(
    "-k",
    "--clusters",
    "n_clusters",
    type=click.IntRange(1),
    metavar="K",
    callback=_number_of_clusters,
    help="Number of clusters; choose-k recommends one.",
)


@click.command(cls=Command, short_help="Find clusters; write labels, scores, memberships, the model.")
@data_argument
@clusters_option
@click.option(
    "-o",
    "--output",
    default="powerkmeans_output",
    show_default=True,
    metavar="FOLDER",
    type=click.Path(),
    help="Where everything is written.",
)
@click.option(
    "--format",
    "table_format",
    type=click.Choice(["csv", "parquet"]),
    default="csv",
    show_default=True,
    help="Of labels and memberships.",
)
@click.option(
    "--memberships/--no-memberships", default=True, show_default=True, help="Write a column per cluster."
)
@click.option("--report/--no-report", default=True, show_default=True, help="Write a report to look at.")
@click.option(
    "--outliers",
    type=click.FloatRange(0, 0.5),
    default=0.0,
    show_default=True,
    metavar="SHARE",
    help="Label that share of the samples -1: those with the highest outlier scores.",
)
@click.option("--overwrite", is_flag=True, help="Replace files that exist.")
@click.option("--no-ids", is_flag=True, help="Keep the names of samples out of the model and the report.")
@click.option(
    "--checkpoint",
    metavar="FILE",
    type=click.Path(),
    help="Write the state of the fit there as it goes, and go on from it if it is there; removed at the end.",
)
@click.option(
    "--advice/--no-advice",
    default=True,
    show_default=True,
    help="Tell what the data make unwise, and the way out.",
)
@click.option(
    "--dry-run", is_flag=True, help="Check the input; tell shape, memory and time to expect. Write nothing."
)
@file_options
@weight_option
@view_options
@model_options
@common_options
def fit(**options: Any) -> None:
    """Find K clusters in DATA and write what was found.

    DATA is a table: .csv, .tsv, .xlsx, .parquet, .feather, .arrow, .npy, .npz, .mat, .zarr, .h5ad or .h5mu, or -
    for CSV that is piped in. Several files are several views of the same samples, called after their files or as
    in name=path.

    \b
      powerkmeans fit wine.csv -k 3
      powerkmeans fit rna.parquet protein.csv --id sample -k 8 -o result
      powerkmeans fit cells.csv --view rna='rna_*' --view protein=p53,akt -k 8
    """
    from powerkmeans.cli.planning import planned_outputs

    if not options["dry_run"]:
        planned_outputs(options).check()  # before the library is imported
    from powerkmeans.cli.actions.fit import run

    run(options)


@click.command(cls=Command, short_help="Label new samples with a fitted model.")
@model_argument
@data_argument
@click.option(
    "-o", "--output", metavar="FILE", type=click.Path(), help="A .csv, .tsv or .parquet file.  [default: stdout]"
)
@click.option("--memberships", is_flag=True, help="Add a column per cluster.")
@click.option(
    "--noise-threshold",
    type=click.FloatRange(0, 1),
    metavar="SCORE",
    help="Label samples with a higher outlier score -1.  [default: as in fit]",
)
@click.option("--overwrite", is_flag=True, help="Replace a file that exists.")
@file_options
@common_options
def predict(**options: Any) -> None:
    """Label DATA with the MODEL that fit wrote, scaled as in fit.

    Columns are found by their names; others are not used. A view that no file has is missing for all samples.

    \b
      powerkmeans predict result/model.npz new.csv -o labels.csv
    """
    from powerkmeans.cli.actions.predict import run

    run(options)


@click.command(cls=Command, short_help="Tell what a model found: views, clusters, columns.")
@model_argument
@click.argument("data", nargs=-1, type=click.Path(allow_dash=True), metavar="[DATA...]")
@click.option(
    "--columns", "n_columns", type=click.IntRange(1), default=3, show_default=True, help="Columns per cluster."
)
@file_options
@common_options
def explain(**options: Any) -> None:
    """Tell what MODEL found: what each view contributes, and which columns set each cluster apart.

    With DATA the views are judged on these samples instead of those of the fit.
    """
    from powerkmeans.cli.actions.explain import run

    run(options)


@click.command("choose-k", cls=Command, short_help="Find a number of clusters.")
@data_argument
@click.option("--min", "k_min", type=click.IntRange(2), default=2, show_default=True, help="Fewest clusters.")
@click.option("--max", "k_max", type=click.IntRange(2), default=20, show_default=True, help="Most clusters.")
@file_options
@weight_option
@view_options
@model_options
@common_options
def choose_k(**options: Any) -> None:
    """Compare numbers of clusters for DATA and choose one.

    \b
      powerkmeans choose-k wine.csv --min 2 --max 10
    """
    from powerkmeans.cli.actions.choose import run

    run(options)
