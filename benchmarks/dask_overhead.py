"""What a Dask cluster costs beyond the work itself, against local processes on the same machine, in turns.

    python benchmarks/dask_overhead.py [--quick] [--workers N] [--out FILE.json]

Compared is the CPU time (user and system) of whole simulations: of the workers, and of this process, in which Dask's
scheduler runs. Times by the clock, and the share of them that workers spend on replications, are indicative: they need
a quiet machine. Dask comes with ``pip install 'covbandit[dask]'``. A part that fails is told, and the program ends with
status 1.
"""

from __future__ import annotations

import os

from one_thread import ONE_THREAD

os.environ.update(ONE_THREAD)

import argparse
import multiprocessing
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import distributed
from process_time import cpu_of_process
from report import Report
from study_spread import full_range
from timing import Section, machine, say, versions

import covbandit as cb
from covbandit.core.tables import Table
from covbandit.simulation import dask_workers

PACKAGES = ("numpy", "numba", "distributed", "dask")
_LEARNERS = {
    "MC-Empirical": cb.MCEmpirical(n_options=5, risk_aversion=0.1),
    "OGD": cb.OGD(n_options=5, risk_aversion=0.1),
}
_CASES = {"long": (100_000, 1), "short": (1_000, 50)}  # rounds, and replications per replication asked for


class Turn(NamedTuple):
    """One simulation: CPU seconds, seconds by the clock, and those that workers spent on replications, added up."""

    cpu: float
    clock: float
    worked: float


class Crew:
    """An executor whose tasks say how long they worked, and the numbers of its workers' processes."""

    def __init__(self, pool: Executor) -> None:
        self.pool = pool
        self.workers: list[int] = []
        self._worked = 0.0
        submit = pool.submit

        def counted(*arguments: Any, **options: Any) -> Future[Any]:
            future = submit(*arguments, **options)
            future.add_done_callback(self._count)
            return future

        pool.submit = counted  # type: ignore[method-assign]

    def _count(self, future: Future[Any]) -> None:
        _, seconds, _ = future.result()
        self._worked += seconds

    def _cpu(self) -> float:
        return time.process_time() + sum(map(cpu_of_process, self.workers))

    def play(self, horizon: int, replications: int) -> Turn:
        """Simulate, and return what it took."""
        cpu, begun, before = self._cpu(), time.perf_counter(), self._worked
        cb.simulate(cb.problems.synthetic(), _LEARNERS, horizon, replications, workers=self.pool, progress=False)
        return Turn(self._cpu() - cpu, time.perf_counter() - begun, self._worked - before)


@contextmanager
def crews(workers: int, horizon: int, replications: int) -> Iterator[dict[str, Crew]]:
    """Start as many processes of both kinds, and let them play once: compiled and warm, both of them."""
    with (
        ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool,
        distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster,
        dask_workers(cluster.scheduler_address) as remote,
    ):
        found = {"processes": Crew(pool), "Dask": Crew(remote)}
        for crew in found.values():
            crew.play(horizon, max(replications // 10, 8 * workers))
        found["processes"].workers = list(pool._processes)
        found["Dask"].workers = [worker.pid for worker in cluster.workers.values()]
        yield found


def measure(name: str, replications: int, repetitions: int, workers: int) -> Section:
    """Let both crews play the same simulation in turns."""
    horizon, factor = _CASES[name]
    count = factor * replications
    turns: dict[str, list[Turn]] = {"processes": [], "Dask": []}
    say(f"{name}: {workers} processes and {workers} workers of Dask start")
    with crews(workers, horizon, count) as playing:
        for turn in range(repetitions):
            say(f"{name}: turn {turn + 1} of {repetitions}")
            for who in playing if turn % 2 == 0 else reversed(playing):
                turns[who].append(playing[who].play(horizon, count))
    here, there = turns["processes"], turns["Dask"]

    def ratio(what: str) -> list[float]:
        return [getattr(theirs, what) / getattr(ours, what) for theirs, ours in zip(there, here, strict=True)]

    section = Section(name)
    section.tables.append(
        Table(
            [
                "case",
                "processes, CPU s",
                "Dask / processes, CPU time [range]",
                "by the clock [range] (indicative)",
                "at work, % (indicative): processes",
                "Dask",
            ],
            [
                [
                    f"{name}: {count:,} replications of {horizon:,} rounds",
                    statistics.median(turn.cpu for turn in here),
                    full_range(ratio("cpu"), 3),
                    full_range(ratio("clock"), 3),
                    *(
                        round(100 * statistics.median(turn.worked / (turn.clock * workers) for turn in side), 1)
                        for side in (here, there)
                    ),
                ]
            ],
            f"{workers} workers each, medians of {repetitions} turns",
        )
    )
    section.data = [
        {"who": who, "rounds": horizon, "replications": count, "workers": workers, **turn._asdict()}
        for who, played in turns.items()
        for turn in played
    ]
    return section


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line, measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few replications and turns: a minute, and coarse")
    parser.add_argument("--repetitions", type=int, help="turns of each; 7, or 3 with --quick")
    parser.add_argument("--replications", type=int, help="of 100,000 rounds, 400 or 40; 50 times as many of 1,000")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--limit", type=float, default=3_600.0, help="seconds after which a part has failed")
    parser.add_argument("--out", type=Path, help="also write every number to this JSON file")
    options = parser.parse_args(arguments)
    replications = options.replications or (40 if options.quick else 400)
    repetitions = options.repetitions or (3 if options.quick else 7)
    report = Report("Dask", "CPU seconds", options.quick, machine(), {}, versions(PACKAGES))
    report.run(
        [(name, partial(measure, name, replications, repetitions, options.workers)) for name in _CASES], options.limit
    )
    return report.close(options.out)


if __name__ == "__main__":
    sys.exit(main())
