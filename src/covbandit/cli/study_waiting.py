"""What a user sees while a study works for long."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from covbandit.kernels.jit.compilation import without_notice

SECONDS = 2.0
"""After which progress is worth showing."""


class Waiting:
    """A context manager that shows progress on a terminal once the work takes longer than two seconds.

    Parameters
    ----------
    what : str
        What is being done.
    total : int, optional
        How many steps it has; call the object with the number done.
    compiles : bool
        Whether `what` says that kernels may be compiled, so that nothing else has to.
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
        self._timer = threading.Timer(SECONDS, self._begin)
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


def waiting_for(what: str) -> Waiting:
    """Return what shows that work goes on which, the first time on a machine, compiles the learner."""
    return Waiting(f"{what}; the first time on a machine, the learner is compiled", compiles=True)
