"""Run episodes: the timed loop, what it delivers, what it admits, and campaigns of many."""
