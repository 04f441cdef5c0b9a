"""Servers: host a local tested system over a wire."""
