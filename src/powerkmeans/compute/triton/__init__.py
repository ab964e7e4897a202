"""Passes written in Triton, for graphics cards."""
