"""The wet laboratory: liquids, solutions, and the instruments that weigh and measure them."""
