"""Options that several commands share, declared once. Nothing heavy is imported here."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

import click

from powerkmeans.cli.config import load_config

F = TypeVar("F", bound=Callable[..., Any])

# what the help names, which imports nothing; what is taken is what the registry has
FEATURE_MAPS = ("auto", "graph", "nystroem", "rff", "orf", "identity", "exact")
KERNELS = ("rbf", "laplacian", "matern12", "matern32", "matern52", "rational_quadratic")
MEMBERSHIPS = ("auto", "possibilistic", "fuzzy")
SCALES = ("auto", "standard", "robust", "none", "rows")
FILLS = ("median", "knn", "drop-rows")


class FeatureMapChoice(click.Choice[str]):
    """The feature maps of the registry, which is read when an option is."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Take the name of any map that there is."""
        if value in self.choices:
            return str(value)
        maps = import_module("powerkmeans.features.maps.registry").MAPS
        return value if value in maps else super().convert(value, param, ctx)


# where options stand in the help, by the names of their parameters; others come first
SECTIONS = {
    "Reading": "id_column weight array columns drop drop_text view float32 delimiter decimal thousands na header "
    "encoding",
    "Preparing": "impute encode encode_text total log scale",
    "Clustering": "feature_map kernel metric bandwidth n_components n_neighbors rows_per_landmark membership "
    "entropy n_init max_iter tol seed set_parameters",
    "Running": "dry_run engine threads device advice config quiet as_json help",
}


class Command(click.Command):
    """A command whose help has its options in sections."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections that have options."""
        home = {name: title for title, names in SECTIONS.items() for name in names.split()}
        records: dict[str, list[tuple[str, str]]] = {title: [] for title in ("Options", *SECTIONS)}
        for parameter in self.get_params(ctx):
            if isinstance(parameter, click.Argument):
                continue  # the usage line has them
            record = parameter.get_help_record(ctx)
            if record is not None:
                name = "help" if "--help" in parameter.opts else parameter.name or ""
                records[home.get(name, "Options")].append(record)
        for title, rows in records.items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


