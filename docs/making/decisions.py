"""Measures what the pages in docs/decisions say: ``python docs/making/decisions.py [PART ...]``.

For figures that no program in benchmarks/ regenerates. Contestants take turns in one run. Times are CPU time, except
those of SQLite, which waits for the disk.

========  ==========================================================================================
part      what it measures
========  ==========================================================================================
calls     compiling kernels that call others by symbol, against kernels that contain the others' code
garbage   compiling the same kernels while Python looks for garbage, against the pause that we make
driver    the first simulation of a process, compiled, against the second
inner     a step as it is, without unrolling, and with Numba's reference counting
inverse   a step with the tracked inverse, against a step with the active set alone
threads   a simulation on two threads against one thread, and whether the numbers are the same
sqlite    one durable transaction in each of SQLite's settings
state     the bytes that a tell writes, by number of options
========  ==========================================================================================
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

os.environ.update({"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "COVBANDIT_QUIET": "1"})

import numpy as np

import covbandit as cb

PASSES = 7

_COMPILE = """
import contextlib, sys, time
import covbandit.kernels.jit.compilation as compilation
if sys.argv[1] == "contained":
    compilation.out_of_line = lambda dispatcher: dispatcher
if sys.argv[1] == "collecting":
    compilation._no_collection = contextlib.nullcontext
import covbandit as cb
learners = [cb.MCEmpirical, cb.MCUCB, cb.MCUCBGamma, cb.OLSUCBC, cb.PairUCB]
begun = time.process_time()
for learner in learners:
    given = {} if learner is cb.OLSUCBC else {"risk_aversion": 0.1}
    for kernel in learner(n_options=5, **given)._kernels():
        compilation.compiled(kernel)
print(time.process_time() - begun)
"""

_STEP = """
import sys, time
import covbandit.kernels.jit.compilation as compilation
if sys.argv[1] == "not unrolled":
    compilation.UNROLLED = -1
if sys.argv[1] == "reference counting":
    njit = compilation.numba.njit
    compilation.numba.njit = lambda _nrt, **options: njit(**options)
import covbandit as cb
learner = cb.MCEmpirical(n_options=5, risk_aversion=0.1)
for rounds in (1_000, 1_000_000):
    begun = time.process_time()
    cb.simulate(cb.problems.synthetic(), learner, rounds, 1, workers=1, progress=False)
print((time.process_time() - begun) / rounds)
"""


def _in_turns(contestants: Mapping[str, Callable[[], float]], passes: int = PASSES) -> dict[str, float]:
    """Return the median of what each contestant returns."""
    found: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(passes):
        for name, run in contestants.items():
            found[name].append(run())
    return {name: statistics.median(values) for name, values in found.items()}


def _cpu(run: Callable[[], object]) -> float:
    begun = time.process_time()
    run()
    return time.process_time() - begun


def _printed(program: str, *arguments: str, **environment: str) -> str:
    """Return what a program prints in a fresh process."""
    command = [sys.executable, "-c", program, *arguments]
    given = {**os.environ, **environment}
    return subprocess.run(command, env=given, capture_output=True, text=True, check=True).stdout


def calls() -> None:
    """Compile the kernels of five learners in fresh processes with an empty cache."""

    def compile_all(how: str) -> float:
        with tempfile.TemporaryDirectory() as folder:
            return float(_printed(_COMPILE, how, NUMBA_CACHE_DIR=folder))

    found = _in_turns({how: lambda how=how: compile_all(how) for how in ("by symbol", "contained")}, 1)
    print(f"calls: by symbol {found['by symbol']:.1f} s, contained {found['contained']:.1f} s,", end=" ")
    print(f"{found['contained'] / found['by symbol']:.1f} times as long")


def garbage() -> None:
    """Compile the kernels of five learners as above, with and without the search for garbage, in turns."""

    def compile_all(way: str) -> float:
        with tempfile.TemporaryDirectory() as folder:
            return float(_printed(_COMPILE, way, NUMBA_CACHE_DIR=folder))

    turns = [{way: compile_all(way) for way in ("paused", "collecting")} for _ in range(5)]
    for way in turns[0]:
        print(f"garbage: {way}: {statistics.median(turn[way] for turn in turns):.1f} s CPU")
    print(f"paused takes {statistics.median(turn['paused'] / turn['collecting'] for turn in turns):.2f} of the time")


def driver() -> None:
    """Play one round with each of three learners in a fresh process that finds everything compiled, twice."""
    program = """
import time
import covbandit as cb
problem = cb.problems.synthetic(min_weight=0.1)
learners = [cb.MCUCB(n_options=5, risk_aversion=0.1), cb.PairUCB(n_options=5, risk_aversion=0.1)]
from covbandit.simulation import driver
for _ in range(2):
    begun = time.process_time()
    cb.simulate(problem, learners, 1, 1, workers=1, progress=False)
    print(time.process_time() - begun, len(driver.play.overloads))
