"""The experiments of the paper, each with its tables."""
