"""Benchmarks: each module is a command; results are JSON lines under results/."""
