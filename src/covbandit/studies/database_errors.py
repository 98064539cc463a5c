"""Errors of databases as `StoreUnavailable`: what happened, whether trying again helps, and that nothing is lost."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from json import JSONDecodeError

from sqlalchemy.exc import DBAPIError, MultipleResultsFound, NoResultFound
from sqlalchemy.exc import TimeoutError as PoolTimeout

from covbandit.errors import StoreUnavailable

_SQLITE = {
    "SQLITE_BUSY": ("is locked by another process that has been writing for long", True),
    "SQLITE_LOCKED": ("is locked by another connection", True),
    "SQLITE_PROTOCOL": ("is in use by very many processes at once", True),
    "SQLITE_NOMEM": ("cannot be read or written: this process is out of memory", True),
    "SQLITE_FULL": ("cannot grow: the disk is full; make room, then repeat", False),
    "SQLITE_READONLY": (
        "is read-only; let the file, its folder and the files beside it (-wal, -shm) be written, then repeat",
        False,
    ),
    "SQLITE_CANTOPEN": (
        "cannot be opened; check that it is there, and that file and folder may be written",
        False,
    ),
    "SQLITE_PERM": ("cannot be opened; check that the file and its folder may be written", False),
    "SQLITE_IOERR": ("cannot be read or written: the disk is full or reports an error; make room, then repeat", False),
    "SQLITE_CORRUPT": ("is damaged; restore it from a copy", False),
    "SQLITE_NOTADB": ("is no SQLite database; name another file", False),
}

_DAMAGED = "is damaged, or not as covbandit left it; restore it from a copy"

# These can only come from a damaged store: everything that is decoded in a transaction was written by covbandit.
_UNREADABLE = (JSONDecodeError, UnicodeDecodeError, NoResultFound, MultipleResultsFound)

# Classes of SQLSTATE, and single ones, longest first.
_POSTGRESQL = (
    ("53100", "cannot grow: the disk of the server is full; make room, then repeat", False),
    ("53300", "has too many connections", True),
    ("25006", "is read-only", False),
    ("28", "refuses the user or the password", False),
    ("3D000", "does not exist on that server; create the database first", False),
    ("42501", "refuses: the user lacks the right to do that", False),
    ("40", "could not finish the transaction beside others", True),
    ("55P03", "is locked by another process", True),
    ("57014", "took longer over a statement than it may, or an operator cancelled it", True),
    ("57", "is shutting down or starting up", True),
    ("58", "cannot be read or written: the disk of the server reports an error", False),
    ("08", "lost the connection to its server", True),
)


def _of_sqlite(error: sqlite3.Error) -> tuple[str, bool] | None:
    name = getattr(error, "sqlite_errorname", None) or ""
    for known, told in _SQLITE.items():
        if name == known or name.startswith(f"{known}_"):
            return told
    return None


def _of_postgresql(error: object) -> tuple[str, bool]:
    state = str(getattr(error, "sqlstate", None) or "")
    for known, what, again in _POSTGRESQL:
        if state.startswith(known):
            return what, again
    said = str(error).lower()
    if "password authentication failed" in said or "no password supplied" in said:
        return "refuses the user or the password", False
    if "does not exist" in said and "database" in said:
        return "does not exist on that server; create the database first", False
    return "does not answer", True


def _is_about_the_server(error: object) -> bool:
    """Return True if an error is about the server rather than about what was asked of it."""
    state = str(getattr(error, "sqlstate", ""))
    return state == "42501" or state[:2] in ("08", "25", "28", "3D", "40", "53", "55", "57", "58")


def unavailable(error: BaseException, url: str) -> StoreUnavailable:
    """Return the error to raise for what a database raised in a transaction."""
    if isinstance(error, PoolTimeout):
        return StoreUnavailable(f"{url} is busy: all connections of this process are in use; try again")
    original = error.orig if isinstance(error, DBAPIError) else None
    told = None
    if isinstance(original, sqlite3.Error):
        told = _of_sqlite(original)
    elif type(original).__name__ in ("OperationalError", "InterfaceError") or _is_about_the_server(original):
        told = _of_postgresql(original)
    if told is None:
        return damaged(url, _first_line(original or error))
    what, again = told
    return StoreUnavailable(
        f"{url} {what}. Nothing was changed by this call, or all of it; repeating a tell is safe, and so is an ask or "
        f"a round from outside with a key ({_first_line(original)})",
        again,
    )


def damaged(url: str, why: str) -> StoreUnavailable:
    """Return the error for a store that is not as covbandit wrote it."""
    return StoreUnavailable(f"{url} {_DAMAGED} ({why})", retryable=False)


def of_another_moment(name: str) -> str:
    """Return the words for statistics that do not belong to the study's row, as after a restore of some tables only."""
    return f"the statistics of {name!r} are of another moment than its row"


def _is_about_tables(error: DBAPIError) -> bool:
    """Return True if a table or column was missing, as in a store of another version."""
    original = error.orig
    if isinstance(original, sqlite3.Error):
        return getattr(original, "sqlite_errorname", None) == "SQLITE_ERROR"
    return str(getattr(original, "sqlstate", None) or "").startswith("42")


def _first_line(error: object) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


@contextmanager
def as_store_errors(url: str, refuse_other_schema: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Turn a database's errors into `StoreUnavailable`.

    Parameters
    ----------
    url : str
        The store's, for messages.
    refuse_other_schema : callable
        Raises if the tables are those of another version. Called where one of them, or a column, is not there.
    """
    try:
        yield
    except (DBAPIError, PoolTimeout, *_UNREADABLE) as error:
        if isinstance(error, DBAPIError) and _is_about_tables(error):
            refuse_other_schema()
        raise unavailable(error, url) from (None if isinstance(error, PoolTimeout | DBAPIError) else error)
