"""A service that is killed at any moment, while clients ask, tell and try again."""

from __future__ import annotations

import random
import threading
import time
from typing import Any

import covbandit as cb
from covbandit.service.client import Client
from covbandit.studies import Study
from postgres_server import _unused_port
from service_calls import Process
from study_workers import OPTIONS, is_corrected, outcome_of

KILLS = 5  # on each kind of store


class Customer(threading.Thread):
    """Asks and tells through a service until it is stopped, and notes what was acknowledged."""

    def __init__(self, url: str, name: str) -> None:
        super().__init__(name=name)
        self.acknowledged: dict[int, dict[str, float]] = {}  # outcomes by round, the latest
        self.outside: dict[int, dict[str, float]] = {}
        self.error: BaseException | None = None
        self._client = Client(url, timeout=30.0, retries=2_000)
        self._client._connection._sleep = lambda seconds: time.sleep(min(seconds, 0.05))
        self._stopped = threading.Event()

    def run(self) -> None:
        try:
            with self._client:
                study = self._client.open("killed")
                step = 0
                while not self._stopped.is_set():
                    self._play(study, step)
                    step += 1
        except BaseException as error:
            self.error = error

    def _play(self, study: Any, step: int) -> None:
        if self.name == "historian":
            what = f"{self.name}-{step}"
            outcome = outcome_of(what, {}, "all")
            told = study.tell_outside({"north": 0.5, "south": 0.5}, outcome, key=what if step % 2 else None)
            self.outside[told.id] = outcome
            return
        if self.name == "keyed":
            asked = study.ask(self.name, key=f"{self.name}-{step}")
        elif self.name == "named":
            asked = study.ask(self.name)
        else:
            asked = study.ask()
        assert asked.id not in self.acknowledged
        what = f"{self.name}-{step}"
        outcome = outcome_of(what, asked.weights, "all")
        study.tell(asked.id, outcome)
        self.acknowledged[asked.id] = outcome
        if is_corrected(what):
            outcome = outcome_of(what, asked.weights, "all", corrected=True)
            study.amend(asked.id, outcome)
            self.acknowledged[asked.id] = outcome

    def stop(self) -> None:
        self._stopped.set()


def test_nothing_acknowledged_is_lost_or_counted_twice_when_the_service_is_killed(store_url: str) -> None:
    learner = cb.MCEmpirical(n_options=3, risk_aversion=1.0)
    study = Study.create("killed", OPTIONS, learner, outcome="per_unit", store=store_url)
    moments = random.Random(11 + study.store.is_sqlite)
    port = str(_unused_port())
    arguments = (store_url, "--port", port, "--log-level", "warning")
    customers = [
        Customer(f"http://127.0.0.1:{port}", name) for name in ("keyed", "named", "unnamed", "unnamed too", "historian")
    ]
    for kill in range(KILLS):
        with Process(*arguments) as process:
            if kill == 0:
                for customer in customers:
                    customer.start()
            time.sleep(moments.uniform(0.05, 0.5))
            process.child.kill()
            process.child.wait()
            noted = {number for customer in customers for number in [*customer.acknowledged, *customer.outside]}
            assert noted <= {each.id for each in study.rounds(status="told")}
            verified = study.verify()
            assert verified.exact, verified.message
            assert study.learner.rounds_told == study.summary().told
    with Process(*arguments) as process:
        for customer in customers:
            customer.stop()
        for customer in customers:
            customer.join()
        status, errors = process.stop()
    assert [customer.error for customer in customers] == [None] * len(customers)
    assert (status, "Traceback" in errors) == (0, False), errors

    # Who got every answer in the end was told of every round, and no round is anybody else's.
    told = {each.id: each for each in study.rounds(status="told")}
    asked = {number: outcome for customer in customers for number, outcome in customer.acknowledged.items()}
    outside = {number: outcome for customer in customers for number, outcome in customer.outside.items()}
    assert sum(len(customer.acknowledged) + len(customer.outside) for customer in customers) == len(told)
    assert {number: each.outcome for number, each in told.items()} == {**asked, **outside}
    assert {number for number, each in told.items() if each.source == "outside"} == set(outside)
    assert all(customer.acknowledged or customer.outside for customer in customers)
    summary = study.summary()
    assert (summary.rounds, summary.open, summary.expired) == (len(told), 0, 0)
    assert study.learner.rounds_told == len(told)
    verified = study.verify()
    assert verified.exact, verified.message
    study.close()