"""
    _printed(program)  # leaves the kernels in the cache
    lines = _printed(program).split()
    print(f"driver: first simulation {float(lines[0]):.2f} s, second {float(lines[2]):.3f} s,", end=" ")
    print(f"compiled versions of the loop: {lines[3]}")


def inner() -> None:
    """Play MC-Empirical at d = 5, each way in fresh processes with a cache of their own."""
    ways = ("as it is", "not unrolled", "reference counting")
    with tempfile.TemporaryDirectory() as folder:
        contestants = {way: lambda way=way: float(_printed(_STEP, way, NUMBA_CACHE_DIR=folder)) for way in ways}
        _in_turns(contestants, 1)  # compiles
        found = _in_turns(contestants, 5)
    for way, seconds in found.items():
        print(f"inner: {way}: {1e9 * seconds:.0f} ns a step, {seconds / found['as it is']:.2f} of it as it is")


def inverse() -> None:
    """Play MC-Empirical as it is, and with so long a half-life that it forgets nothing but tracks no inverse."""
    for d, rounds in ((5, 500_000), (20, 200_000), (100, 20_000)):
        problem = cb.problems.synthetic() if d == 5 else cb.problems.random(d, "factor", seed=1, risk_aversion=3.0)
        rho = problem.risk_aversion
        contestants = {
            "tracked": cb.MCEmpirical(n_options=d, risk_aversion=rho),
            "active set": cb.MCEmpirical(n_options=d, risk_aversion=rho, half_life=1e12),
        }

        def play(learner: cb.Learner, problem: cb.Problem = problem, rounds: int = rounds) -> float:
            return _cpu(lambda: cb.simulate(problem, learner, rounds, 1, workers=1, progress=False)) / rounds

        for learner in contestants.values():
            play(learner)
        found = _in_turns({name: lambda one=one: play(one) for name, one in contestants.items()})
        print(f"inverse: d = {d}: tracked {1e6 * found['tracked']:.2f} µs a step,", end=" ")
        print(f"active set {1e6 * found['active set']:.2f} µs,", end=" ")
        print(f"{found['active set'] / found['tracked']:.1f} times as long")


def threads() -> None:
    """Play the same simulation on one thread and on two."""
    learner = cb.MCEmpirical(n_options=5, risk_aversion=0.1)
    results: dict[int, cb.SimulationResult] = {}

    def play(workers: int) -> float:
        def run() -> None:
            results[workers] = cb.simulate(
                cb.problems.synthetic(), learner, 100_000, 16, workers=workers, progress=False
            )

        return _cpu(run)

    play(1)
    found = _in_turns({f"{n}": lambda n=n: play(n) for n in (1, 2)})
    same = np.array_equal(results[1].regret, results[2].regret)
    print(f"threads: two take {found['2'] / found['1']:.2f} times the CPU time of one; same numbers: {same}")


def sqlite() -> None:
    """Insert a row and commit, over and over, under each setting, on the disk of the present folder."""
    settings = [("WAL", "FULL"), ("WAL", "NORMAL"), ("DELETE", "FULL"), ("WAL", "OFF")]
    with tempfile.TemporaryDirectory(dir=".") as folder:
        connections = {}
        for mode, level in settings:
            connection = sqlite3.connect(Path(folder) / f"{mode}-{level}.db", isolation_level=None)
            connection.execute(f"PRAGMA journal_mode={mode}")
            connection.execute(f"PRAGMA synchronous={level}")
            connection.execute("CREATE TABLE bare (id INTEGER PRIMARY KEY, value REAL)")
            connections[f"{mode}, synchronous={level}"] = connection

        def insert(connection: sqlite3.Connection) -> float:
            begun = time.perf_counter()
            for _ in range(20):
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("INSERT INTO bare (value) VALUES (0.5)")
                connection.execute("COMMIT")
            return (time.perf_counter() - begun) / 20

        found = _in_turns({name: lambda one=one: insert(one) for name, one in connections.items()}, 25)
        for connection in connections.values():
            connection.close()
    least = found["WAL, synchronous=FULL"]
    for name, seconds in found.items():
        print(f"sqlite: {name}: {1e3 * seconds:.3f} ms a transaction, {seconds / least:.2f} of WAL with FULL")


def state() -> None:
    """Tell one round to studies of several sizes; read the bytes of their statistics from the store."""
    for d in (5, 20, 100, 300):
        options = [f"option {i}" for i in range(d)]
        with tempfile.TemporaryDirectory() as folder:
            store = Path(folder) / "state.db"
            learner = cb.MCEmpirical(n_options=d, risk_aversion=0.1)
            study = cb.Study.create("state", options, learner, outcome="per_unit", store=store)
            study.tell(study.ask().id, np.zeros(d))
            with closing(sqlite3.connect(store)) as connection:
                (size,) = connection.execute("SELECT length(state) FROM states").fetchone()
        print(f"state: MC-Empirical, d = {d}: {size:,} bytes")


PARTS = {part.__name__: part for part in (calls, garbage, driver, inner, inverse, threads, sqlite, state)}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; all of them by default")
    for name in parser.parse_args().parts or PARTS:
        PARTS[name]()
