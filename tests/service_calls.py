"""Services to call: in this process without a network, and in a process of its own."""

from __future__ import annotations

import asyncio
import functools
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI
from sqlalchemy import insert, update

import covbandit as cb
from commands import COMMAND
from covbandit.service.server.app import create_app
from covbandit.studies import Store, Study, schema
from covbandit.studies.rows import RoundRow
from covbandit.studies.schema import metadata

OPTIONS = ["SPY", "TLT", "GLD"]
OUTCOME = {"SPY": 0.012, "TLT": -0.003, "GLD": 0.004}
LEARNER = {"class": "MCEmpirical", "risk_aversion": 2.0}

# For `Process(preparing=...)`: what has begun gets little time to finish once the service is to stop.
HURRIED = """
from covbandit.service.server import process, runtime
runtime.FINISH_SECONDS = process.FINISH_SECONDS = 0.5
process.ANSWER_SECONDS = 3.0
"""


@functools.cache
def _empty() -> bytes:
    """Return a store without studies: copying it is faster than setting up one."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "empty.db"
        Store(file, create=True).close()
        return file.read_bytes()


def new_store(folder: Path) -> Store:
    """Return an empty store in a folder."""
    file = folder / "studies.db"
    file.write_bytes(_empty())
    return Store(file)


_MAIN = """
from covbandit.cli import main
main()
"""


class InProcess(httpx.BaseTransport):
    """Hands requests to an application in this process."""

    def __init__(self, app: FastAPI, address: str = "127.0.0.1") -> None:
        self._app = httpx.ASGITransport(app, raise_app_exceptions=False, client=(address, 50_000))
        self._runner = asyncio.Runner()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return self._runner.run(self._send(request))

    async def _send(self, request: httpx.Request) -> httpx.Response:
        found = await self._app.handle_async_request(request)
        content = httpx.ByteStream(await found.aread())
        return httpx.Response(found.status_code, headers=found.headers, stream=content, request=request)

    def close(self) -> None:
        self._runner.close()


@contextmanager
def calling(
    store: Store, address: str = "127.0.0.1", token: str | None = None, **settings: Any
) -> Iterator[httpx.Client]:
    """Give a client of a service of that store."""
    app = create_app(store, **{"remember_tokens": 0.0, **settings})
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    try:
        with httpx.Client(transport=InProcess(app, address), base_url="http://localhost", headers=headers) as client:
            yield client
    finally:
        app.state.service.close()


def funds(store: Store, rounds: int = 3) -> Study:
    """Create the study that most tests use: so many rounds told, one more open."""
    study = Study.create("funds", OPTIONS, cb.MCEmpirical(n_options=3, risk_aversion=2.0), "per_unit", store=store)
    for k in range(rounds):
        study.tell(study.ask().id, {name: value * (1 + k) + 0.001 * k for name, value in OUTCOME.items()})
    study.ask(key="open")
    return study


def everything(store: Store) -> dict[str, Any]:
    """Return all rows of all tables, to see whether anything changed."""
    with store.read() as connection:
        return {
            table.name: [tuple(row) for row in connection.execute(table.select())] for table in metadata.sorted_tables
        }


def long_study(store: Store, rounds: int) -> Study:
    """Create a study of so many rounds told from outside; its replay goes round by round, and takes its time."""
    learner = cb.MCEmpirical(n_options=3, risk_aversion=2.0)
    study = Study.create("long", OPTIONS, learner, "per_unit", store=store)
    played = [0.5, 0.5, 0.0]
    now = time.time()
    number = study._ledger.study
    numbers = range(1, rounds + 1)
    told = [
        {
            "study_id": number,
            "number": k,
            "round": k,
            "kind": "outside",
            "told_at": now,
            "played": json.dumps(played),
            "outcome": json.dumps([0.01 * (k % 7), -0.02 * (k % 5), None]),
        }
        for k in numbers
    ]
    values = {"n_rounds": rounds, "n_tells": rounds, "n_told": rounds, "revision": rounds, "state_revision": rounds}
    with store.write() as connection:
        outside = [RoundRow.from_outside(number, k, k, None, now, played, k).values() for k in numbers]
        connection.execute(insert(schema.rounds), outside)
        connection.execute(insert(schema.tells), told)
        connection.execute(update(schema.studies).where(schema.studies.c.id == number).values(values))
    study.set_risk_aversion(3.0)  # tells the log to the learner, whose state is then that of the log
    return study


class Process:
    """A service in a process of its own, started by its command.

    Parameters
    ----------
    store : path or str
        Where the studies are.
    *arguments : str
        Of the command.
    preparing : str
        Python to run before, in the same process: to lower a limit of the system, or one of ours.
    """

    def __init__(self, store: Path | str, *arguments: str, preparing: str = "") -> None:
        command = [sys.executable, "-c", f"{preparing}\n{_MAIN}"] if preparing else COMMAND
        self.child = subprocess.Popen(
            [*command, "serve", "--store", str(store), "--port", "0", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.said: list[str] = []
        assert self.child.stdout is not None
        for line in self.child.stdout:
            self.said.append(line.rstrip())
            if line.startswith("  stop"):
                break
        else:
            _, errors = self.child.communicate(timeout=120)
            raise AssertionError(f"the service did not start: {errors}")
        (self.url,) = [line.split()[1].rstrip("/") for line in self.said if line.startswith("  dashboard")]

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        if self.child.poll() is None:
            self.child.kill()
        self.child.communicate(timeout=120)

    def stop(self) -> tuple[int, str]:
        """Ask it to end; return its status and what it wrote to standard error."""
        self.child.terminate()
        _, errors = self.child.communicate(timeout=120)
        return self.child.returncode, errors
