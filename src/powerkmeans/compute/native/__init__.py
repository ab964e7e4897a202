"""Passes and maps in C++ (``cpp/``); an installation without a compiler has none and uses NumPy."""
