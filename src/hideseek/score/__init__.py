"""Scoring: what an attack found, judged by the ground truth."""
