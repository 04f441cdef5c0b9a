"""What a run leaves on disk, and how it is read back."""
