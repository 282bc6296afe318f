"""What attacks solve: least squares, priors, exact weights."""
