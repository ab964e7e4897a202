"""Who runs a function over blocks: one module each, about a hundred lines (see ``executor.py``)."""
