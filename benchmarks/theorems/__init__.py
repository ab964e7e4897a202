"""What the paper's theorems say that a program can check, as one command: ``python -m benchmarks.theorems``."""
