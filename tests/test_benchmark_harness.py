"""How benchmarks measure: CPU time in turns; a part that hangs or dies is told and makes the program fail."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"
sys.path.append(str(BENCHMARKS))

import process_time  # noqa: E402
import processes  # noqa: E402
from report import Report  # noqa: E402
from timing import Check, Contestant, Section, interleave  # noqa: E402

MACHINE = {"processor": "some", "cores": 1, "load_before": 0.0}


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the CPU time that the timer sees; contestants spend it."""
    now = [0.0]
    monkeypatch.setattr(time, "process_time", lambda: now[0])
    monkeypatch.setattr(time, "perf_counter", lambda: pytest.fail("time by the clock was taken"))
    return now


def test_contestants_take_turns_back_and_forth_in_cpu_time(clock: list[float]) -> None:
    order: list[str] = []

    def contestant(name: str, cost: float) -> Contestant:
        def run(units: int) -> None:
            order.append(name)
            clock[0] += cost * units

        return Contestant(name, run, units=10, prepare=lambda: clock.__setitem__(0, clock[0] + 100.0))

    race = interleave([contestant("a", 1.0), contestant("b", 2.0), contestant("c", 0.5)], 4, 5.0, "test")
    timed = order[6:]  # before, each runs twice to warm up
    assert timed == ["a", "b", "c", "c", "b", "a", "a", "b", "c", "c", "b", "a"]
    assert {name: race[name].median for name in "abc"} == {"a": 1.0, "b": 2.0, "c": 0.5}, "preparing is not counted"
    assert race["a"].units == 10


def test_who_has_no_number_of_units_fills_the_budget(clock: list[float]) -> None:
    def run(units: int) -> None:
        clock[0] += 0.001 * units

    race = interleave([Contestant("it", run)], 2, 0.5, "test")
    assert race["it"].units == 500
    assert race["it"].median == pytest.approx(0.001)


def test_who_fails_leaves_the_race_and_the_others_go_on(clock: list[float]) -> None:
    def fail(units: int) -> None:
        raise RuntimeError("no solution")

    def run(units: int) -> None:
        clock[0] += units

    race = interleave([Contestant("bad", fail), Contestant("good", run, units=1)], 2, 1.0, "test")
    assert race.failures == {"bad": "no solution"}
    assert list(race.timings) == ["good"]


def _hang() -> Section:
    time.sleep(600)
    raise AssertionError


def _die() -> Section:
    raise RuntimeError("exit code 1: no space left")


def _fine() -> Section:
    return Section("fine", checks=[Check("ratio", 2.0, "<=", 3.0), Check("other", 4.0, "<=", 3.0, "indicative")])


