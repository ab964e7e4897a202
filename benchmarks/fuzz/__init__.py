"""Commands that try to break the library with random input: each tells its counts and fails if a case did."""
