"""What attacks measure in rows: white products, matched filters, discriminants, tests."""
