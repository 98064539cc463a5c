"""What a Dask cluster costs beyond the work itself, against local processes on the same machine, in turns.

Two measures. The time by the clock, Dask's over the processes', which needs a quiet machine. And the share of their
time that workers spend on replications: whatever else the machine does slows both alike, so a busy one will do.

Run ``python benchmarks/dask_overhead.py`` (extra ``dask``).
"""

from __future__ import annotations

import os

from one_thread import ONE_THREAD

os.environ.update(ONE_THREAD)

import argparse
import multiprocessing
import statistics
import time
from collections.abc import Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from typing import Any, NamedTuple

import distributed

import covbandit as cb
from covbandit.simulation import dask_workers
from covbandit.tables import Table

_LEARNERS = {
    "MC-Empirical": cb.MCEmpirical(n_options=5, risk_aversion=0.1),
    "OGD": cb.OGD(n_options=5, risk_aversion=0.1),
}
_CASES = {"long": (100_000, 1), "short": (1_000, 50)}  # rounds, and replications per replication asked for


class Turn(NamedTuple):
    """One simulation: seconds by the clock, and those of them that workers spent on replications, added up."""

    clock: float
    worked: float


class Crew:
    """An executor whose tasks say how long they worked."""

    def __init__(self, pool: Executor) -> None:
        self.pool = pool
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

    def play(self, horizon: int, replications: int) -> Turn:
        """Simulate, and return how long it took."""
        begun, before = time.perf_counter(), self._worked
        cb.simulate(cb.problems.synthetic(), _LEARNERS, horizon, replications, workers=self.pool, progress=False)
        return Turn(time.perf_counter() - begun, self._worked - before)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--replications", type=int, default=400, help="of 100,000 rounds; 50 times as many of 1,000")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args(arguments)
    rows = []
    with (
        ProcessPoolExecutor(options.workers, multiprocessing.get_context("spawn")) as pool,
        distributed.LocalCluster(n_workers=options.workers, threads_per_worker=1, dashboard_address=None) as cluster,
        dask_workers(cluster.scheduler_address) as remote,
    ):
        processes, dask = Crew(pool), Crew(remote)
        for name, (horizon, factor) in _CASES.items():
            count = factor * options.replications
            for crew in (processes, dask):  # compiled and warm, both of them
                crew.play(horizon, max(count // 10, 8 * options.workers))
            turns = [(processes.play(horizon, count), dask.play(horizon, count)) for _ in range(options.repetitions)]
            ratios = sorted(there.clock / here.clock for here, there in turns)
            shares = [
                statistics.median(t.worked / (t.clock * options.workers) for t in side)
                for side in zip(*turns, strict=True)
            ]
            rows.append(
                [
                    f"{name}: {count:,} replications of {horizon:,} rounds",
                    statistics.median(here.clock for here, _ in turns),
                    f"{statistics.median(ratios):.3f} [{ratios[0]:.3f}, {ratios[-1]:.3f}]",
                    *(round(100 * share, 1) for share in shares),
                ]
            )
    columns = ["case", "processes, s", "Dask / processes [range]", "at work, %: processes", "Dask"]
    print(Table(columns, rows, f"{options.workers} workers each, medians of {options.repetitions} turns"))


if __name__ == "__main__":
    main()
