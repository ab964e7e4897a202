"""What a fit tells about the data and the settings, each with its way out."""
