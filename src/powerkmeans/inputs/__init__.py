"""What users pass, checked once: every message names the view, row, column or parameter to blame."""
