"""Several simulations in one folder: found again, continued, never mixed up."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import covbandit as cb
from covbandit.errors import InvalidInput, StateFileError
from covbandit.simulation.campaign import Task, Watcher, run_tasks
from covbandit.simulation.journal import Journal
from covbandit.simulation.locking import holding
from covbandit.simulation.plan import as_plan


def _task(name: str = "one", replications: int = 3, horizon: int = 40, seed: int = 0) -> Task:
    learners = {"it": cb.MCEmpirical(n_options=5, risk_aversion=0.1)}
    return Task(name, as_plan(cb.problems.synthetic(), learners, horizon, seed), replications)


class Listener(Watcher):
    def __init__(self) -> None:
        self.notes: list[str] = []
        self.last: dict[str, int] = {}
        self.ended: list[str] = []

    def played(self, task: Task, rounds: int) -> None:
        assert self.last.get(task.name, 0) <= rounds <= task.rounds
        self.last[task.name] = rounds

    def finished(self, task: Task, result: cb.SimulationResult) -> None:
        self.ended.append(task.name)

    def note(self, text: str, task: Task) -> None:
        self.notes.append(f"{task.name}: {text}")


def test_results_are_kept_found_again_and_extended(tmp_path: Path) -> None:
    tasks = [_task("one"), _task("two", seed=1)]
    listener = Listener()
    first = run_tasks(tasks, tmp_path, watcher=listener)
    assert list(first) == ["one", "two"] == listener.ended
    assert listener.last == {task.name: task.rounds for task in tasks}
    assert sorted(path.name for path in tmp_path.glob("*.npz")) == sorted(task.file(tmp_path).name for task in tasks)
    assert not list(tmp_path.glob("*.journal"))
    stamps = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.npz")}
    again = run_tasks(tasks, tmp_path)
    assert stamps == {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.npz")}
    assert np.array_equal(again["one"].regret, first["one"].regret)
    more = run_tasks([_task("one", 5)], tmp_path)["one"]
    assert np.array_equal(more.regret[:, :3], first["one"].regret)
    assert np.array_equal(more.regret, run_tasks([_task("one", 5)], tmp_path / "anew")["one"].regret)
    fewer = run_tasks([_task("one", 2)], tmp_path)["one"]
    assert fewer.replications.tolist() == [0, 1]
    assert len(cb.SimulationResult.load(_task("one").file(tmp_path)).replications) == 5


def test_other_settings_start_a_new_run_and_say_so(tmp_path: Path) -> None:
    run_tasks([_task()], tmp_path)
    listener = Listener()
    run_tasks([_task(horizon=30)], tmp_path, watcher=listener)
    (note,) = listener.notes
    assert note.startswith("one: other settings than before: horizon differs (40 there, 30 here); a new run")
    assert len(list(tmp_path.glob("one.*.npz"))) == 2
    interrupted = _task("two", seed=5)
    with Journal(interrupted.file(tmp_path).with_suffix(".journal"), interrupted.plan):
        pass
    run_tasks([_task("two", seed=6)], tmp_path, watcher=listener)
    assert listener.notes[-1].startswith("two: other settings than before: seed differs (5 there, 6 here); a new run")
    back = Listener()
    run_tasks([_task()], tmp_path, watcher=back)
    assert back.notes == []


def test_damaged_results_are_computed_again_and_say_so(tmp_path: Path) -> None:
    whole = run_tasks([_task()], tmp_path)["one"]
    file = _task().file(tmp_path)
    file.write_bytes(file.read_bytes()[:-200])
    listener = Listener()
    again = run_tasks([_task()], tmp_path, watcher=listener)["one"]
    assert "truncated" in listener.notes[0]
    assert "computed again" in listener.notes[0]
    assert np.array_equal(again.regret, whole.regret)
    assert np.array_equal(cb.SimulationResult.load(file).regret, whole.regret)


def test_what_killed_processes_left_behind_is_cleared_away(tmp_path: Path) -> None:
    """One was killed while it saved, one after it had saved and before it removed its journal."""
    three, five = _task(), _task(replications=5)
    whole = run_tasks([five], tmp_path / "elsewhere")["one"]
    run_tasks([three], tmp_path)
    journal = three.file(tmp_path).with_suffix(".journal")
    with Journal(journal, three.plan) as kept:
        for replication in whole.split()[:3]:
            kept.add(replication)
    torn = tmp_path / f".{three.file(tmp_path).name}.a1b2c3d4"
    torn.write_bytes(b"half")
    run_tasks([three], tmp_path)
    assert not torn.exists()
    assert not journal.exists()
    journal.write_text("no journal", encoding="utf-8")  # no reason to do without the results
    assert len(run_tasks([three], tmp_path)["one"].replications) == 3
    journal.unlink()
    with Journal(journal, three.plan) as kept:  # more than was saved: it stays, to be continued
        kept.add(whole.split()[4])
    run_tasks([three], tmp_path)
    assert journal.exists()
    assert np.array_equal(run_tasks([five], tmp_path)["one"].regret, whole.regret)
    assert not journal.exists()


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="two simulations are called 'one'"):
        run_tasks([_task(), _task()], tmp_path)
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(StateFileError, match=r"cannot write to .*file"):
        run_tasks([_task()], tmp_path / "file")


def test_a_folder_is_held_by_one_process_and_as_often_as_it_likes(tmp_path: Path) -> None:
    code = "import sys; from covbandit.simulation.locking import holding\nwith holding(sys.argv[1]): print('mine')"

    def other() -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False)

    with holding(tmp_path):
        run_tasks([_task()], tmp_path)
        assert "another process is writing to" in other().stderr  # still: what was called has not let it go
        with ThreadPoolExecutor(1) as pool, pytest.raises(InvalidInput, match="another process is writing to"):
            pool.submit(run_tasks, [_task("two")], tmp_path).result()
    assert other().stdout == "mine\n"
