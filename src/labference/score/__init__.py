"""Count what runs recorded. No physics engine, no bench."""
