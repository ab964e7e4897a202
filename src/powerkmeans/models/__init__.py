"""What a fit leaves behind: its answers about samples, learning on from chunks, files."""
