"""Attacks on updates of a model, one file each."""
