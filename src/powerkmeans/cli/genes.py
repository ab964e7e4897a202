"""The genes behind the components of annotated cells, which a report describes clusters by."""

from __future__ import annotations

from powerkmeans.cli.errors import UserError
from powerkmeans.cli.given import extension, named_files
from powerkmeans.cli.inputs import InputOptions, Inputs
from powerkmeans.cli.reading.hdf5 import read_genes
from powerkmeans.cli.terminal import Terminal
from powerkmeans.report.telling import Beside


def genes_of(inputs: Inputs, reading: InputOptions, terminal: Terminal) -> tuple[Beside, ...]:
    """What components of cells were made of, where one file has both."""
    files = named_files(reading.data)
    if len(files) != 1 or extension(files[0].path).lower() != ".h5ad":
        return ()
    try:
        found = read_genes(files[0].path, files[0].source, reading.array)
    except UserError as error:
        terminal.note(f"The report shows components and no genes: {error}")
        return ()
    if found is None or found[0].shape[0] != inputs.samples.n_rows:
        return ()
    table, columns = found
    kept = inputs.samples.kept
    if kept is not None:
        table = (table.tocsr() if hasattr(table, "tocsr") else table)[kept]
    return (Beside(".X", table, columns, "variables of .X"),)
