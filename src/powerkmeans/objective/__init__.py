"""Every equation of the method, once, in array-API style, on whichever device: no I/O, no loops over data.

Arrays over samples and clusters are laid out clusters first, ``(k, b)``: sums and minima over
clusters then run along contiguous memory.
"""
