"""The comparison with another revision: equal sources pass, a changed learner is named and fails the run."""

from __future__ import annotations

import importlib
import inspect
import math
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import covbandit as cb

ROOT = Path(__file__).resolve().parent.parent
BENCHMARKS = ROOT / "benchmarks"


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("against_revision")


@pytest.fixture
def trees(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("revision_trees")


def compare(*arguments: str) -> tuple[int, list[str]]:
    """Run the program; return its status and its lines."""
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / "against_revision.py"), "--quick", "--only", "bits", *arguments],
        env={**os.environ, "PYTHONIOENCODING": "utf-8", "NUMBA_OPT": "0"},  # which is compiled sooner
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=600,
    )
    assert "Asked and measured" in done.stdout, done.stdout + done.stderr
    return done.returncode, [" ".join(line.split()) for line in done.stdout.splitlines()]


def test_equal_results_end_with_zero(
    program: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Results of this process for both sides: here everything is compiled already."""
    probe = importlib.import_module("revision_probe")

    def run_here(trees: Any, arguments: Any) -> None:
        for _, file, share, *kinds in arguments:
            probe._bits(Path(file), float(share), kinds)

    monkeypatch.setattr(program, "run_together", run_here)
    assert program.main([str(ROOT), "--quick", "--only", "bits", "--learners", "FixedWeights,LinearFB"]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "LinearFB: own design equal equal" in lines
    assert "bits: cases that differ, of 5 <= 0 0 reached" in lines


def test_a_changed_learner_is_named_and_fails_the_run(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    package = Path(cb.__file__).parent
    file = tmp_path / "src" / "covbandit" / Path(inspect.getfile(cb.LinearFI)).relative_to(package)
    text = file.read_text(encoding="utf-8")
    choice = "put_all_on_largest(s.mean, s.cap, w)"
    assert text.count(choice) == 1
    changed_choice = f"{choice}\n    for i in range(w.size):\n        w[i] *= 0.999\n    w[0] += 0.001"
    file.write_text(text.replace(choice, changed_choice), encoding="utf-8")
    status, lines = compare(str(ROOT), "--present", str(tmp_path), "--learners", "FixedWeights,LinearFI")
    assert status == 1
    assert "FixedWeights: own weights, d = 3 equal equal" in lines
    (changed,) = [line for line in lines if line.startswith("LinearFI: synthetic ")]
    assert re.fullmatch(r"LinearFI: synthetic differs by \d\.\de[-+]\d\d differs by \d\.\de-03", changed)
    assert "bits: cases that differ, of 5 <= 0 3 missed" in lines


def test_every_learner_has_cases_and_is_timed(program: Any) -> None:
    cases = importlib.import_module("revision_cases")
    assert cases.learners_without_cases() == []
    assert {case.kind for case in cases.TIMED} == {case.kind for case in cases.CASES}
    assert [case.kind for case in cases.STARTED] == ["MCEmpirical", "PairUCB", "GradientTS"]
    assert len({case.name for case in cases.CASES}) == len(cases.CASES)


def test_commits_are_checked_out_or_refused(trees: Any) -> None:
    with trees.side_by_side("HEAD") as (before, now):
        assert (before.source / "covbandit" / "__init__.py").is_file()
        assert (now.source / "covbandit" / "__init__.py").is_file()
        assert before.environment()["NUMBA_CACHE_DIR"] != now.environment()["NUMBA_CACHE_DIR"]
    assert not before.folder.exists()
    with pytest.raises(ValueError, match="cannot check out 'no-such-commit'"), trees.side_by_side("no-such-commit"):
        pass


@pytest.mark.parametrize(
    ("old", "new", "size"),
    [
        (np.array([1.0, np.nan]), np.array([1.0, np.nan]), 0.0),
        (np.array([1.0, 2.0]), np.array([1.0, 2.5]), 0.5),
        (np.array([1.0, 2.0]), np.array([1.0]), math.inf),
        (np.array([0.0]), np.array([-0.0]), math.ulp(0.0)),
        ({"a": [1.0, "x", None]}, {"a": [1.0, "x", None]}, 0.0),
        ({"a": [1.0, {"b": 3.0}]}, {"a": [1.25, {"b": 4.0}]}, 1.0),
        ({"a": 1.0}, {"b": 1.0}, math.inf),
        (["raised Unsupported"], ["raised InvalidInput"], math.inf),
        ([1], [1.0], math.inf),
        ([1.0], [1.0, 2.0], math.inf),
        ([math.nan], [1.0], math.inf),
    ],
)
def test_differences_are_found_to_the_last_bit(program: Any, old: Any, new: Any, size: float) -> None:
    assert program.difference(old, new) == size


def test_what_is_new_is_no_difference_and_what_is_gone_or_fails_is(program: Any) -> None:
    result = {"regret": np.zeros(2)}
    assert program.compared(result, result) == "equal"
    assert program.compared(None, result) == "new"
    assert program.compared(result, None) == "no such learner"
    assert program.compared(result, "raised ValueError") == "raised ValueError"
    assert program.compared("raised ValueError", "raised ValueError") == "raised ValueError"
    assert program.compared("raised ValueError", result) == "before: raised ValueError"


def test_who_begins_alternates_and_ratios_are_of_single_turns(program: Any) -> None:
    order: list[str] = []

    def measure(side: str) -> str:
        order.append(side)
        return side

    assert [program.in_turns(("before", "now"), turn, measure) for turn in range(3)] == [("before", "now")] * 3
    assert order == ["before", "now", "now", "before", "before", "now"]

    turns, section = program.Turns(), program.Section("steps")
    for before, now in ((1.0, 1.0), (2.0, 2.2), (4.0, 4.1)):
        turns.add("it", before, now)
    row = turns.told(section, "it", 1.03)
    assert row == ["it", 2.0, 2.2, 1.025, "1.000 to 1.100", 1.03, "reached", 3]
    turns.add("it", 1.0, 1.2)
    turns.add("it", 1.0, 1.2)
    turns.told(section, "it", 1.03)
    assert [check.passed for check in section.checks] == [True, False]


def test_what_seems_to_be_worse_is_given_more_turns(program: Any) -> None:
    turns = program.Turns()

    def worse_at_first(turn: int) -> list[str]:
        return turns.add_stages("worse at first", ("import", "ask"), (1.0, 2.0), (1.0, 3.0 if turn < 2 else 2.0))

    subjects = {
        "fine": lambda turn: turns.add("fine", 1.0, 1.04),
        "worse": lambda turn: turns.add("worse", 1.0, 1.06),
        "worse at first": worse_at_first,
    }
    program._take_turns(turns, 3, subjects)
    counts = {what: len(both) for what, both in turns.seconds.items()}
    assert counts == {"fine": 3, "worse": 9, "worse at first, until import": 5, "worse at first, until ask": 5}
