"""Federating: several parties, one model. Parties and server are plain functions; Flower carries messages."""
