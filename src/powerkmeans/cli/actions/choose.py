"""``powerkmeans choose-k``: numbers of clusters side by side."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from rich.text import Text

from powerkmeans.choose.number import OF_NEIGHBOURS, KChoice, choose_k
from powerkmeans.choose.rule import BY_NEIGHBOURS
from powerkmeans.cli.errors import UserError, usage
from powerkmeans.cli.inputs import InputOptions, Inputs, chosen, read_inputs, tell_input
from powerkmeans.cli.modelling import ModelOptions
from powerkmeans.cli.progress import Bar
from powerkmeans.cli.terminal import Terminal, grid, heading, number, paragraph
from powerkmeans.cli.wording import in_options


def run(options: dict[str, Any]) -> None:
    """Read, compare, tell."""
    terminal = Terminal(quiet=options["quiet"], as_json=options["as_json"])
    k_min, k_max = options["k_min"], options["k_max"]
    if k_min > k_max:
        raise usage(f"--min {k_min} is larger than --max {k_max}.")
    reading, model = chosen(InputOptions, options), chosen(ModelOptions, {**options, "n_clusters": k_max})
    model.parameters(several=True)
    inputs = read_inputs(reading, terminal)
    tell_input(inputs, reading, terminal)
    found = _compare(inputs, model.parameters(several=inputs.several), k_min, k_max, terminal)
    reason, most = in_options(found.reason).replace("k_max", "--max"), int(found.table["k"][-1])
    if most < k_max:
        terminal.note(f"--max {k_max} is lowered to {most}: half of the samples must be able to have two more.")
    if terminal.as_json:
        answer = {
            "k": found.k,
            "by": found.by,
            "most_stable": found.most_stable,
            "reason": reason,
            "table": found.table,
        }
        terminal.give(answer | {"notes": terminal.notes})
        return
    about = f"{inputs.samples.n_samples:,} samples · {k_min} to {most} clusters · the higher the score, the better"
    by_cost = {name: column for name, column in found.table.items() if name not in OF_NEIGHBOURS}
    shown = [heading("Numbers of clusters", about), _table(by_cost, found.k), ""]
    if found.by == BY_NEIGHBOURS:
        by_neighbours = {name: found.table[name] for name in ("k", *OF_NEIGHBOURS)}
        shown += [heading("Groups of neighbours", "of any shape"), _table(by_neighbours, found.k), ""]
    result = heading(f"k = {found.k}" if found.k > 1 else "No number of clusters stands out"), paragraph(reason)
    terminal.show(*shown, *result, "")


def _compare(inputs: Inputs, parameters: dict[str, Any], k_min: int, k_max: int, terminal: Terminal) -> KChoice:
    """Choose, with a bar; parameters are those of a fit, some of which do not count here."""
    del parameters["n_clusters"]
    seed = parameters.pop("random_state")
    if parameters.pop("n_init") != "auto":
        terminal.note("--n-init is for fits; all numbers are compared from the same starts.")
    with terminal.bar("Comparing") as bar, terminal.hearing_warnings():
        bar.wait(f"{k_min} to {k_max} clusters")
        warnings.filterwarnings("ignore", "k_max=")  # the table tells, and a note in words of the command
        try:
            given = parameters | {"sample_weight": inputs.weight, "random_state": seed}
            return choose_k(inputs.X, k_min, k_max, progress=_on(bar), **given)
        except (ValueError, TypeError) as error:
            raise UserError(in_options(str(error))) from error


def _on(bar: Bar) -> Any:
    """What tells the bar: how many numbers of clusters are done, of how many."""

    def tell(done: int, total: int, *about: Any) -> None:
        bar.update(done / max(total, 1), " ".join(map(str, about)) or f"{done} of {total}")

    return tell


def _table(table: dict[str, Any], best: int) -> Any:
    names = list(table)
    rows = []
    for line in zip(*(np.asarray(table[name]).tolist() for name in names), strict=True):
        style = "bold cyan" if line[0] == best else ""
        rows.append(
            [Text(number(value) if isinstance(value, (int, float)) else str(value), style) for value in line]
        )
    return grid(names, rows, left=0)
