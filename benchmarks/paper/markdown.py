"""The pages: what was measured, with the kind of data beside every name, and what the paper prints."""

from __future__ import annotations

from benchmarks.harness.store import Store
from benchmarks.paper import printed, protocol
from benchmarks.paper.cells import SCORES, Cell, cell, default_cell, has_grid, mean_ranks
from benchmarks.paper.protocol import DEFAULTS, TUNED
from benchmarks.paper.sets import RAW, STANDARDISED, DataSet
from benchmarks.report import table_text

TITLES = {
    "multi": "Several views: the paper's table of clustering performance, run again",
    "ablation": "With and without the possibilistic membership: the paper's ablation, run again",
    "single": "One view: the table of the paper's appendix, run again",
}
COLUMN_TITLES = {
    DEFAULTS: "defaults (no labels seen)",
    TUNED: "tuned on labels (the paper's protocol)",
}
INTRODUCTION = """`python -m benchmarks.paper.tables --table {table}`; rows of every fit in
`benchmarks/results/{results}`.

Numbers are percent, mean ± standard deviation over seeds; views are standardised unless a line says raw.
"defaults" has seen no labels. "tuned on labels" chooses the setting of the best mean ACC on a grid with up to
{scan} seeds and runs it again with other seeds; methods without settings have the same number in both columns,
marked "no settings". NMI is normalised by the geometric mean of the entropies (other forms with each set).
The kind of data stands beside every name: only *exact* data are the paper's own, so only there its printed numbers
stand beside. Ranks are of the table's own score among all its methods, 1 is best; a method that failed on a set
shares the last ranks there, one that was not run has none."""


def page(table: str, sets: list[DataSet], methods: list[str], store: Store) -> str:
    """A whole page as Markdown."""
    rows_of = protocol.TABLES[table]
    measured = [data for data in sets if data.files]
    head = INTRODUCTION.format(table=table, results=store.path.name, scan=protocol.SCAN_SEEDS)
    parts = [f"# {TITLES[table]}", head]
    for metric in ("ACC",) if table == "ablation" else SCORES:
        for column, title in COLUMN_TITLES.items():
            parts.append(f"## {metric}, {title}")
            parts.append(score_table(table, measured, methods, store, (column, metric)))
    parts += ["## Time, memory and seeds", _costs(rows_of, measured, methods, store)]
    if table != "ablation":
        parts += [part for data in measured for part in _one_set(table, data, methods, store)]
    parts += ["## What the paper prints", *_printed(table, sets)]
    failures = _failures(rows_of, measured, methods, store)
    if failures:
        parts += ["## What was not run, or failed", "\n".join(failures)]
    return "\n\n".join(parts) + "\n"


def score_table(table: str, sets: list[DataSet], methods: list[str], store: Store, what: tuple[str, str]) -> str:
    """Methods by sets in one column and metric, with printed numbers beside exact sets and the mean rank."""
    column, metric = what
    rows_of = protocol.TABLES[table]
    cells = {method: [cell(rows_of, data, method, store, column) for data in sets] for method in methods}
    shown = {method: row for method, row in cells.items() if not all(c.empty for c in row)}
    ranks = mean_ranks(shown, metric) if shown else {}
    beside = [data for data in sets if data.comparable and column == TUNED]
    header = ["method", *_headers(sets, beside), "mean rank (sets)"]
    lines = []
    for method, row in shown.items():
        name = method if column == DEFAULTS or has_grid(rows_of, method) else f"{method} (no settings)"
        texts = [c.score(metric) for c in row]
        lines.append([name, *_with_printed(table, sets, beside, texts, (metric, method)), _rank(*ranks[method])])
    if beside:
        for method in printed.columns(table):
            if method not in shown:
                texts = ["-"] * len(sets)
                lines.append(
                    [f"{method} (printed)", *_with_printed(table, sets, beside, texts, (metric, method)), "-"]
                )
    return table_text(header, lines)


def _rank(mean: float, sets: int) -> str:
    return f"{mean:.2f} ({sets})" if sets else "-"


def _headers(sets: list[DataSet], beside: list[DataSet]) -> list[str]:
    return [text for data in sets for text in ([str(data)] + [f"{data.name}, printed"] * (data in beside))]


