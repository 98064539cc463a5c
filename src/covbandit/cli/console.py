"""The terminal: tables that fit its width, and what is shown while a command works for long.

Tables never break words or numbers. If a table is too wide, these ways are tried in order: cells of words take up to
three lines; the longest columns of words move to lines of their own below each row; every row becomes a block with one
line per column.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from types import MappingProxyType, TracebackType
from typing import Self

from rich.cells import cell_len
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from covbandit.core.tables import Table

_GAP = 2  # blanks between columns
_MOST_LINES = 3  # of a cell
_INDENT = 4  # of what stands below its row
WAITING_SHOWN_AFTER = 2.0
"""Seconds after which a command shows that it is still at work."""

_NO_STYLES: Mapping[str, str] = MappingProxyType({})


def print_table(console: Console, table: Table, styles: Mapping[str, str] = _NO_STYLES) -> None:
    """Print a table with its title, and an empty line.

    Parameters
    ----------
    console : Console
        Where to print.
    table : Table
        What to print.
    styles : mapping
        Styles of cells, by their text.
    """
    for line in wrapped_lines(table.title, console.width) if table.title else ():
        _print(console, line)
    columns = [
        _Column(name, [row[k] for row in table.cells()], right)
        for k, (name, right) in enumerate(zip(table.columns, table.right_aligned(), strict=True))
    ]
    beside = list(columns)
    widths = _widths(beside, console.width)
    while widths is None and (longest := _longest_words(beside)) is not None:
        beside.remove(longest)
        widths = _widths(beside, console.width)
    if widths is None:
        _print_blocks(console, columns, styles)
    else:
        below = [column for column in columns if column not in beside]
        _print_rows(console, beside, widths, below, styles)
    console.print()


def wrapped(text: str, width: int) -> list[str]:
    """Return a line of text in lines of at most a width, broken after commas or else at blanks, never in a word.

    Examples
    --------
    >>> wrapped("search 0.5, social 0.25, video 0.25", 25), wrapped("a verylongword", 5)
    (['search 0.5, social 0.25,', 'video 0.25'], ['a', 'verylongword'])
    """
    if cell_len(text) <= width:
        return [text]
    parts = [f"{part}," for part in text.split(", ")]
    parts[-1] = parts[-1][:-1]
    if any(cell_len(part) > width for part in parts):
        parts = text.split()
    lines: list[str] = []
    for part in parts:
        if lines and cell_len(lines[-1]) + 1 + cell_len(part) <= width:
            lines[-1] += f" {part}"
        else:
            lines.append(part)
    return lines


def wrapped_lines(text: str, width: int) -> list[str]:
    """Return text that may have several lines, each wrapped by itself."""
    return [part for line in text.split("\n") for part in (wrapped(line, width) or [""])]


class _Column:
    """Heading and cells of a column; cells that are aligned right are numbers, which stand on one line."""

    def __init__(self, name: str, cells: list[str], right: bool) -> None:
        self.name, self.cells, self.right = name, cells, right
        self.natural = max(map(cell_len, [name, *cells]))

    def width(self, lines: int) -> int:
        """Return the smallest width in which no cell takes more lines than that, and no word is broken."""
        words = [word for text in [self.name, *([] if self.right else self.cells)] for word in text.split()]
        whole = [line for text in self.cells for line in text.split("\n")] if self.right or lines == 1 else []
        width = max(map(cell_len, [*words, *whole]), default=0)
        while width < self.natural and (
            len(wrapped(self.name, width)) > _MOST_LINES
            or any(len(wrapped_lines(cell, width)) > lines for cell in ([] if self.right else self.cells))
        ):
            width += 1
        return width

    def lines(self, text: str, width: int) -> list[str]:
        """Return a cell in lines that are as wide as the column."""
        found = wrapped_lines(text, width)
        blanks = [" " * (width - cell_len(line)) for line in found]
        return [blank + line if self.right else line + blank for line, blank in zip(found, blanks, strict=True)]


def _widths(columns: Sequence[_Column], room: int) -> list[int] | None:
    """Return a width for each column, such that rows have few lines and fit into the room; None if they cannot."""
    room -= _GAP * (len(columns) - 1)
    if sum(column.natural for column in columns) <= room:
        return [column.natural for column in columns]
    for lines in range(1, _MOST_LINES + 1):
        widths = [column.width(lines) for column in columns]
        if sum(widths) <= room:
            return widths
    return None


def _longest_words(columns: Sequence[_Column]) -> _Column | None:
    """Return the longest column of words; not the first, which says what a row is about."""
    words = [column for column in columns[1:] if not column.right]
    return max(words, key=lambda column: column.natural, default=None)


def _print_rows(
    console: Console,
    columns: Sequence[_Column],
    widths: Sequence[int],
    below: Sequence[_Column],
    styles: Mapping[str, str],
) -> None:
    for head in _beside([column.lines(column.name, width) for column, width in zip(columns, widths, strict=True)]):
        _print(console, "".join(head), "bold")
    for k in range(len(columns[0].cells)):
        cells = [column.lines(column.cells[k], width) for column, width in zip(columns, widths, strict=True)]
        for parts in _beside(cells):
            text = Text()
            for part, column in zip(parts, columns, strict=True):
                text.append(part, styles.get(column.cells[k], ""))
            text.rstrip()
            console.print(text, soft_wrap=True)
        for column in below:
            for line in _labelled(column.name, column.cells[k], console.width, _INDENT):
                _print(console, line, styles.get(column.cells[k], ""))


def _beside(cells: Sequence[Sequence[str]]) -> Iterator[list[str]]:
    """Yield the lines of cells that stand side by side: of each line the part of each cell, with the gap after it."""
    gap = " " * _GAP
    for n in range(max(map(len, cells))):
        line = [cell[n] if n < len(cell) else " " * cell_len(cell[0]) for cell in cells]
        yield [*(f"{part}{gap}" for part in line[:-1]), line[-1]]


def _print_blocks(console: Console, columns: Sequence[_Column], styles: Mapping[str, str]) -> None:
    """Print one line per cell, the names of the columns before them, and an empty line between rows."""
    width = max(cell_len(column.name) for column in columns)
    for k in range(len(columns[0].cells)):
        if k:
            console.print()
        for column in columns:
            label = column.name + " " * (width - cell_len(column.name))
            for line in _labelled(label, column.cells[k], console.width, 0):
                _print(console, line, styles.get(column.cells[k], ""))


def _labelled(label: str, text: str, room: int, indent: int) -> list[str]:
    """Return a text behind its label, with further lines below the first; below the label if there is no room."""
    start = " " * indent + (f"{label}  " if label else "")
    margin = cell_len(start)
    if label and margin + max(map(cell_len, text.split()), default=0) > room:
        blanks = " " * (indent + _GAP)
        return [start.rstrip(), *(blanks + line for line in wrapped_lines(text, max(room - len(blanks), 1)))]
    lines = wrapped_lines(text, max(room - margin, 1))
    return [f"{start}{lines[0]}".rstrip(), *(" " * margin + line for line in lines[1:])]


def labelled(label: str, text: str, room: int) -> list[str]:
    """Return a fact for people: a text behind its label, in lines that fit into the room, without a broken word."""
    return _labelled(label, text, room, _GAP)


def _print(console: Console, line: str, style: str = "") -> None:
    # As Text, since names are the user's, and Rich reads what is in brackets as styles.
    console.print(Text(line.rstrip(), style=style), soft_wrap=True)


class Waiting:
    """A context manager that shows progress on a terminal once the work takes longer than two seconds.

    Parameters
    ----------
    what : str
        What is being done.
    total : int, optional
        How many steps it has; call the object with the number done.
    compiles : bool
        Whether `what` says that kernels may be compiled; then no other notice says so.
    """

    def __init__(self, what: str, total: int | None = None, compiles: bool = False) -> None:
        self._compiles = compiles
        self._console = Console(stderr=True)
        parts = ("{task.completed:,.0f} of {task.total:,.0f}",) if total else ()
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            *(TextColumn(part) for part in parts),
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
        )
        self._task = self._progress.add_task(what, total=total)
        self._lock = threading.Lock()
        self._over = self._shown = False
        self._stack = ExitStack()
        self._timer = threading.Timer(WAITING_SHOWN_AFTER, self._begin)
        self._timer.daemon = True

    def __call__(self, done: int) -> None:
        """Show how many steps are done."""
        self._progress.update(self._task, completed=done)

    def _begin(self) -> None:
        with self._lock:
            if not self._over:
                self._progress.start()
                self._shown = True

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            if self._compiles:
                from covbandit.kernels.jit.compilation import without_notice

                self._stack.enter_context(without_notice())
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        self._stack.close()
        with self._lock:
            self._over = True
            if self._shown:
                self._progress.stop()


def waiting_for_learner(what: str) -> Waiting:
    """Return a `Waiting` for work that compiles the learner the first time on a machine."""
    return Waiting(f"{what}; the first time on a machine, the learner is compiled", compiles=True)
