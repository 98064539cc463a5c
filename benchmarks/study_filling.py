"""Fill stores with many rounds, each asked and told by itself, several stores at once.

Two things are different from what is timed later, and neither changes what the store holds: commits do not wait for the
disk, and a learner that takes milliseconds to propose weights does so only every 20th round; in between it proposes the
same again.

Run as a program with a URL, a learner and a number of rounds, it fills that one.
"""

from __future__ import annotations

import os

from one_thread import ONE_THREAD

os.environ.update(ONE_THREAD)

import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import event, text
from study_places import hasty
from study_rounds import create, outcomes, told
from timing import say

import covbandit as cb
from covbandit.studies import Store

_AFRESH = 20  # rounds for which a slow learner proposes the same


class Filling(NamedTuple):
    """A store to fill: its URL, the learner of its study, how many rounds, and the program that does it."""

    url: str
    learner: str
    rounds: int
    program: str = __file__


def fill_all(fillings: Sequence[Filling]) -> None:
    """Fill stores at once, each in a process of its own, and return when all are done."""
    running = [
        (each, subprocess.Popen([sys.executable, each.program, each.url, each.learner, str(each.rounds)]))
        for each in fillings
    ]
    try:
        for each, process in running:
            if process.wait() != 0:
                raise RuntimeError(f"filling a store with {each.rounds:,} rounds of {each.learner} failed")
    finally:
        for _, process in running:
            process.kill()


def without_waiting(store: Store) -> None:
    """Let commits to a SQLite store not wait for the disk, from the next connection on."""

    def prepare(connection: sqlite3.Connection, _record: object) -> None:
        connection.execute("PRAGMA synchronous=OFF")

    event.listen(store._engine, "connect", prepare)
    store.close()


def settle(store: Store) -> None:
    """Write everything to where it belongs, so that it does not disturb what is timed later."""
    with store._engine.connect() as connection:
        autocommit = connection.execution_options(isolation_level="AUTOCOMMIT")
        if store.is_sqlite:
            autocommit.exec_driver_sql("COMMIT")
            autocommit.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
        else:
            autocommit.execute(text("CHECKPOINT"))


def _propose_again(kind: type[Any]) -> None:
    """Let learners of a class propose the same weights for some rounds before they think anew."""
    think = kind.ask
    known: list[Any] = [0, None]

    def ask(self: Any, outstanding: int = 0) -> Any:
        if known[0] % _AFRESH == 0:
            known[1] = think(self, outstanding)
        known[0] += 1
        return known[1].copy()

    kind.ask = ask


def fill(url: str, learner: str, rounds: int) -> None:
    """Fill one store."""
    if learner == "PairUCB":
        _propose_again(cb.PairUCB)
    with Store(url if url.startswith("sqlite") else hasty(url), create=True) as store:
        if store.is_sqlite:
            without_waiting(store)
        study, source, shown = create(store, learner), outcomes(0), time.monotonic()
        for k in range(1, rounds + 1):
            asked = study.ask()
            study.tell(asked.id, told(asked.weights, next(source), learner))
            if time.monotonic() - shown > 20.0:
                shown = time.monotonic()
                say(f"  {learner}, {url.partition(':')[0].partition('+')[0]}: {k:,} of {rounds:,} rounds")
        settle(store)


if __name__ == "__main__":
    fill(sys.argv[1], sys.argv[2], int(sys.argv[3]))