def _with_printed(
    table: str, sets: list[DataSet], beside: list[DataSet], texts: list[str], what: tuple[str, str]
) -> list[str]:
    """Cells with the printed number after each exact set."""
    line = []
    for data, text in zip(sets, texts, strict=True):
        line.append(text)
        if data in beside:
            line.append(_number(printed.value(table, data.paper or "", *what)))
    return line


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _costs(table: str, sets: list[DataSet], methods: list[str], store: Store) -> str:
    """Seconds and peak memory of a fit, and the number of seeds, in the column "defaults"."""
    lines = []
    for method in methods:
        cells = [default_cell(table, data, method, store) for data in sets]
        if not all(c.empty for c in cells):
            lines.append([method, *[c.cost() for c in cells]])
    explained = (
        "A fit of the defaults: seconds of the quickest seed (what else the machine does only adds to them), mean "
        "peak memory, number of seeds. The memory is what the fit adds "
        "to its process; of libraries that run in a process of their own it is all that this process takes."
    )
    return f"{explained}\n\n{table_text(['method', *map(str, sets)], lines)}"


def _one_set(table: str, data: DataSet, methods: list[str], store: Store) -> list[str]:
    """All that was measured on one set, and what the paper prints for the same data."""
    header = ["method", "column", "scaling", "setting", "ACC", "NMI", "NMI arithmetic", "NMI max", "Purity"]
    lines = []
    for method in methods:
        named = [("defaults", scaling, default_cell(table, data, method, store, scaling)) for scaling in _SCALINGS]
        if has_grid(table, method):
            named.append(("tuned on labels", STANDARDISED, cell(table, data, method, store, TUNED)))
        lines += [_line(method, column, scaling, c) for column, scaling, c in named if c.rows]
    if data.comparable:
        for method in printed.columns(table):
            values = {metric: _number(printed.value(table, data.paper or "", metric, method)) for metric in SCORES}
            scores = [values["ACC"], values["NMI"], "-", "-", values["Purity"]]
            lines.append([method, "printed", "-", "chosen with labels", *scores, "-", "-", "20", "-"])
    if not lines:
        return []
    return [f"## {data}", table_text([*header, "seconds", "peak MB", "seeds", "total s"], lines)]


_SCALINGS = (STANDARDISED, RAW)


def _line(method: str, column: str, scaling: str, c: Cell) -> list[str]:
    scores = [c.score(name) for name in ("ACC", "NMI", "NMI_arithmetic", "NMI_max", "Purity")]
    return [method, column, scaling, c.setting, *scores, c.seconds, c.megabytes, str(len(c.rows)), c.total]


def _printed(table: str, sets: list[DataSet]) -> list[str]:
    """The printed numbers of the sets' rows in the paper, as they are."""
    names = printed.columns(table)
    kinds: dict[str, list[str]] = {}
    for data in sets:
        kinds.setdefault(data.paper or "", []).append(data.kind)
    lines = []
    for row, here in kinds.items():
        for metric in ("ACC",) if table == "ablation" else SCORES:
            values = [_number(printed.value(table, row, metric, name)) for name in names]
            if any(value != "-" for value in values):
                lines.append([row, "; ".join(here), metric, *values])
    text = (
        'All from the paper, in percent, mean of 20 runs, settings chosen with the labels; "-" is out of memory '
        "there. Where the data here are not exact, these are not to be compared with the numbers above. Some "
        "cannot come from the protocol that the paper describes (Purity below ACC): a reference, not ground truth."
    )
    header = ["the paper's set", "data here", "metric", *[f"{name} (printed)" for name in names]]
    return [text, table_text(header, lines)]


def _failures(table: str, sets: list[DataSet], methods: list[str], store: Store) -> list[str]:
    """A line for every method and set without numbers, and why."""
    lines = []
    for method in methods:
        reasons: dict[str, list[str]] = {}
        for data in sets:
            for column in (DEFAULTS, TUNED):
                error = cell(table, data, method, store, column).error
                if error and data.name not in reasons.get(error, []):
                    reasons.setdefault(error, []).append(data.name)
        lines += [f"- {method}, {', '.join(names)}: {error}" for error, names in reasons.items()]
    return lines
