"""Tables on the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table as RichTable

from covbandit.tables import Table


def print_table(console: Console, table: Table) -> None:
    """Print a table with its title, and an empty line."""
    shown = RichTable(title=table.title or None, title_justify="left", title_style="", header_style="bold", box=None)
    for name, right in zip(table.columns, table.right_aligned(), strict=True):
        shown.add_column(name, justify="right" if right else "left", overflow="fold")
    for row in table.cells():
        shown.add_row(*row)
    console.print(shown)
    console.print()
