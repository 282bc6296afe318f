"""Which attacks may be believed, and what would help against those that succeed."""
