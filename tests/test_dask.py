"""Replications on a real Dask cluster: the same bits, whatever happens to its workers."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import distributed
import numpy as np
import pytest

import covbandit as cb
from covbandit.errors import Unreachable
from covbandit.simulation import dask_workers

pytestmark = pytest.mark.filterwarnings("ignore")  # Dask's own, among them those about the workers that we kill

LEARNERS = {
    "MC-Empirical": cb.MCEmpirical(n_options=5, risk_aversion=0.1),
    "GradientTS": cb.GradientTS(n_options=5, risk_aversion=0.1),
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as cluster:
        yield cluster


def _simulate(workers: Any, replications: int, horizon: int = 2_000, **options: Any) -> cb.SimulationResult:
    return cb.simulate(cb.problems.synthetic(), LEARNERS, horizon, replications, workers=workers, **options)


def test_a_cluster_gives_the_same_bits(cluster: Any) -> None:
    with dask_workers(cluster.scheduler_address) as workers:
        there = _simulate(workers, 30)
    here = _simulate(1, 30)
    assert np.array_equal(there.regret, here.regret)
    assert np.array_equal(there.weights, here.weights)


def test_a_worker_killed_in_the_middle_loses_nothing_but_time(cluster: Any, tmp_path: Path) -> None:
    horizon, replications = 100_000, 60
    killed: list[int] = []
    begun = threading.Event()

    def kill() -> None:
        begun.wait(60)
        time.sleep(0.3)
        victim = next(iter(cluster.workers.values())).pid
        os.kill(victim, signal.SIGKILL)
        killed.append(victim)

    thread = threading.Thread(target=kill)
    thread.start()
    with dask_workers(cluster.scheduler_address) as workers:
        genuine = workers.submit

        def submit(*arguments: Any, **options: Any) -> Any:
            begun.set()
            return genuine(*arguments, **options)

        workers.submit = submit
        there = _simulate(workers, replications, horizon, journal=tmp_path / "it.journal")
    thread.join()
    assert killed
    here = _simulate(None, replications, horizon)
    assert np.array_equal(there.regret, here.regret)


def test_nobody_at_the_address() -> None:
    with (
        pytest.raises(Unreachable, match=r"no Dask scheduler answers at 'tcp://127\.0\.0\.1:9'"),
        dask_workers("tcp://127.0.0.1:9"),
    ):
        pass
