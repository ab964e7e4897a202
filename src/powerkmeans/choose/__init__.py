"""What to choose before a fit: the number of clusters, the exponent to start from."""
