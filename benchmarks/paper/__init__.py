"""The paper's experiments as commands: ``benchmarks.paper.tables`` and ``benchmarks.paper.figures``."""
