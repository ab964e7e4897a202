"""From rows to features: kernels, their random and data-dependent maps, bandwidths, sizes."""
