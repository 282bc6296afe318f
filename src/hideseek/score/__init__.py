"""Scoring: what an attack found, judged against the truth."""
