"""Finished replications on disk: whatever cuts the file off, what was whole before is found again."""

from __future__ import annotations

import importlib
import resource
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import covbandit as cb
from covbandit.errors import InvalidInput, StateFileError
from covbandit.simulation import plan as plan_module
from covbandit.simulation import run as run_module
from covbandit.simulation.campaign import Task, run_tasks
from covbandit.simulation.journal import Journal, specification_in
from covbandit.simulation.locking import hold, holding

OWN = """
import numpy as np
import covbandit as cb

class Stubborn(cb.Learner):
    feedback = "all"

    def _decide(self, t):
        return np.eye(self.n_options)[{option}]

    def _absorb(self, weights, observation):
        pass
"""
LEARNERS = {"it": cb.MCEmpirical(n_options=5, risk_aversion=0.1), "equal": cb.FixedWeights(n_options=5)}


def _simulate(journal: Path | None, replications: int = 4, **changes: Any) -> cb.SimulationResult:
    return cb.simulate(
        cb.problems.synthetic(),
        LEARNERS,
        **{"horizon": 50, "seed": 3, **changes},
        replications=replications,
        journal=journal,
    )


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The replications that are really computed, in the order in which they are asked for."""
    seen: list[int] = []
    genuine = run_module.run_replications

    def spy(plan: Any, missing: list[int], *rest: Any) -> None:
        seen.extend(missing)
        genuine(plan, missing, *rest)

    monkeypatch.setattr(run_module, "run_replications", spy)
    return seen


def test_the_same_call_continues(tmp_path: Path, computed: list[int]) -> None:
    journal = tmp_path / "it.journal"
    whole = _simulate(None, 6)
    computed.clear()
    _simulate(journal, 4)
    assert computed == [0, 1, 2, 3]
    again = _simulate(journal, 6)
    assert computed == [0, 1, 2, 3, 4, 5]
    assert np.array_equal(again.regret, whole.regret)
    assert np.array_equal(again.weights, whole.weights)
    assert np.array_equal(_simulate(journal, 3).regret, whole.regret[:, :3])
    assert len(computed) == 6


def test_a_file_cut_off_anywhere_loses_the_torn_replication_only(tmp_path: Path, computed: list[int]) -> None:
    journal = tmp_path / "it.journal"
    whole = _simulate(journal, 4)
    content = journal.read_bytes()
    header = len(content) - 4 * _record_length(tmp_path)
    rng = np.random.default_rng(5)
    cuts = [0, 3, 19, 25, header - 1, header, header + 5, len(content) - 1, *rng.integers(0, len(content), 12).tolist()]
    for cut in cuts:
        journal.write_bytes(content[:cut])
        computed.clear()
        again = _simulate(journal, 4)
        left = max(0, (cut - header) // _record_length(tmp_path))
        assert len(computed) == 4 - left, cut
        assert np.array_equal(again.regret, whole.regret)
        assert np.array_equal(_simulate(journal, 4).weights, whole.weights)
        assert len(computed) == 4 - left, cut


def _record_length(folder: Path) -> int:
    sizes = []
    for count in (1, 2):
        path = folder / f"{count}.journal"
        if not path.exists():
            _simulate(path, count)
        sizes.append(path.stat().st_size)
    return sizes[1] - sizes[0]


def test_a_damaged_byte_is_noticed(tmp_path: Path, computed: list[int]) -> None:
    journal = tmp_path / "it.journal"
    whole = _simulate(journal, 4)
    content = bytearray(journal.read_bytes())
    content[-_record_length(tmp_path) // 2] ^= 1
    journal.write_bytes(content)
    computed.clear()
    assert np.array_equal(_simulate(journal, 4).regret, whole.regret)
    assert len(computed) == 1


def test_files_of_others_are_refused_and_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = tmp_path / "it.journal"
    _simulate(journal)
    content = journal.read_bytes()
    with pytest.raises(InvalidInput, match=r"belong to another simulation: seed differs \(3 there, 4 here\)"):
        _simulate(journal, seed=4)
    monkeypatch.setattr(plan_module, "__version__", "99")
    with pytest.raises(InvalidInput, match=r"computed by other software.*covbandit differs"):
        _simulate(journal)
    assert journal.read_bytes() == content
    monkeypatch.undo()
    foreign = tmp_path / "letter.txt"
    foreign.write_text("Dear reader", encoding="utf-8")
    with pytest.raises(StateFileError, match=r"letter\.txt is not a journal"):
        _simulate(foreign)
    assert foreign.read_text(encoding="utf-8") == "Dear reader"
    with pytest.raises(StateFileError, match="cannot write"):
        _simulate(tmp_path / "missing" / "it.journal")


def test_what_finished_before_an_error_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = tmp_path / "it.journal"
    genuine = run_module.run_replications

    def three_then_ctrl_c(plan: Any, missing: list[int], workers: Any, finished: Any, progress: Any) -> None:
        genuine(plan, missing[:3], workers, finished, progress)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(run_module, "run_replications", three_then_ctrl_c)
        with pytest.raises(
            cb.errors.Interrupted, match=r"3 of 5 replications are kept in .*it\.journal; the same call"
        ):
            _simulate(journal, 5)
    assert np.array_equal(_simulate(journal, 5).regret, _simulate(None, 5).regret)


def test_two_writers_are_one_too_many(tmp_path: Path) -> None:
    problem = cb.problems.synthetic()
    plan = plan_module.as_plan(problem, LEARNERS, 50, 3)
    with Journal(tmp_path / "it.journal", plan), pytest.raises(InvalidInput, match="another process is writing to"):
        _simulate(tmp_path / "it.journal")
    _simulate(tmp_path / "it.journal")


def test_a_full_disk_is_an_error_of_ours_and_leaves_whole_records(tmp_path: Path, computed: list[int]) -> None:
    journal = tmp_path / "it.journal"
    _simulate(journal, 2)
    size = journal.stat().st_size
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, before[1]))
    try:
        with pytest.raises(StateFileError, match=r"cannot write .*it\.journal"):
            _simulate(journal, 3)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert journal.stat().st_size == size
    computed.clear()
    assert np.array_equal(_simulate(journal, 3).regret, _simulate(None, 3).regret)
    assert computed[:1] == [2]


def test_a_learner_of_the_users_own_that_changed_is_played_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    regrets = []
    for option in (0, 1):
        (tmp_path / "own_learner.py").write_text(OWN.format(option=option), encoding="utf-8")
        sys.modules.pop("own_learner", None)
        importlib.invalidate_caches()
        learner = importlib.import_module("own_learner").Stubborn(n_options=5)
        plan = plan_module.as_plan(cb.problems.synthetic(), {"own": learner}, 50)
        regrets.append(run_tasks([Task("own", plan, 2)], tmp_path / "results")["own"].regret)
    assert not np.array_equal(*regrets)
    assert len(list((tmp_path / "results").glob("own.*.npz"))) == 2


def test_journals_that_cannot_be_read_say_why(tmp_path: Path) -> None:
    with pytest.raises(StateFileError, match=r"cannot read .*missing\.journal: No such file"):
        specification_in(tmp_path / "missing.journal")
    with pytest.raises(StateFileError, match="cannot read"):
        specification_in(tmp_path)
    (tmp_path / "new.journal").touch()
    with pytest.raises(StateFileError, match=r"new\.journal has no header yet"):
        specification_in(tmp_path / "new.journal")
    _simulate(tmp_path / "whole.journal")
    assert specification_in(tmp_path / "whole.journal")["horizon"] == 50


def test_a_folder_that_cannot_be_held_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / ".lock").mkdir()
    with pytest.raises(StateFileError, match="cannot write to"), holding(tmp_path):
        pass
    (tmp_path / ".lock").rmdir()
    with holding(tmp_path), holding(tmp_path):  # the failure has left nothing behind
        pass


def test_without_locks_of_files_two_writers_are_the_users_risk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (tmp_path / "f").open("w") as one, (tmp_path / "f").open("w") as other:
        hold(one, "f")
        with pytest.raises(InvalidInput, match="another process is writing to f"):
            hold(other, "f")
        monkeypatch.setitem(sys.modules, "fcntl", None)  # as on Windows
        hold(other, "f")