class Registered(click.Choice[str]):
    """One of the names in a registry, which is read when a value is none of those that the help lists."""

    def __init__(self, names: tuple[str, ...], module: str, registry: str) -> None:
        super().__init__(names)
        self._module, self._registry = module, registry

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Find the name."""
        if value in self.choices:
            return str(value)
        names = getattr(import_module(self._module), self._registry)
        return click.Choice(list(names)).convert(value, param, ctx)


def _all(*options: Callable[[F], F]) -> Callable[[F], F]:
    def decorate(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


data_argument = click.argument(
    "data", nargs=-1, required=True, type=click.Path(allow_dash=True), metavar="DATA..."
)

model_argument = click.argument("model", type=click.Path(), metavar="MODEL")

common_options = _all(
    click.option(
        "--config",
        type=click.Path(),
        metavar="FILE",
        is_eager=True,
        expose_value=False,
        callback=load_config,
        help="A TOML file with options; the command line wins.",
    ),
    click.option("-q", "--quiet", is_flag=True, help="No words and no bars, only errors and answers."),
    click.option("--json", "as_json", is_flag=True, help="The answer as one JSON object on stdout."),
)

file_options = _all(
    click.option(
        "--id", "id_column", metavar="COLUMN", help="The column that names the rows; aligns files by it."
    ),
    click.option(
        "--array",
        multiple=True,
        metavar="NAME",
        help="Which array of .npz, .mat, .zarr, .h5ad or .h5mu (obsm/X_pca), or which sheet of .xlsx.",
    ),
    click.option("--delimiter", metavar="CHAR", help="What cuts a text file.  [default: found out]"),
    click.option(
        "--decimal",
        type=click.Choice([".", ","]),
        help="What stands before decimals in a text file.  [default: ., or as in the fit]",
    ),
    click.option(
        "--thousands", metavar="CHAR", help="What stands between thousands, as in 1,234,567.  [default: nothing]"
    ),
    click.option(
        "--na",
        multiple=True,
        metavar="TEXT",
        help="What stands for a missing cell besides NA and nothing. Repeat it.",
    ),
    click.option(
        "--header/--no-header", default=None, help="Whether a text file begins with names.  [default: found out]"
    ),
    click.option("--encoding", default="utf-8", show_default=True, metavar="NAME", help="Of text files."),
    click.option("--float32", is_flag=True, help="Single precision: half the memory and time."),
)

view_options = _all(
    click.option(
        "--view",
        multiple=True,
        metavar="NAME=COLUMNS",
        help="A view of one table's columns: names, prefix* or 0:64, by commas. Repeat it.",
    ),
    click.option(
        "--columns", multiple=True, metavar="COLUMNS", help="These alone: names, prefix* or 0:4, by commas."
    ),
    click.option("--drop", multiple=True, metavar="COLUMNS", help="Columns to leave out, named in the same way."),
    click.option("--drop-text", is_flag=True, help="Leave out all columns of words."),
    click.option(
        "--impute",
        type=click.Choice(FILLS),
        help="Missing cells: the median of the column (the most frequent category), the mean of the five nearest "
        "rows, or their rows are left out and get no label.",
    ),
    click.option(
        "--encode",
        multiple=True,
        metavar="COLUMNS",
        help="Columns of categories: each becomes a column of 0 and 1, which weigh as one number together.",
    ),
    click.option("--encode-text", is_flag=True, help="The same for all words that come again and again."),
    click.option(
        "--total",
        type=click.FloatRange(0, min_open=True),
        metavar="N",
        help="Make counts of each row add up to N.",
    ),
    click.option("--log", is_flag=True, help="Logarithms of one more than the numbers, after --total."),
    click.option(
        "--scale",
        type=click.Choice(SCALES),
        default="auto",
        show_default=True,
        help="Columns by mean and deviation (standard), by median and quartiles (robust), or as they are (none); "
        "rows: to unit length, which is --scale none --metric cosine. auto is standard, but none for obsm.",
    ),
)

weight_option = click.option(
    "--weight",
    metavar="COLUMN",
    help="The column that says how much each row counts: numbers from 0 on. It is no part of what is clustered.",
)

metric_option = click.option(
    "--metric",
    metavar="NAME",
    help="What rows are compared by: euclidean, their distances, or cosine, their directions; by view as in "
    'JSON, {"text": "cosine"}.  [default: euclidean]',
)

seed_option = click.option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    metavar="N",
    help="Fixes everything that is drawn.",
)

engine_options = _all(
    click.option(
        "--engine",
        type=click.Choice(["auto", "compiled", "numpy"]),
        default="auto",
        show_default=True,
        help="Who does the work.",
    ),
    click.option("--threads", type=click.IntRange(1), metavar="N", help="Threads.  [default: all]"),
)

model_options = _all(
    click.option(
        "--feature-map",
        type=FeatureMapChoice(FEATURE_MAPS),
        default="auto",
        show_default=True,
        help="Where clusters are looked for: a graph of landmarks, features of a kernel, or plain columns.",
    ),
    click.option("--kernel", type=click.Choice(KERNELS), default="rbf", show_default=True, help="The kernel."),
    metric_option,
    click.option(
        "--bandwidth",
        default="median",
        show_default=True,
        metavar="WIDTH",
        help="Of the kernel: median, scale or a number.",
    ),
    click.option(
        "--components",
        "n_components",
        default="auto",
        show_default=True,
        metavar="N",
        help="Random features or landmarks: auto or a number.",
    ),
    click.option(
        "--neighbors",
        "n_neighbors",
        default="auto",
        show_default=True,
        metavar="N",
        help="Landmarks that a sample is placed by in a graph: auto or a number.",
    ),
    click.option(
        "--rows-per-landmark",
        type=click.IntRange(1),
        default=1,
        show_default=True,
        metavar="N",
        help="Landmarks are means of so many rows at least, so that the model holds no row as it is.",
    ),
    click.option(
        "--membership",
        type=Registered(MEMBERSHIPS, "powerkmeans.objective.membership", "MEMBERSHIPS"),
        default="auto",
        show_default=True,
        help="Possibilistic bounds the pull of outliers and scores them; a graph scores them by itself.",
    ),
    click.option(
        "--entropy", metavar="NUMBER", help="Price of uneven view weights: auto, a number, or inf for even ones."
    ),
    click.option("--n-init", default="auto", show_default=True, metavar="N", help="Number of runs."),
    click.option(
        "--max-iter",
        type=click.IntRange(1),
        default=300,
        show_default=True,
        metavar="N",
        help="Most iterations of a run.",
    ),
    click.option(
        "--tol",
        type=click.FloatRange(0),
        default=1e-4,
        show_default=True,
        metavar="STEP",
        help="When a run has converged.",
    ),
    engine_options,
    click.option(
        "--device",
        metavar="NAME",
        help="Work on devices of PyTorch: cuda, cuda:1, cuda:*, cpu.  [default: this processor, without PyTorch]",
    ),
    seed_option,
    click.option(
        "--set",
        "set_parameters",
        multiple=True,
        metavar="NAME=VALUE",
        help="Any other parameter of the estimator, for example --set s_init=-5.",
    ),
)
