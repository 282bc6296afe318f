"""How rows are made: who is mixed with whom (draws, recipe), and the making (follow, blend, kernel, geometry)."""
