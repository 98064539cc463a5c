"""The command line: one thin command per verb."""

from covbandit.cli.app import main

__all__ = ["main"]
