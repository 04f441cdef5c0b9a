"""ALFWorld's household text games: an interpreter of our own, minds that play them, and what their trials teach."""
