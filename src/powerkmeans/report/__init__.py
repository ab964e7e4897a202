"""One HTML page that tells what a fitted model found: :func:`write_report`."""

from powerkmeans.report.writing import write_report

__all__ = ["write_report"]
