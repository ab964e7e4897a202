"""Where rows live and who adds them up: blocks, samples, executors, the choice of the pass. No equations."""
