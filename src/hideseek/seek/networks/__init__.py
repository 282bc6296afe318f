"""What attacks train."""
