"""What a finished fit tells about the data and the settings, each with its way out; it can be switched off."""
