"""How rows are made: what is mixed (draws, recipe, queries), and the mixing (follow, blend, kernel, geometry)."""
