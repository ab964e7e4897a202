"""Commands that break the library on purpose and count what happens."""
