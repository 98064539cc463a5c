"""CPU seconds, user and system, of other processes: of a service, and of PostgreSQL's processes for one database.

Linux tells both under ``/proc``. Elsewhere, or if the database is on another machine, they are unknown (NaN).
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from pathlib import Path

ServerClock = Callable[[], float]
"""Returns the CPU seconds that the database has spent so far beside the process that uses it."""

_PROC = Path("/proc")


def cpu_of_process(number: int) -> float:
    """Return the CPU seconds of a process so far, all threads, in steps of the system's clock (mostly 10 ms)."""
    try:
        text = (_PROC / str(number) / "stat").read_text(encoding="utf-8")
    except OSError:
        return math.nan
    fields = text.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / float(os.sysconf("SC_CLK_TCK"))


def cpu_of_processes(numbers: Iterable[int]) -> float:
    """Return the CPU seconds of processes with one thread each, to the nanosecond; ended ones count for nothing."""
    total = 0
    for number in numbers:
        try:
            total += int((_PROC / str(number) / "schedstat").read_text(encoding="utf-8").split()[0])
        except OSError:
            continue
    return total / 1e9


def server_clock(url: str) -> ServerClock:
    """Return a clock for the database behind a URL.

    SQLite works in the process that uses it, so its clock stands still. Of PostgreSQL, the processes that serve the
    connections to this database are counted; what all databases share (checkpoints, the writer of the log) is not.
    """
    if url.startswith("sqlite"):
        return lambda: 0.0
    import psycopg
    from study_places import plain

    watch = psycopg.connect(plain(url), autocommit=True)
    ours = watch.info.backend_pid
    here = (_PROC / str(ours) / "schedstat").exists()
    statement = (
        b"SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'"
    )
    known: dict[int, float] = {}

    def read() -> float:
        if not here:
            return math.nan
        for (number,) in watch.execute(statement).fetchall():
            if number != ours:
                known[number] = max(known.get(number, 0.0), cpu_of_processes([number]))
        return sum(known.values())

    return read
