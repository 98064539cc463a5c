"""What only a fresh process shows: peak memory, and the time until the first result.

Run as a program with a number of rounds, it plays them and prints its own peak memory in bytes.
"""

from __future__ import annotations

import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from timing import Check, Section, say

import covbandit as cb
from covbandit.tables import Table

_IMPORT = "import time; t = time.perf_counter(); import covbandit; print(time.perf_counter() - t)"


def _environment(**extra: str) -> dict[str, str]:
    """Return the environment for a child that must import the same covbandit from wherever it starts."""
    source = str(Path(cb.__file__).resolve().parent.parent)
    inherited = os.environ.get("PYTHONPATH")
    return os.environ | {"PYTHONPATH": source + (os.pathsep + inherited if inherited else "")} | extra


def _run(arguments: Sequence[str], environment: dict[str, str], directory: str | None = None) -> tuple[str, float]:
    """Run Python in a fresh process; return its output and the seconds it took."""
    begun = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *arguments],
        env=environment,
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    seconds = time.perf_counter() - begun
    if done.returncode != 0:
        lines = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()
        raise RuntimeError(f"exit code {done.returncode}: {lines[-1]}")
    return done.stdout, seconds


def peak_memory() -> int:
    """Return the peak resident memory of this process in bytes."""
    status = Path("/proc/self/status")
    if status.exists():
        # Linux carries ru_maxrss over from the process that started this one, the whole benchmark. VmHWM is our own.
        found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
        if found:
            return 1024 * int(found[1])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def measure_memory(horizons: Sequence[int]) -> Section:
    """Measure the peak memory of one replication at d = 5, in a fresh process per horizon."""
    section = Section("memory")
    _run([__file__, "1000"], _environment())  # leaves the kernels in the cache: compiling takes memory, too
    peaks: list[int] = []
    for horizon in horizons:
        say(f"memory, T = {horizon:,}")
        output, _ = _run([__file__, str(horizon)], _environment())
        peaks.append(int(output))
    rows = [[horizon, peak / 2**20] for horizon, peak in zip(horizons, peaks, strict=True)]
    section.tables.append(
        Table(["rounds T", "peak MiB"], rows, "Peak memory of a fresh process that plays T rounds, d = 5")
    )
    section.data = [{"d": 5, "rounds": t, "peak_bytes": peak} for t, peak in zip(horizons, peaks, strict=True)]
    section.checks.append(Check("peak memory over all T, largest / smallest", max(peaks) / min(peaks), "<=", 1.1))
    return section


def measure_cold_start(repeats: int) -> Section:
    """Measure import, the first quick reproduction ever, and the same with the compiled kernels cached."""
    section = Section("cold start")
    rows: list[list[object]] = []
    with tempfile.TemporaryDirectory() as folder:

        def command(run: str) -> list[str]:  # a folder for each: results that are there are not computed again
            out = str(Path(folder) / run)
            return ["-m", "covbandit.cli", "reproduce", "fi-synthetic", "--quick", "--out", out]

        # A run beforehand leaves bytecode, as installing with pip does, and the font list of matplotlib.
        environment = _environment(PYTHONPYCACHEPREFIX=str(Path(folder) / "bytecode"))
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        failure = None
        try:
            say("cold start: covbandit reproduce fi-synthetic --quick, untimed")
            _run(command("untimed"), environment, folder)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            failure = error

        say("cold start: import covbandit")
        _run(["-c", _IMPORT], environment)
        imports = [float(_run(["-c", _IMPORT], environment)[0]) for _ in range(5)]
        rows.append(["import covbandit", statistics.median(imports), min(imports)])
        section.data.append({"what": "import", "seconds": imports})
        section.checks.append(Check("import covbandit, seconds", statistics.median(imports), "<=", 0.1, "indicative"))

        if failure is None:
            environment["NUMBA_CACHE_DIR"] = str(Path(folder) / "numba")
            say("cold start: the same reproduction, nothing compiled")
            _, first = _run(command("first"), environment, folder)
            cached, starts = [], []
            for k in range(repeats):
                say(f"cold start: the same, compiled, {k + 1} of {repeats}")
                cached.append(_run(command(f"cached-{k}"), environment, folder)[1])
                # All that precedes the first round: Python, imports, loading every kernel.
                starts.append(_run(["-m", "covbandit.cli", "warmup"], environment, folder)[1])
            later, start = statistics.median(cached), statistics.median(starts)
            rows += [
                ["covbandit reproduce fi-synthetic --quick, nothing compiled", first, first],
                ["the same, kernels cached", later, min(cached)],
                ["of which before the first round (covbandit warmup)", start, min(starts)],
            ]
            section.data += [
                {"what": "first", "seconds": [first]},
                {"what": "cached", "seconds": cached},
                {"what": "start", "seconds": starts},
            ]
            section.checks += [
                Check("compilation (first run less cached run), seconds", first - later, "<=", 8.0, "indicative"),
                Check("start with kernels cached, seconds", start, "<=", 1.5, "indicative"),
            ]
        else:
            section.notes.append(f"covbandit reproduce fi-synthetic --quick is left out: it failed ({failure}).")
    section.tables.append(Table(["fresh process", "seconds", "fastest"], rows, "Until the first result"))
    return section


if __name__ == "__main__":
    from steps import problem_of, replication

    replication(problem_of(5), int(sys.argv[1]))(int(sys.argv[1]))
    print(peak_memory())
