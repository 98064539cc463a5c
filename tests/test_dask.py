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
from covbandit.errors import InvalidInput, Unreachable
from covbandit.simulation import dask_workers
from covbandit.simulation import workers as workers_module
from covbandit.simulation.journal import Journal

pytestmark = pytest.mark.filterwarnings("ignore")  # Dask's own, among them those about the workers that we kill

LEARNERS = {
    "MC-Empirical": cb.MCEmpirical(n_options=5, risk_aversion=0.1),
    "GradientTS": cb.GradientTS(n_options=5, risk_aversion=0.1),
}


@pytest.fixture(scope="module")
def cluster(shared_by_processes: None) -> Iterator[Any]:
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


def test_a_worker_killed_in_the_middle_loses_nothing_but_time(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add = Journal.add
    horizon, replications = 100_000, 60
    killed: list[int] = []  # how many replications had been told when the worker died
    told: list[int] = []
    begun = threading.Event()

    def kill() -> None:
        begun.wait(60)
        time.sleep(0.3)
        victim = next(iter(cluster.workers.values())).pid
        os.kill(victim, signal.SIGKILL)
        killed.append(len(told))

    thread = threading.Thread(target=kill)
    thread.start()
    with dask_workers(cluster.scheduler_address) as workers:
        genuine = workers.submit

        def submit(*arguments: Any, **options: Any) -> Any:
            begun.set()
            return genuine(*arguments, **options)

        workers.submit = submit
        monkeypatch.setattr(Journal, "add", lambda self, replication: (told.append(1), add(self, replication))[1])
        there = _simulate(workers, replications, horizon, journal=tmp_path / "it.journal")
    thread.join()
    assert killed[0] < replications
    here = _simulate(None, replications, horizon)
    assert np.array_equal(there.regret, here.regret)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "garbage", "tcp://127.0.0.1", "tcp://127.0.0.1:port", ""])
def test_nobody_at_the_address(address: str) -> None:
    with pytest.raises(Unreachable, match=f"no Dask scheduler answers at {address!r}"), dask_workers(address):
        pass


def test_a_cluster_that_is_lost_is_an_error_of_ours_and_what_it_did_is_kept(tmp_path: Path) -> None:
    journal = tmp_path / "it.journal"
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None, silence_logs=50
        ) as mortal,
        dask_workers(mortal.scheduler_address) as workers,
    ):
        closing = threading.Timer(1.5, mortal.close)
        closing.start()
        with pytest.raises(Unreachable, match="the workers were lost"):
            _simulate(workers, 2_000, 50_000, journal=journal)
        closing.join()
    kept = _simulate(1, 3, 50_000, journal=journal)
    assert np.array_equal(kept.regret, _simulate(1, 3, 50_000).regret)


def test_a_worker_with_other_software_is_refused(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers_module, "versions", lambda: {"numpy": "0.1"})  # here; the workers have the genuine one
    with (
        dask_workers(cluster.scheduler_address) as workers,
        pytest.raises(InvalidInput, match="a worker runs other software"),
    ):
        _simulate(workers, 4)
