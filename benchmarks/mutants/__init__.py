"""Mutants: the source broken in small ways, to see whether the tests notice.

``python -m benchmarks.mutants`` makes and tries them; ``explained.toml`` has those that no test need notice.
"""
