"""A Flower app of a benchmark."""
