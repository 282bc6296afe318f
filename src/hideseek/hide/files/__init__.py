"""Schemes, releases and secrets on disk."""
