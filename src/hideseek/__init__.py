"""Hide images before they are shared, learn from what was hidden, and seek what still leaks."""
