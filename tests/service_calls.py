"""Services to call: in this process without a network, and in a process of its own."""

from __future__ import annotations

import asyncio
import functools
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI

import covbandit as cb
from commands import COMMAND
from covbandit.service.app import create_app
from covbandit.studies import Store, Study
from covbandit.studies.schema import metadata

OPTIONS = ["SPY", "TLT", "GLD"]
OUTCOME = {"SPY": 0.012, "TLT": -0.003, "GLD": 0.004}
LEARNER = {"class": "MCEmpirical", "risk_aversion": 2.0}


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


class Process:
    """A service in a process of its own, started by its command."""

    def __init__(self, store: Path | str, *arguments: str) -> None:
        self.child = subprocess.Popen(
            [*COMMAND, "serve", "--store", str(store), "--port", "0", *arguments],
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
