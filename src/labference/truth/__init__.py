"""Privileged nouns and pure functions over them: no physics engine, no input or output."""