def test_a_part_that_hangs_or_dies_is_told_and_fails_the_run(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    report = Report("test", "CPU seconds", True, MACHINE, {}, {})
    report.run([("hangs", _hang), ("dies", _die), ("fine", _fine)], limit=0.2)
    assert [section.name for section in report.sections] == ["fine"], "the parts behind it are measured all the same"
    assert report.close(tmp_path / "out.json") == 1
    shown = capsys.readouterr().out
    assert "FAILED: hangs: timed out: not finished after 0.2 s" in shown
    assert "FAILED: dies: exit code 1: no space left" in shown
    table = shown.partition("Asked and measured")[2]
    rows = [" ".join(line.split()) for line in table.splitlines()]
    assert "ratio <= 3 2 reached" in rows
    assert "other <= 3 4 missed (indicative)" in rows
    assert "hangs a result - FAILED: timed out: not finished after 0.2 s" in rows
    assert rows[-1] == "FAILED: hangs, dies. What these parts measure is unknown."
    assert set(json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["failures"]) == {"hangs", "dies"}


# The first alarm may come while garbage is collected, before the race: in a destructor, or in what a library hooked in.
_alarm_may_be_lost = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def _race() -> Section:
    hangs, other = Contestant("hangs", lambda units: time.sleep(600)), Contestant("other", lambda units: None)
    interleave([hangs, other], 2, 1.0, "race")
    return Section("race")


@_alarm_may_be_lost
def test_a_contestant_that_hangs_is_no_failed_peer_but_ends_the_part(capsys: pytest.CaptureFixture[str]) -> None:
    """Else the race would go on without it, and without any limit, and the program would end with status 0."""
    report = Report("test", "CPU seconds", True, MACHINE, {}, {})
    report.run([("race", _race), ("fine", _fine)], limit=0.2)
    assert report.failures == {"race": "timed out: not finished after 0.2 s"}
    assert [section.name for section in report.sections] == ["fine"]
    assert gc.isenabled()
    assert report.close() == 1
    assert "FAILED: race: timed out" in capsys.readouterr().out


@_alarm_may_be_lost
def test_a_limit_holds_though_the_first_alarm_came_within_a_destructor() -> None:
    """Python drops whatever is raised there."""

    class Slow:
        def __del__(self) -> None:
            time.sleep(1.0)

    report = Report("test", "CPU seconds", True, MACHINE, {}, {})
    kept = [Slow()]

    def destroys() -> Section:
        kept.clear()
        time.sleep(600)
        return Section("never")

    report.run([("destroys", destroys)], limit=0.2)
    assert report.failures == {"destroys": "timed out: not finished after 0.2 s"}


def test_a_run_without_failures_ends_with_zero(capsys: pytest.CaptureFixture[str]) -> None:
    report = Report("test", "CPU seconds", True, MACHINE, {}, {})
    report.run([("fine", _fine)])
    assert report.close() == 0
    assert "FAILED" not in capsys.readouterr().out


def test_a_process_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    note = tmp_path / "number"
    program = f"import os, time\nif os.fork() == 0: open({str(note)!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)"
    with pytest.raises(RuntimeError, match=r"timed out: .* was not finished after 5 s"):
        processes.run_python(["-c", program], dict(os.environ), limit=5.0)
    if note.exists() and note.read_text(encoding="utf-8"):  # on a very slow machine it has not come so far
        status = Path(f"/proc/{note.read_text(encoding='utf-8')}/stat")
        deadline = time.monotonic() + 60
        while status.exists() and status.read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z":
            assert time.monotonic() < deadline, "what it started is still running"
            time.sleep(0.05)


def test_a_process_that_dies_says_why() -> None:
    with pytest.raises(RuntimeError, match="ended with status 1: ValueError: no such thing"):
        processes.run_python(["-c", "raise ValueError('no such thing')"], dict(os.environ))
    output, seconds = processes.run_python(["-c", "print(sum(range(100_000)))"], dict(os.environ))
    assert output == "4999950000\n"
    assert seconds > 0


def test_cpu_time_of_others_is_read_or_unknown() -> None:
    if Path("/proc/self/stat").exists():
        assert process_time.cpu_of_process(os.getpid()) > 0
        assert process_time.cpu_of_processes([os.getpid()]) > 0
    assert process_time.cpu_of_process(2**30) != process_time.cpu_of_process(2**30), "NaN: there is no such process"
    assert process_time.cpu_of_processes([2**30]) == 0.0
    assert process_time.server_clock("sqlite:///some.db")() == 0.0


@pytest.mark.parametrize(
    ("program", "arguments", "parts"),
    [
        ("studies.py", ["growth", "--store", "sqlite"], ["growth"]),
        ("full_information.py", [], ["step", "solve", "cold", "growth", "memory", "cold start"]),
        ("semi_bandit.py", [], ["maximizer", "many options", "thresholds", "steps"]),
        ("full_bandit.py", [], ["steps", "round", "regret", "long run"]),
    ],
)
def test_the_programs_end_with_one_if_parts_time_out(program: str, arguments: list[str], parts: list[str]) -> None:
    _ends_with_one(program, arguments, parts)


@pytest.mark.usefixtures("shared_by_processes")
def test_the_comparison_with_dask_ends_with_one_if_parts_time_out() -> None:
    _ends_with_one("dask_overhead.py", [], ["long", "short"])


def _ends_with_one(program: str, arguments: list[str], parts: list[str]) -> None:
    done: subprocess.CompletedProcess[Any] = subprocess.run(
        [sys.executable, str(BENCHMARKS / program), "--quick", "--limit", "0.001", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 1, done.stderr
    for part in parts:
        assert f"FAILED: {part}: timed out" in done.stdout
    assert f"FAILED: {', '.join(parts)}. What these parts measure is unknown." in done.stdout
