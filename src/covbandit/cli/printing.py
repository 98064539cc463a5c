"""Tables on the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from covbandit.tables import Table


def print_table(console: Console, table: Table) -> None:
    """Print a table with its title, and an empty line."""
    # As Text, since names are the user's, and Rich reads what is in brackets as styles.
    title = Text(table.title) if table.title else None
    shown = RichTable(title=title, title_justify="left", title_style="", header_style="bold", box=None)
    for name, right in zip(table.columns, table.right_aligned(), strict=True):
        shown.add_column(Text(name), justify="right" if right else "left", overflow="fold")
    for row in table.cells():
        shown.add_row(*map(Text, row))
    console.print(shown)
    console.print()
