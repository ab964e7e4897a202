"""Pages whose packages are not there are left out."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("anndata") and find_spec("mudata") else ["single_cell.md"]
