"""`python -m labference` is the command `labference`."""

from .cli import main

main()
