"""The command line: one thin file a command; parse, call the library, print."""

from headway.cli.app import main

__all__ = ["main"]
