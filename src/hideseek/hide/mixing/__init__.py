"""How rows are made: what is mixed (partners, trades, draws, recipe, queries), and how (follow, blend, kernel, …)."""
