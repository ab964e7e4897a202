"""How well clusters of real cells agree with their types: ``sc.cluster``, the command on the same file, others.

python -m benchmarks.cells [--file CELLS.h5ad] [--key bulk_labels] [--beside louvain ...] [--seeds 5]

Without a file the 700 blood cells that scanpy ships are taken (pip install scanpy), whose types are in
obs["bulk_labels"]. There are as many clusters as types. The command is run with its default and with both
scalings; k-means of scikit-learn has the same components, ten starts. --beside names columns of obs that hold
clusters already, such as those of louvain. Cells without a type are clustered, but not scored. Rows go to
benchmarks/results/cells.jsonl.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
import warnings
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from click.testing import CliRunner
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

import powerkmeans
from benchmarks.report import mean_std, print_table, write_lines
from powerkmeans.cli.app import app
from powerkmeans.inputs.cells import PCA
from powerkmeans.metrics import normalized_mutual_info

HEADER = ["method", "ARI", "NMI"]
SCALES = {"fit": (), "fit --scale none": ("--scale", "none"), "fit --scale standard": ("--scale", "standard")}


class Cells(NamedTuple):
    """Cells with types: the AnnData, the file that the command reads, the types and which cells have one."""

    adata: Any
    file: Path
    types: np.ndarray
    typed: np.ndarray

    @property
    def k(self) -> int:
        return len(np.unique(self.types[self.typed]))

    def row(self, method: str, seed: int | None, labels: np.ndarray) -> dict[str, Any]:
        """Scores of one result."""
        truth, found = self.types[self.typed], np.asarray(labels).astype(str)[self.typed]
        scores = {"ARI": float(adjusted_rand_score(truth, found)), "NMI": normalized_mutual_info(truth, found)}
        return {"method": method, "seed": seed, "cells": len(truth), "k": self.k} | scores


def load(file: Path, key: str, folder: Path) -> Cells:
    """Read cells, and write them as the command reads them: files of anndata < 0.7 it does not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        adata = import_module("anndata").read_h5ad(file)
        if key not in adata.obs:
            raise SystemExit(f"{file.name} has no obs[{key!r}]; it has {', '.join(adata.obs)}.")
        adata.write_h5ad(folder / "cells.h5ad")
    typed = ~adata.obs[key].isna().to_numpy()
    return Cells(adata, folder / "cells.h5ad", adata.obs[key].astype(str).to_numpy(), typed)


def by_function(cells: Cells, seed: int) -> np.ndarray:
    """What ``sc.cluster`` finds by default."""
    adata = cells.adata.copy()
    powerkmeans.sc.cluster(adata, cells.k, random_state=seed)
    return adata.obs["power_kmeans"].to_numpy()


def by_command(options: tuple[str, ...]) -> Callable[[Cells, int], np.ndarray]:
    """What ``powerkmeans fit`` writes."""

    def run(cells: Cells, seed: int) -> np.ndarray:
        output = cells.file.parent / "output"
        given = ["fit", str(cells.file), "-k", str(cells.k), "--seed", str(seed), "-o", str(output), *options]
        done = CliRunner().invoke(app, [*given, "--overwrite", "--no-report", "--no-memberships", "-q"])
        if done.exit_code:
            raise RuntimeError(done.stderr)
        with open(output / "labels.csv", newline="", encoding="utf-8") as stream:
            labels = {line["id"]: line["cluster"] for line in csv.DictReader(stream)}
        return np.array([labels[name] for name in cells.adata.obs_names])

    return run


def by_kmeans(cells: Cells, seed: int) -> np.ndarray:
    """What k-means finds in the same components."""
    return KMeans(cells.k, n_init=10, random_state=seed).fit(cells.adata.obsm[PCA]).labels_


METHODS: dict[str, Callable[[Cells, int], np.ndarray]] = {
    "sc.cluster": by_function,
    **{name: by_command(options) for name, options in SCALES.items()},
    "KMeans(10)": by_kmeans,
}


def measure(cells: Cells, beside: list[str], seeds: int) -> list[dict[str, Any]]:
    """A row for each method and seed, and for each column of clusters that is there already."""
    methods = METHODS if PCA in cells.adata.obsm else {n: m for n, m in METHODS.items() if m is not by_kmeans}
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, method in methods.items():
            rows += [cells.row(name, seed, method(cells, seed)) for seed in range(seeds)]
    return rows + [cells.row(f"obs[{name!r}]", None, cells.adata.obs[name].to_numpy()) for name in beside]


def lines(rows: list[dict[str, Any]]) -> list[list[str]]:
    """A line a method: means and deviations over the seeds."""
    table = []
    for name in dict.fromkeys(row["method"] for row in rows):
        mine = [row for row in rows if row["method"] == name]
        table.append([name, *(mean_std([row[score] for row in mine]) for score in HEADER[1:])])
    return table


def shipped() -> Path:
    """The file of blood cells in scanpy, which need not be imported for it."""
    spec = find_spec("scanpy")
    if spec is None or spec.origin is None:
        raise SystemExit("Give a --file and the --key of its types, or pip install scanpy, which has one.")
    return Path(spec.origin).parent / "datasets" / "10x_pbmc68k_reduced.h5ad"


def parse(given: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--file", type=Path, help="an .h5ad file (default: the one in scanpy)")
    parser.add_argument("--key", default="bulk_labels", help="the column of obs with the types")
    parser.add_argument("--beside", nargs="*", default=[], metavar="COLUMN", help="columns of obs with clusters")
    parser.add_argument("--seeds", type=int, default=5)
    return parser.parse_args(given)


def main(given: list[str] | None = None) -> None:
    arguments = parse(given)
    file = arguments.file or shipped()
    with tempfile.TemporaryDirectory() as folder:
        cells = load(file, arguments.key, Path(folder))
        missing = [name for name in arguments.beside if name not in cells.adata.obs]
        if missing:
            raise SystemExit(f"{file.name} has no obs[{missing[0]!r}]; it has {', '.join(cells.adata.obs)}.")
        rows = measure(cells, arguments.beside, arguments.seeds)
    rows = [{"data": file.stem, "key": arguments.key} | row for row in rows]
    print(f"{file.name}: {np.sum(cells.typed)} cells, {cells.k} types of obs[{arguments.key!r}]")
    print_table(HEADER, lines(rows))
    print(f"rows in {write_lines('cells', rows)}")


if __name__ == "__main__":
    main()
