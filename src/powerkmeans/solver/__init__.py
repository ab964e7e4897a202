"""The majorise-minimise loop. It sees a callable that returns sums, never the data."""
