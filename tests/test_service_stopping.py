"""A service that is told to stop while there is work: it ends in time, nothing is half done, and everybody is told."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from covbandit.errors import StoreUnavailable
from covbandit.service.client import Client
from covbandit.service.server.app import create_app
from covbandit.studies import Store, Study
from covbandit.studies.store import stop_this_thread_when
from service_calls import HURRIED, LEARNER, OUTCOME, Process, everything, funds, long_study, new_store

HOLD = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.read()
"""


def test_replays_are_broken_off_and_everybody_is_told(tmp_path: Path) -> None:
    """More long requests than threads, then a signal: running ones are broken off, waiting ones never begin."""
    file = tmp_path / "studies.db"
    with new_store(tmp_path) as opened:
        long_study(opened, 40_000)
        before = everything(opened)
    answers: list[httpx.Response] = []

    def send(method: str, path: str, body: Any = None) -> None:
        where = f"{process.url}/api/v1/studies/long/{path}"
        answers.append(httpx.request(method, where, json=body, timeout=300))

    requests: list[tuple[Any, ...]] = [
        ("POST", "rounds/3/amend", {"outcome": {"SPY": 1.0, "TLT": 1.0}}),
        ("POST", "fork", {"learner": LEARNER, "name": "copy"}),
        ("POST", "fork", {"learner": LEARNER}),
        *[("GET", "verify")] * 6,
        ("POST", "changes", {"risk_aversion": 9.0}),
        ("GET", "history"),
    ]
    with Process(file, "--log-level", "warning", preparing=HURRIED) as process:
        assert httpx.get(f"{process.url}/api/v1/studies/long", timeout=60).status_code == 200
        sending = [threading.Thread(target=send, args=request) for request in requests]
        for thread in sending:
            thread.start()
            for _ in range(3):  # whatever was sent before has been read when this is answered
                assert httpx.get(f"{process.url}/api/v1/health", timeout=60).status_code == 200
        status, errors = process.stop()
        for thread in sending:
            thread.join()
    assert (status, "Traceback" in errors) == (0, False), errors
    assert "stopped" in errors
    assert [answer.status_code for answer in answers] == [503] * len(requests)
    for answer in answers:
        assert answer.json()["error"] == "unavailable"
        assert "stopping" in answer.json()["message"]
        assert int(answer.headers["retry-after"]) >= 1
    with Store(file) as opened:
        assert everything(opened) == before


def test_a_thread_that_cannot_be_ended_is_left_behind(tmp_path: Path) -> None:
    """Another process holds the store's lock for good: whoever waits for it is told, and the service ends."""
    with new_store(tmp_path) as opened:
        funds(opened)
    file = tmp_path / "studies.db"
    command = [sys.executable, "-c", HOLD, str(file)]
    answers: list[httpx.Response] = []

    def tell() -> None:
        where = f"{process.url}/api/v1/studies/funds/rounds/4/tell"
        answers.append(httpx.post(where, json={"outcome": OUTCOME}, timeout=300))

    with (
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder,
        Process(file, "--log-level", "warning", preparing=HURRIED) as process,
    ):
        assert holder.stdout is not None
        assert holder.stdout.readline() == "locked\n"
        telling = threading.Thread(target=tell)
        telling.start()
        while "covbandit_requests_in_flight 2.0" not in httpx.get(f"{process.url}/api/v1/metrics", timeout=60).text:
            pass  # until the service has begun with it, besides this look at the figures
        status, errors = process.stop()
        telling.join()
        holder.terminate()
    assert (status, "Traceback" in errors) == (0, False), errors
    assert answers[0].status_code == 503
    assert "retry-after" in answers[0].headers
    with Store(file) as opened:
        assert Study.open("funds", store=opened).round(4).status == "open"


def test_a_client_repeats_what_was_broken_off(tmp_path: Path) -> None:
    """To the client a stop is a pause: it repeats its request until the service is there again."""
    with new_store(tmp_path) as opened:
        long_study(opened, 10_000)
    file = tmp_path / "studies.db"
    hurried = HURRIED.replace("0.5", "0.0")
    results: list[bool] = []
    with Process(file, "--log-level", "warning", preparing=hurried) as process:
        client = Client(process.url, retries=60)
        study = client.open("long")
        verifying = threading.Thread(target=lambda: results.append(study.verify().ok))
        verifying.start()
        for _ in range(3):
            assert httpx.get(f"{process.url}/api/v1/health", timeout=60).status_code == 200
        assert process.stop()[0] == 0
        with Process(file, "--port", str(httpx.URL(process.url).port)):
            verifying.join()
    assert results == [True]
    client.close()


