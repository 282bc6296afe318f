"""Attacks that say which candidate images are private, one file each."""
