"""Bare transactions, the floor under every ask and tell: one row inserted and committed, nothing else.

SQLite as a study's store is: write-ahead log, ``synchronous=FULL``, ``BEGIN IMMEDIATE``. PostgreSQL by psycopg.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

BUSY_SECONDS = 60.0
Transaction = Callable[[], None]


def prepare(url: str) -> None:
    """Make the tables: one to insert into, and one with a single row."""
    if url.startswith("sqlite"):
        connection = _sqlite(url)
        connection.execute("CREATE TABLE bare (id INTEGER PRIMARY KEY, value REAL)")
        connection.close()
        return
    import psycopg

    with psycopg.connect(url, autocommit=True) as postgres:
        postgres.execute("CREATE TABLE bare (id BIGSERIAL PRIMARY KEY, value DOUBLE PRECISION)")
        postgres.execute("CREATE TABLE one_row (id BIGINT PRIMARY KEY, value DOUBLE PRECISION)")
        postgres.execute("INSERT INTO one_row VALUES (1, 0)")


def _sqlite(url: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        url.removeprefix("sqlite:///"), timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    return connection


def connect(url: str, same_row: bool = False) -> Transaction:
    """Open a connection and return what does one transaction on it.

    Parameters
    ----------
    url : str
        ``sqlite:///file`` or ``postgresql://...``.
    same_row : bool
        Update the one row that everybody updates instead of inserting one; PostgreSQL only.
    """
    if url.startswith("sqlite"):
        lite = _sqlite(url)

        def insert() -> None:
            lite.execute("BEGIN IMMEDIATE")
            lite.execute("INSERT INTO bare (value) VALUES (?)", (0.5,))
            lite.execute("COMMIT")

        return insert
    import psycopg

    postgres = psycopg.connect(url, autocommit=True)
    statement = b"UPDATE one_row SET value = %s WHERE id = 1" if same_row else b"INSERT INTO bare (value) VALUES (%s)"

    def run() -> None:
        postgres.execute(statement, (0.5,))  # on its own, so a transaction of its own

    return run


class SyncedFile:
    """A file that grows by 4 KiB at a time, each on the disk before the next."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="covbandit-benchmark-")
        self._file = (Path(self._folder.name) / "file").open("wb", buffering=0)
        self._block = bytes(4096)

    def write(self) -> float:
        """Append a block; return the seconds until it was on the disk."""
        begun = time.perf_counter()
        self._file.write(self._block)
        os.fsync(self._file.fileno())
        return time.perf_counter() - begun

    def close(self) -> None:
        """Remove the file."""
        self._file.close()
        self._folder.cleanup()
