"""Attacks on encodings, one file each."""
