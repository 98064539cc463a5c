"""Sixteen clients at once, as a program of its own that imports little and forks.

It is told what the clients do by a line of JSON, then how many seconds to work by a number a line; each time it answers
with a line of JSON: the seconds that passed, the clients' CPU seconds, errors, and each client's times by what it did.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from study_bare import connect

Work = Callable[[], tuple[tuple[str, float], ...]]
"""What a client does again and again; returns what it did, and how many seconds each took."""


_IDLE = 5.0  # seconds; the service waits thirty


class Crowd:
    """The program, started and spoken to.

    Parameters
    ----------
    task : dict
        ``work`` (``"service"``, ``"http"``, ``"insert"``, ``"same row"``), ``url``, ``clients``, ``threads``
        (rather than processes); for the service ``studies`` (their names; clients take them in turns) and ``options``.
    """

    def __init__(self, **task: Any) -> None:
        self.process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._send(json.dumps(task))
        self._read()

    def work(self, seconds: float) -> dict[str, Any]:
        """Let all clients work; return ``seconds``, ``cpu``, ``errors`` and ``times``, seconds by what was done."""
        self._send(repr(seconds))
        found: dict[str, Any] = self._read()
        return found

    def _send(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def _read(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("the clients have died")
        return json.loads(line)

    def close(self) -> None:
        """End the program; at once if it does not end by itself."""
        try:
            self.process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class ServiceClient:
    """Asks and tells over one connection that stays open, with no more than the standard library.

    Parameters
    ----------
    url : str
        Of the service.
    study : str
        Its name; one with full information.
    options : list of str
        Theirs.
    seed : int
        Of what the options earn.
    """

    def __init__(self, url: str, study: str, options: list[str], seed: int) -> None:
        parts = urlsplit(url)
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=120)
        self._base = f"/api/v1/studies/{study}"
        self._options = options
        self._rng = random.Random(seed)
        self._used = time.perf_counter()

    def _begin(self) -> float:
        """Return the time; between turns, the service closes connections that nobody uses."""
        now = time.perf_counter()
        if now - self._used > _IDLE:
            self._connection.close()  # the next request opens it again
        self._used = now
        return now

    def _post(self, path: str, body: str) -> tuple[bytes, float]:
        begun = self._begin()
        self._connection.request("POST", self._base + path, body, {"Content-Type": "application/json"})
        answer = self._connection.getresponse()
        content = answer.read()
        seconds = time.perf_counter() - begun
        if answer.status != 200:
            raise RuntimeError(f"{answer.status}: {content[:300]!r}")
        return content, seconds

    def version(self) -> tuple[tuple[str, float], ...]:
        """Ask for what the service answers without its store."""
        begun = self._begin()
        self._connection.request("GET", "/api/v1/version")
        answer = self._connection.getresponse()
        answer.read()
        if answer.status != 200:
            raise RuntimeError(str(answer.status))
        return (("request", time.perf_counter() - begun),)

    def pair(self) -> tuple[tuple[str, float], ...]:
        """Ask, and tell what every option earned."""
        outcome = {name: self._rng.gauss(0.5, 1.0) for name in self._options}
        content, asking = self._post("/ask", "{}")
        _, telling = self._post(f"/rounds/{json.loads(content)['id']}/tell", json.dumps({"outcome": outcome}))
        return (("ask", asking), ("tell", telling))


def _work_of(task: dict[str, Any], number: int) -> Work:
    if task["work"] in ("service", "http"):
        study = task["studies"][number % len(task["studies"])]
        client = ServiceClient(task["url"], study, task["options"], number)
        return client.pair if task["work"] == "service" else client.version
    transact = connect(task["url"], same_row=task["work"] == "same row")

    def bare() -> tuple[tuple[str, float], ...]:
        begun = time.perf_counter()
        transact()
        return (("transaction", time.perf_counter() - begun),)

    return bare


def _busy(work: Work, until: float) -> dict[str, Any]:
    """Work until a time of the monotonic clock."""
    times: dict[str, list[float]] = {}
    errors: list[str] = []
    begun = time.thread_time()
    while time.monotonic() < until and len(errors) < 10:
        try:
            for what, seconds in work():
                times.setdefault(what, []).append(seconds)
        except Exception as error:
            errors.append(f"{type(error).__name__}: {error}")
    return {"times": times, "errors": errors, "cpu": time.thread_time() - begun}


def _together(found: list[dict[str, Any]], seconds: float) -> dict[str, Any]:
    times: dict[str, list[float]] = {}
    for each in found:
        for what, values in each["times"].items():
            times.setdefault(what, []).extend(values)
    errors = [line for each in found for line in each["errors"]]
    return {"seconds": seconds, "cpu": sum(each["cpu"] for each in found), "errors": errors, "times": times}


def _line(file: int) -> bytes:
    """Read up to the end of a line from a pipe."""
    parts: list[bytes] = []
    while not parts or not parts[-1].endswith(b"\n"):
        part = os.read(file, 1 << 16)
        if not part:
            break
        parts.append(part)
    return b"".join(parts)


def _fork(task: dict[str, Any]) -> list[tuple[int, int]]:
    """Start a process a client; return for each where to write commands and where to read answers."""
    pipes: list[tuple[int, int]] = []
    for number in range(task["clients"]):
        commands, answers = os.pipe(), os.pipe()
        if os.fork() == 0:
            try:
                for mine in (*pipes, (commands[1], answers[0])):
                    os.close(mine[0])
                    os.close(mine[1])
                os.close(0)
                work = _work_of(task, number)
                while line := _line(commands[0]):
                    text = json.dumps(_busy(work, float(line))) + "\n"
                    with os.fdopen(os.dup(answers[1]), "wb") as out:
                        out.write(text.encode())
            finally:
                os._exit(0)
        os.close(commands[0])
        os.close(answers[1])
        pipes.append((commands[1], answers[0]))
    return pipes


def _in_threads(works: list[Work], until: float) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    threads = [threading.Thread(target=lambda work=work: found.append(_busy(work, until))) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def main() -> None:
    """Do as standard input says."""
    task = json.loads(sys.stdin.readline())
    works = [_work_of(task, number) for number in range(task["clients"])] if task.get("threads") else []
    pipes = [] if works else _fork(task)
    print(json.dumps("ready"), flush=True)
    while line := sys.stdin.readline():
        begun = time.monotonic()
        until = begun + float(line)
        if works:
            found = _in_threads(works, until)
        else:
            for commands, _ in pipes:
                os.write(commands, f"{until!r}\n".encode())
            found = [json.loads(_line(answers)) for _, answers in pipes]
        print(json.dumps(_together(found, time.monotonic() - begun)), flush=True)


if __name__ == "__main__":
    main()
