"""Run the command line as ``python -m covbandit.cli``."""

from covbandit.cli.app import main

main()
