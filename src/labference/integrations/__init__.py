"""labference tasks inside other people's tools; each module needs the extra of its name and is imported by its tool."""
