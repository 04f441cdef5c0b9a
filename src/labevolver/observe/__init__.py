"""The Observer: builds the belief from what the bench delivers, and keeps it up to date."""
