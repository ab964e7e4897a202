"""Commands that try to break the library with random input; each says how many cases it tried and exits with 1 if one failed."""
