"""How far a campaign of simulations is: bars on a terminal, a few lines elsewhere."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Self, TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from covbandit.errors import AssumptionWarning
from covbandit.simulation.campaign import Task, Watcher
from covbandit.simulation.result import SimulationResult

_OTHER_LINES = 6  # of the screen, kept free for notes and what was there before
_RATE_AFTER = 0.5  # seconds of play before time left is worth showing


class _Line:
    """The tasks of one group, with the time spent on them."""

    def __init__(self, heading: str, tasks: Sequence[Task], clock: Callable[[], float]) -> None:
        self.heading = heading
        self._clock = clock
        self._total = sum(task.rounds for task in tasks)
        self._open = {task.name for task in tasks}
        self._played = dict.fromkeys(self._open, 0)
        self._before: dict[str, int] = {}  # rounds played in earlier runs: they say nothing about speed
        self._spent = 0.0
        self._since: float | None = None

    def begin(self) -> None:
        self._since = self._clock()

    def play(self, name: str, rounds: int) -> None:
        self._before.setdefault(name, rounds)
        self._played[name] = rounds

    def end(self, name: str) -> None:
        self._spent, self._since = self.elapsed, None
        self._open.discard(name)

    @property
    def running(self) -> bool:
        return self._since is not None

    @property
    def done(self) -> bool:
        return not self._open

    @property
    def share(self) -> float:
        return 1.0 if self.done else sum(self._played.values()) / self._total

    @property
    def found(self) -> bool:
        """Whether all results were there before."""
        return self.done and sum(self._before.values()) == self._total

    @property
    def elapsed(self) -> float:
        return self._spent + (0.0 if self._since is None else self._clock() - self._since)

    @property
    def left(self) -> str:
        """The time left in words; empty while it is not known."""
        if self.done:
            return "found" if self.found else "done"
        played = sum(self._played.values())
        now = played - sum(self._before.values())
        if not self.running:
            return "" if played else "waiting"
        if now <= 0 or self.elapsed < _RATE_AFTER:
            return ""
        return f"{as_duration(self.elapsed * (self._total - played) / now)} left"

    def cells(self) -> tuple[RenderableType, ...]:
        bar = ProgressBar(total=1.0, completed=self.share, width=30)
        return (
            Text(self.heading, overflow="ellipsis", no_wrap=True),
            bar,
            Text(f"{100 * self.share:3.0f} %", no_wrap=True),
            Text(as_duration(self.elapsed) if self.elapsed or self.done else "", no_wrap=True),
            Text(self.left, no_wrap=True),
        )


class TerminalWatcher(Watcher):
    """Show a campaign while it runs: for each group of tasks a bar, percent, elapsed time and time left.

    A context manager. If the console is no terminal, it writes a line when a group is finished. What the user should
    know (other settings than before, results computed again, warnings of learners) is shown once, with the names of
    all tasks that it concerns.

    Parameters
    ----------
    tasks : sequence of Task
        All that will run.
    console : Console
        Where to write; standard error, so that tables can be piped.
    clock : callable
        Seconds since some moment.
    """

    def __init__(self, tasks: Sequence[Task], console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        headings = dict.fromkeys(task.heading for task in tasks)
        self._lines = {
            heading: _Line(heading, [task for task in tasks if task.heading == heading], clock) for heading in headings
        }
        self._console = console
        self._notes: dict[str, list[str]] = {}
        self._now: Task | None = None
        self._ended = False
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("always", AssumptionWarning)
        warnings.showwarning = self._warned
        if self._console.is_terminal:
            self._stack.enter_context(Live(self, console=self._console, refresh_per_second=5))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._ended = True
        self._stack.close()
        if not self._console.is_terminal:
            for note in self._notes_in_words():
                self._console.print(note, soft_wrap=True, highlight=False, markup=False)

    def begun(self, task: Task) -> None:
        """Start the clock of the task's line."""
        self._now = task
        self._lines[task.heading].begin()

    def played(self, task: Task, rounds: int) -> None:
        """Move the task's line on."""
        self._lines[task.heading].play(task.name, rounds)

    def finished(self, task: Task, result: SimulationResult) -> None:
        """Stop the clock; without a terminal, print which group has ended."""
        line = self._lines[task.heading]
        line.end(task.name)
        if line.done and not self._console.is_terminal:
            how = "results found" if line.found else f"done in {as_duration(line.elapsed)}"
            self._console.print(f"{line.heading}: {how}", soft_wrap=True, highlight=False, markup=False)

    def note(self, text: str, task: Task) -> None:
        """Show a text once, with the names of all tasks that it concerns."""
        names = self._notes.setdefault(text, [])
        if task.name not in names:
            names.append(task.name)

    def _warned(
        self,
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if issubclass(category, AssumptionWarning) and self._now is not None:
            self.note(str(message), self._now)
        else:
            self._console.print(f"{category.__name__}: {message}", highlight=False, markup=False)

    def _notes_in_words(self) -> Iterator[str]:
        for text, names in self._notes.items():
            yield f"note: {', '.join(names)}: {text}"

    def __rich__(self) -> RenderableType:
        table = Table.grid(padding=(0, 2, 0, 0))
        for justify in ("left", "left", "right", "right", "left"):
            table.add_column(justify=justify)
        shown = self._shown()
        for line in shown:
            table.add_row(*line.cells())
        hidden = len(self._lines) - len(shown)
        parts: list[RenderableType] = [table]
        if hidden:
            done = sum(line.done for line in self._lines.values())
            parts.append(Text(f"{done} of {len(self._lines)} done"))
        return Group(*parts, *(Text(note, style="yellow") for note in self._notes_in_words()))

    def _shown(self) -> list[_Line]:
        """Return the lines that fit on the screen: all, or those around the running one."""
        lines = list(self._lines.values())
        room = max(self._console.height - _OTHER_LINES, 3)
        if self._ended or len(lines) <= room:
            return lines
        at = next((k for k, line in enumerate(lines) if not line.done), len(lines) - 1)
        first = min(max(at - room // 2, 0), len(lines) - room)
        return lines[first : first + room]


def as_duration(seconds: float) -> str:
    """Return seconds as people say them.

    Examples
    --------
    >>> as_duration(0.42), as_duration(75), as_duration(7300)
    ('0.4 s', '1 min 15 s', '2 h 1 min')
    """
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