@asynccontextmanager
async def called(store: Store) -> AsyncIterator[tuple[httpx.AsyncClient, Any]]:
    app = create_app(store)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as http:
        yield http, app.state.service
    assert await asyncio.to_thread(app.state.service.close)


def test_what_only_reads_and_waits_is_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All threads for long work are busy: a read that waits is refused, a write that waits still gets its turn."""
    go_on = threading.Event()
    begun = threading.Semaphore(0)

    def busy(_: Study) -> Any:
        begun.release()
        assert go_on.wait(60)
        raise StoreUnavailable("this one was allowed to finish")

    monkeypatch.setattr(Study, "verify", busy)

    async def scene(store: Store) -> None:
        async with called(store) as (http, service):
            running = [asyncio.create_task(http.get("/api/v1/studies/funds/verify")) for _ in range(4)]
            for _ in running:
                await asyncio.to_thread(begun.acquire)
            reading = asyncio.create_task(http.get("/api/v1/studies/funds/explain"))
            writing = asyncio.create_task(http.post("/api/v1/studies/funds/changes", json={"retire": "GLD"}))
            assert (await http.get("/api/v1/studies/funds")).status_code == 200
            service.stop()
            refused = await asyncio.wait_for(reading, 60)
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
            assert "stopping" in refused.json()["message"]
            assert (await http.get("/api/v1/studies/funds/explain")).status_code == 503
            assert not any(task.done() for task in (*running, writing))
            go_on.set()
            for task in running:
                assert "allowed to finish" in (await task).json()["message"]
            assert (await writing).status_code == 200
            assert (await http.get("/api/v1/studies/funds")).status_code == 200
            service.interrupt()
            for path in ("/api/v1/studies/funds", "/api/v1/studies/funds/verify", "/api/v1/health"):
                late = await http.get(path)
                assert (late.status_code, "stopping" in late.json()["message"]) == (503, True)

    with new_store(tmp_path) as store:
        funds(store)
        asyncio.run(scene(store))
        assert Study.open("funds", store=store).retired == ("GLD",)


def test_a_replay_is_broken_off_by_its_own_thread_alone(store_url: str) -> None:
    """Whatever is asked to stop changes nothing, and the same study goes on elsewhere."""
    with Store(store_url, create=True) as store:
        study = funds(store)
        before = everything(store)
        refused: list[bool] = []

        def work() -> None:
            stop_this_thread_when(lambda: True)
            for call in (
                lambda: study.verify(),
                lambda: study.amend(1, {**OUTCOME, "SPY": 9.0}),
                lambda: study.set_risk_aversion(7.0),
                lambda: study.add_option("new"),
                lambda: study.fork(LEARNER),
                lambda: study.fork(LEARNER, name="copy"),
                lambda: study.history(),
                lambda: study.export(format="csv"),
                lambda: study.export(format="json"),
            ):
                with pytest.raises(StoreUnavailable, match="stopping; nothing was changed") as caught:
                    call()
                refused.append(caught.value.retryable)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert refused == [True] * 9
        assert everything(store) == before
        assert study.verify().exact
        assert study.history().told == 3
        assert study.amend(1, {**OUTCOME, "SPY": 9.0}).amendments == 1
        assert study.verify().exact


def test_what_a_study_would_have_earned_is_broken_off_too(store_url: str) -> None:
    """Which tells the history to a learner once more, without reading it: all of it is in memory."""
    with Store(store_url, create=True) as store:
        study = funds(store, rounds=0)
        for k in range(5):
            study.tell_outside({"SPY": 1.0}, {name: value + 0.001 * k for name, value in OUTCOME.items()})
        before = study.history().would_have_cumulative_reward
        study.set_risk_aversion(7.0)  # so that it has to be worked out anew
        refused: list[bool] = []

        def work() -> None:
            stop_this_thread_when(lambda: True)
            with pytest.raises(StoreUnavailable, match="stopping; nothing was changed") as caught:
                study.history()
            refused.append(caught.value.retryable)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert refused == [True]
        after = study.history().would_have_cumulative_reward
        assert before is not None
        assert after is not None
        assert len(after) == len(before) == 5
