"""Laboratories that an agent can be put in."""
