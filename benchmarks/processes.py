"""What only a fresh process shows: peak memory, and the time until the first result.

Run as a program with a number of rounds, it plays them and prints its own peak memory in bytes.
"""

from __future__ import annotations

import os
import re
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from timing import Check, Section, say

import covbandit as cb
from covbandit.core.tables import Table

_IMPORT = "import covbandit"
_FIRST_ASK = """
import covbandit as cb
budget = cb.allocator(["a", "b", "c"], feedback="all", risk_aversion=0.1)
for k in range(3):
    weights = budget.ask()
    budget.tell(weights, {"a": 0.1 * k, "b": 0.3, "c": 0.2 - 0.1 * k})
"""
LIMIT = 1_800.0  # seconds by the clock, for a process on a busy machine


def _environment(**extra: str) -> dict[str, str]:
    """Return the environment for a child that must import the same covbandit from wherever it starts."""
    source = str(Path(cb.__file__).resolve().parent.parent)
    inherited = os.environ.get("PYTHONPATH")
    return os.environ | {"PYTHONPATH": source + (os.pathsep + inherited if inherited else "")} | extra


def run_python(
    arguments: Sequence[str], environment: dict[str, str], directory: str | None = None, limit: float = LIMIT
) -> tuple[str, float]:
    """Run Python in a fresh process; return its output, and the CPU seconds of it and of all that it started.

    If it is not finished within the limit, it is ended with all that it started, and `RuntimeError` says so.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen(
        [sys.executable, *arguments],
        env=environment,
        cwd=directory,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # so that its helpers can be ended with it
    )
    what = " ".join(arguments)[:100].strip().replace("\n", " ")
    try:
        output, complaints = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"timed out: `python {what}` was not finished after {limit:g} s") from None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    if process.returncode != 0:
        lines = (complaints.strip() or output.strip() or "no output").splitlines()
        raise RuntimeError(f"`python {what}` ended with status {process.returncode}: {lines[-1]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return output, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def peak_memory() -> int:
    """Return the peak resident memory of this process in bytes."""
    status = Path("/proc/self/status")
    if status.exists():
        # Linux carries ru_maxrss over from the process that started this one, the whole benchmark. VmHWM is our own.
        found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text(encoding="utf-8"))
        if found:
            return 1024 * int(found[1])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def measure_memory(horizons: Sequence[int]) -> Section:
    """Measure the peak memory of one replication at d = 5, in a fresh process per horizon."""
    section = Section("memory")
    run_python([__file__, "1000"], _environment())  # leaves the kernels in the cache: compiling takes memory, too
    peaks: list[int] = []
    for horizon in horizons:
        say(f"memory, T = {horizon:,}")
        output, _ = run_python([__file__, str(horizon)], _environment())
        peaks.append(int(output))
    rows = [[horizon, peak / 2**20] for horizon, peak in zip(horizons, peaks, strict=True)]
    section.tables.append(
        Table(["rounds T", "peak MiB"], rows, "Peak memory of a fresh process that plays T rounds, d = 5")
    )
    section.data = [{"d": 5, "rounds": t, "peak_bytes": peak} for t, peak in zip(horizons, peaks, strict=True)]
    section.checks.append(Check("peak memory over all T, largest / smallest", max(peaks) / min(peaks), "<=", 1.1))
    return section


def measure_cold_start(repeats: int, everything: bool) -> Section:
    """Measure fresh processes: import, the first answers, and the kernels; with nothing compiled, and compiled.

    Parameters
    ----------
    repeats : int
        Processes of each kind that find everything compiled.
    everything : bool
        Compile all kernels (``covbandit warmup``) and reproduce a panel too, which takes minutes.
    """
    section = Section("cold start")
    rows: list[list[object]] = []

    def told(what: str, name: str, seconds: Sequence[float]) -> float:
        rows.append([what, statistics.median(seconds), min(seconds)])
        section.data.append({"what": name, "cpu_seconds": list(seconds)})
        return statistics.median(seconds)

    with tempfile.TemporaryDirectory() as folder:
        # A run beforehand leaves bytecode, as installing with pip does.
        environment = _environment(PYTHONPYCACHEPREFIX=str(Path(folder) / "bytecode"))
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        say("cold start: import covbandit")
        run_python(["-c", _IMPORT], environment)
        both = [[_seconds(program, environment) for program in (_IMPORT, "pass")] for _ in range(5)]  # in turns
        imported, plain = zip(*both, strict=True)
        found = told("import covbandit, all of Python", "import", imported)
        section.checks.append(
            Check("import covbandit, CPU seconds", found - statistics.median(plain), "<=", 0.1, "indicative")
        )
        say("cold start: three rounds of an allocator, nothing compiled")
        run_python(["-c", _FIRST_ASK], environment)  # bytecode of all that it imports
        environment["NUMBA_CACHE_DIR"] = str(Path(folder) / "first-ask")
        first = told(
            "allocator, three rounds, nothing compiled", "first ask, cold", [_seconds(_FIRST_ASK, environment)]
        )
        say("cold start: the same, compiled")
        later = told(
            "the same, compiled",
            "first ask, compiled",
            [_seconds(_FIRST_ASK, environment) for _ in range(max(repeats, 3))],
        )
        section.checks += [
            Check("allocator, three rounds: compilation, CPU seconds", first - later, "<=", 12.0, "indicative"),
            Check("allocator, three rounds, compiled, CPU seconds", later, "<=", 1.5, "indicative"),
        ]
        if everything:
            _measure_all_kernels(section, told, environment, folder, repeats)
    section.tables.append(Table(["fresh process", "CPU seconds", "fastest"], rows, "Until the first result"))
    section.notes.append("CPU seconds of the process and of the processes that it starts, as for compiling.")
    return section


def _seconds(program: str, environment: dict[str, str]) -> float:
    return run_python(["-c", program], environment)[1]


def _measure_all_kernels(
    section: Section,
    told: Callable[[str, str, Sequence[float]], float],
    environment: dict[str, str],
    folder: str,
    repeats: int,
) -> None:
    """Measure ``covbandit warmup`` and a quick reproduction, with nothing compiled and compiled."""

    def reproduce(run: str) -> float:  # a folder for each: results that are there are not computed again
        out = str(Path(folder) / run)
        command = ["-m", "covbandit.cli", "reproduce", "fi-synthetic", "--quick", "--workers", "1", "--out", out]
        return run_python(command, environment, folder)[1]

    warmup = ["-m", "covbandit.cli", "warmup"]
    environment["NUMBA_CACHE_DIR"] = str(Path(folder) / "everything")
    say("cold start: covbandit warmup, nothing compiled")
    first = run_python(warmup, environment, folder)[1]
    reproduce("untimed")  # the font list of matplotlib
    starts, runs = [], []
    for k in range(repeats):
        say(f"cold start: warmup and a reproduction, compiled, {k + 1} of {repeats}")
        starts.append(run_python(warmup, environment, folder)[1])
        runs.append(reproduce(f"compiled-{k}"))
    told("covbandit warmup, nothing compiled", "warmup, cold", [first])
    start = told("the same, compiled: all that precedes the first round", "warmup, compiled", starts)
    told("covbandit reproduce fi-synthetic --quick --workers 1, compiled", "reproduce, compiled", runs)
    section.checks += [
        Check("compilation of what simulations need, CPU seconds", first - start, "<=", 90.0, "indicative"),
        Check("start with kernels compiled, CPU seconds", start, "<=", 1.5, "indicative"),
    ]


if __name__ == "__main__":
    from steps import problem_of, replication

    replication(problem_of(5), int(sys.argv[1]))(int(sys.argv[1]))
    print(peak_memory())
