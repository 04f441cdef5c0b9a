"""`python -m labevolver` is the command `labevolver`."""

from .cli import main

main()
