"""What is proved of what leaves, and the ledger of it."""
