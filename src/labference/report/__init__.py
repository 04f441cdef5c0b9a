"""Show what was counted: terminal tables, figures, and one page that opens without a server."""
