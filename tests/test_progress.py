"""How far a campaign is, as the terminal shows it."""

from __future__ import annotations

import io
import re
import warnings
from pathlib import Path

import pytest
from rich.console import Console

import covbandit as cb
from covbandit.cli.progress import TerminalWatcher
from covbandit.errors import AssumptionWarning
from covbandit.simulation.campaign import Task, run_tasks
from covbandit.simulation.plan import as_plan

RESULT: cb.SimulationResult = None  # type: ignore[assignment]  # watchers of ours do not look at it


def _task(name: str, group: str = "", horizon: int = 100, replications: int = 2) -> Task:
    learners = {"it": cb.MCEmpirical(n_options=5, risk_aversion=0.1)}
    return Task(name, as_plan(cb.problems.synthetic(), learners, horizon), replications, group)


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def _console(terminal: bool, height: int = 30) -> Console:
    return Console(file=io.StringIO(), force_terminal=terminal, width=100, height=height, color_system=None)


def _screen(watcher: TerminalWatcher, height: int = 30) -> list[str]:
    console = _console(terminal=False, height=height)
    console.print(watcher)
    return [" ".join(re.sub("[━╸╺]", "", line).split()) for line in console.file.getvalue().splitlines()]  # type: ignore[attr-defined]


def test_each_group_has_a_line_with_percent_elapsed_and_time_left() -> None:
    tasks, clock = [_task("a1", "first"), _task("a2", "first"), _task("b", "second")], Clock()
    watcher = TerminalWatcher(tasks, _console(terminal=True), clock)
    assert _screen(watcher) == ["first 0 % waiting", "second 0 % waiting"]
    watcher.begun(tasks[0])
    watcher.played(tasks[0], 100)  # half of it was played in an earlier run: that says nothing about speed
    clock.now += 10
    assert _screen(watcher)[0] == "first 25 % 10 s"
    watcher.played(tasks[0], 150)  # 50 rounds in ten seconds, and 250 are left
    assert _screen(watcher)[0] == "first 38 % 10 s 50 s left"
    watcher.played(tasks[0], 200)
    watcher.finished(tasks[0], RESULT)
    clock.now += 1000  # between tasks nothing is counted
    watcher.begun(tasks[1])
    watcher.played(tasks[1], 0)
    clock.now += 10
    watcher.played(tasks[1], 200)
    watcher.finished(tasks[1], RESULT)
    watcher.begun(tasks[2])
    watcher.played(tasks[2], 200)
    watcher.finished(tasks[2], RESULT)
    assert _screen(watcher) == ["first 100 % 20 s done", "second 100 % 0.0 s found"]


def test_on_a_small_screen_the_lines_around_the_one_at_work_are_shown() -> None:
    tasks = [_task(f"t{k:02}") for k in range(30)]
    console = _console(terminal=True, height=10)
    watcher = TerminalWatcher(tasks, console)
    for task in tasks[:20]:
        watcher.begun(task)
        watcher.played(task, task.rounds)
        watcher.finished(task, RESULT)
    shown = _screen(watcher, 10)
    assert [line.split()[0] for line in shown] == ["t18", "t19", "t20", "t21", "20"]
    assert shown[-1] == "20 of 30 done"


@pytest.mark.parametrize("terminal", [True, False])
def test_notes_are_shown_once_with_all_tasks_concerned(tmp_path: Path, terminal: bool) -> None:
    run_tasks([_task("one"), _task("two")], tmp_path)
    changed = [_task("one", horizon=50), _task("two", horizon=50)]
    console = _console(terminal)
    with TerminalWatcher(changed, console) as watcher:
        run_tasks(changed, tmp_path, watcher=watcher)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    last = " ".join(text[text.rindex("note: ") :].split())
    assert last.startswith("note: one, two: other settings than before: horizon differs (100 there, 50 here); a new")
    if not terminal:
        assert [line.split(" in ")[0] for line in text.splitlines()[:2]] == ["one: done", "two: done"]
        assert text.count("note: ") == 1


def test_found_results_and_warnings_of_learners_are_told() -> None:
    task, console = _task("one"), _console(terminal=False)
    with TerminalWatcher([task], console) as watcher:
        watcher.begun(task)
        for _ in range(2):
            warnings.warn("variances above 1", AssumptionWarning, stacklevel=1)
        watcher.played(task, task.rounds)
        watcher.finished(task, RESULT)
    assert console.file.getvalue() == "one: results found\nnote: one: variances above 1\n"  # type: ignore[attr-defined]
