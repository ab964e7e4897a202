"""Things broken on purpose, and what the library makes of them."""
