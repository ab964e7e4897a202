"""The parts of a fit between checked data and a fitted model: preparation, starts, moves."""
