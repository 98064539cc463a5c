"""Programs that use studies in processes of their own, so that tests can kill them or let them compete.

Run as a program, this is a nursery: it loads everything once, before there is any connection to a database, and forks a
process for each line on its input. A process is ready within milliseconds then, so that many can be killed.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

OPTIONS = ("north", "east", "south")
_ROOM_FOR_A_STORE = 1 << 28  # bytes, far more than any test writes


def in_memory(folder: Path) -> Path:
    """Return a folder whose files need no disk, if there is one: for tests in which durability is not the matter."""
    memory = Path("/dev/shm")
    if os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > _ROOM_FOR_A_STORE:
        return memory
    return folder


# Programs -------------------------------------------------------------------------------------------------------------


def outcome_of(what: str, weights: dict[str, float], feedback: str, corrected: bool = False) -> dict[str, float]:
    """Return the outcome of a step: always the same, however often it is repeated, unless it is corrected."""
    source = random.Random(f"{what}{' corrected' if corrected else ''}")
    values = {name: round(source.gauss(0.1, 1.0), 6) for name in OPTIONS}
    return {name: values[name] for name in OPTIONS if feedback == "all" or weights[name] > 0}


def is_corrected(what: str) -> bool:
    """Return True if a step is told wrongly at first, and corrected afterwards."""
    return random.Random(f"{what}?").random() < 0.2


def entries(diary: str | Path) -> list[dict[str, Any]]:
    """Return what a process wrote down of what was acknowledged; a line without end was not written."""
    try:
        lines = Path(diary).read_text(encoding="utf-8").split("\n")[:-1]
    except FileNotFoundError:
        return []
    return [json.loads(line) for line in lines]


class Diary:
    """What was acknowledged to a process, on the disk before it goes on."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def note(self, **entry: object) -> None:
        os.write(self._file, f"{json.dumps(entry)}\n".encode())
        os.fsync(self._file)


def play(store: str, study: str, client: str, diary: str, keyed: bool, steps: int | None = None) -> None:
    """Ask and tell step by step, some of them with a correction, and go on where the diary ends.

    A keyed client asks by key, so that it repeats the very step in which it was killed; another one asks by its name,
    and gets its open round back if there is one.
    """
    from covbandit import Study

    kept = Diary(diary)
    found = Study.open(study, store)
    feedback = found.feedback
    done = sum(entry["told"] == "last" for entry in entries(diary))
    while steps is None or done < steps:
        asked = found.ask(client, key=f"{client}-{done}") if keyed else found.ask(client)
        what = asked.key or f"{client}:{asked.id}"
        first = outcome_of(what, asked.weights, feedback)
        told = found.tell(asked.id, first)
        assert told.id == asked.id
        if is_corrected(what):
            kept.note(told="first", round=asked.id, key=asked.key, outcome=first)
            corrected = outcome_of(what, asked.weights, feedback, corrected=True)
            found.amend(asked.id, corrected)
            kept.note(told="last", round=asked.id, key=asked.key, outcome=corrected)
        else:
            kept.note(told="last", round=asked.id, key=asked.key, outcome=first)
        done += 1


def compete(store: str, study: str, client: str, rounds: int) -> None:
    """Ask and tell so many rounds, as fast as the others allow."""
    from covbandit import Study

    found = Study.open(study, store)
    feedback = found.feedback
    for _ in range(rounds):
        asked = found.ask(client)
        found.tell(asked.id, outcome_of(f"{client}:{asked.id}", asked.weights, feedback))


PROGRAMS: dict[str, Callable[..., None]] = {"play": play, "compete": compete}

# The nursery ----------------------------------------------------------------------------------------------------------


class Nursery:
    """Starts processes, and knows how they end. What they complain about is in the file `complaints`."""

    def __init__(self, complaints: Path) -> None:
        self.complaints = complaints
        self._running: set[int] = set()
        with complaints.open("w") as file:
            self._process = subprocess.Popen(
                [sys.executable, __file__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # a process with threads must not fork
                text=True,
            )

    def start(self, program: str, **arguments: object) -> int:
        """Start one of `PROGRAMS`; return its process number."""
        process = self._answer("start", program, arguments)
        self._running.add(process)
        return process

    def kill(self, process: int) -> None:
        """Kill a process as by a power cut, and return when it is gone.

        Raises
        ------
        AssertionError
            If it had ended before, which none should do by itself.
        """
        os.kill(process, signal.SIGKILL)
        ended = self.wait(process)
        assert ended == -signal.SIGKILL, (
            f"ended with {ended} before it was killed\n{self.complaints.read_text(encoding='utf-8')}"
        )

    def wait(self, process: int) -> int:
        """Return the exit status of a process when it has ended, minus the signal if one ended it."""
        self._running.discard(process)
        return self._answer("wait", process)

    def _answer(self, *request: object) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{json.dumps(request)}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, f"the nursery has ended\n{self.complaints.read_text(encoding='utf-8')}"
        return int(answer)

    def __enter__(self) -> Nursery:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()  # the end of its input ends it, and what it started


def _serve() -> None:
    _load()
    assert threading.active_count() == 1
    children: set[int] = set()
    for line in sys.stdin:
        kind, *request = json.loads(line)
        if kind == "start":
            answer = _forked(*request)
            children.add(answer)
        else:
            (process,) = request
            answer = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
            children.discard(process)
        print(answer, flush=True)
    for process in children:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)


def _forked(program: str, arguments: dict[str, Any]) -> int:
    process = os.fork()
    if process:
        return process
    status = 1
    try:
        os.dup2(os.open(os.devnull, os.O_RDWR), 0)
        os.dup2(2, 1)
        PROGRAMS[program](**arguments)
        status = 0
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(status)


def _load() -> None:
    """Import and compile all that the programs need, without a connection to any database."""
    import psycopg  # noqa: F401
    import sqlalchemy.dialects.postgresql.psycopg
    import sqlalchemy.dialects.sqlite  # noqa: F401

    import covbandit as cb

    learners: list[cb.Learner] = [
        cb.MCEmpirical(n_options=3, risk_aversion=1.0),
        cb.PairUCB(n_options=3, risk_aversion=1.0),
    ]
    for learner in learners:
        for _ in range(5):
            learner.tell(learner.ask(), [0.1, 0.2, 0.4] if learner.feedback == "all" else _seen(learner.ask()))


def _seen(weights: Any) -> list[float | None]:
    return [0.1 * (i + 1) if w > 0 else None for i, w in enumerate(weights)]


if __name__ == "__main__":
    _serve()
