"""Several simulations whose results live in one folder: found there again, continued, never mixed up.

A simulation's files are named after it and a fingerprint of all that determines its numbers (specification, sources and
versions): ``<name>.<fingerprint>.npz`` once it is finished, ``….journal`` until then. Other settings therefore have
files of their own, and what was computed with the old ones stays.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from covbandit.errors import Interrupted, InvalidInput, StateFileError
from covbandit.simulation.journal import Journal, specification_in
from covbandit.simulation.locking import holding
from covbandit.simulation.plan import Plan, difference
from covbandit.simulation.result import SimulationResult
from covbandit.simulation.run import run_plan


@dataclass(frozen=True)
class Task:
    """One simulation of a campaign.

    Attributes
    ----------
    name : str
        Names its files; letters, digits, hyphens, dots.
    plan : Plan
        What determines its numbers.
    replications : int
        How many are wanted.
    group : str
        Under which it is shown while it runs; tasks of a group stand on one line. By default its name.
    """

    name: str
    plan: Plan
    replications: int
    group: str = ""

    @property
    def heading(self) -> str:
        """Where its progress is shown."""
        return self.group or self.name

    @property
    def rounds(self) -> int:
        """The learner-rounds of all its replications."""
        return self.plan.horizon * len(self.plan.learners) * self.replications

    def file(self, folder: Path) -> Path:
        """Return where its finished results are kept."""
        return folder / f"{self.name}.{self.plan.fingerprint()}.npz"


class Watcher:
    """Is told how a campaign goes on. This one keeps silent; the command line's draws bars."""

    def begun(self, task: Task) -> None:
        """Note that a task begins."""

    def played(self, task: Task, rounds: int) -> None:
        """Note how many of a task's learner-rounds have been played, those of earlier runs included."""

    def finished(self, task: Task, result: SimulationResult) -> None:
        """Note that a task ends."""

    def note(self, text: str, task: Task) -> None:
        """Note something that the user should know."""


def run_tasks(
    tasks: Sequence[Task], folder: Path, workers: int | Executor | None = None, watcher: Watcher | None = None
) -> dict[str, SimulationResult]:
    """Run simulations one after the other, or find their results in the folder; return them by name.

    Raises
    ------
    Interrupted
        On Ctrl-C. All finished replications are kept; the same call continues.
    """
    watcher = watcher or Watcher()
    repeated = {task.name for task in tasks if sum(other.name == task.name for other in tasks) > 1}
    if repeated:
        raise InvalidInput(f"two simulations are called {min(repeated)!r}; their files would be the same")
    results = {}
    with holding(folder):
        for stale in folder.glob(".*.npz.????????"):  # begun by a process that was killed
            stale.unlink(missing_ok=True)
        for task in tasks:
            watcher.begun(task)
            results[task.name] = _run_task(task, folder, workers, watcher)
            watcher.finished(task, results[task.name])
    return results


def _run_task(task: Task, folder: Path, workers: int | Executor | None, watcher: Watcher) -> SimulationResult:
    file = task.file(folder)
    journal = file.with_suffix(".journal")
    earlier = _load(task, file, watcher)
    if earlier is not None and set(range(task.replications)) <= set(earlier.replications.tolist()):
        _drop_if_saved(journal, task.plan, earlier)
        watcher.played(task, task.rounds)
        return earlier.select(range(task.replications))
    if earlier is None and not journal.exists():
        _note_other_settings(task, folder, watcher)
    try:
        result = run_plan(
            task.plan, task.replications, workers, lambda rounds: watcher.played(task, rounds), earlier, journal
        )
    except Interrupted as stopped:
        done = 0 if not isinstance(stopped.partial, SimulationResult) else len(stopped.partial.replications)
        raise Interrupted(
            f"interrupted: {done} of {task.replications} replications of {task.name} are kept in {folder}; the same "
            "command continues from there",
            stopped.partial,
        ) from None
    result.save(file)
    journal.unlink(missing_ok=True)
    return result


def _drop_if_saved(journal: Path, plan: Plan, saved: SimulationResult) -> None:
    """Remove a journal, left by a process that was killed after saving, unless it holds more than was saved."""
    if not journal.exists():
        return
    with suppress(StateFileError):  # one that cannot be read is no reason to do without results that can
        with Journal(journal, plan) as kept:
            more = set(kept.done) - set(saved.replications.tolist())
        if not more:
            journal.unlink(missing_ok=True)


def _load(task: Task, file: Path, watcher: Watcher) -> SimulationResult | None:
    if not file.exists():
        return None
    try:
        return SimulationResult.load(file)
    except StateFileError as error:
        watcher.note(f"results that cannot be read are computed again: {error}", task)
        return None


def _note_other_settings(task: Task, folder: Path, watcher: Watcher) -> None:
    """Say how the newest results of the same name differ, if there are any: a change of settings may be a slip."""
    others = [*folder.glob(f"{task.name}.????????.npz"), *folder.glob(f"{task.name}.????????.journal")]
    for other in sorted(others, key=os.path.getmtime, reverse=True):
        with suppress(StateFileError):
            finished = other.suffix == ".npz"
            before = SimulationResult.load(other).specification if finished else specification_in(other)
            differs = difference(before, task.plan.specification()) or "the software has changed"
            watcher.note(f"other settings than before: {differs}; a new run, what was computed before is kept", task)
            return
