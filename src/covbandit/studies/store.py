"""Where studies are kept: a SQLite file or a PostgreSQL database, and its transactions.

A thread that reads a long log can be stopped: its transaction is undone, and nothing is left half done.
"""

from __future__ import annotations

import os
import re
import shlex
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar
from weakref import WeakSet, WeakValueDictionary, finalize

from sqlalchemy import URL, Connection, Engine, create_engine, event, inspect, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError
from sqlalchemy.pool import ConnectionPoolEntry, QueuePool

from covbandit.core.files import why_not_opened
from covbandit.errors import InvalidInput, MissingExtra, NotFound, StoreSchemaError, StoreUnavailable
from covbandit.studies.database_errors import as_store_errors
from covbandit.studies.schema import SCHEMA, studies

T = TypeVar("T")

DEFAULT_STORE = "sqlite:///covbandit.db"

BUSY_SECONDS = 30.0
"""How long a writer waits for its turn before it gives up."""

STATEMENT_SECONDS = 120.0
"""How long PostgreSQL may take over one statement. The longest that is meant reads a whole history at once."""

_CONNECTIONS = 20

_WRITES = "covbandit_writes"  # execution option of a connection


class _Turn:
    """Who writes next in this process: threads queue here instead of polling SQLite's lock."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


_turns: WeakValueDictionary[str, _Turn] = WeakValueDictionary()
_turns_lock = threading.Lock()


_stores: WeakSet[Store] = WeakSet()


def _after_fork() -> None:
    """Let a forked process have connections and turns of its own: two processes on one connection would mix them up."""
    global _turns_lock
    _turns_lock = threading.Lock()
    _turns.clear()
    for store in list(_stores):
        store._start_afresh()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _turn_of(file: str) -> _Turn:
    with _turns_lock:
        turn = _turns.get(file)
        if turn is None:
            turn = _turns[file] = _Turn()
        return turn


def as_url(store: object) -> URL:
    """Return the address of a store: a SQLAlchemy URL, or the path of a SQLite file.

    Raises
    ------
    InvalidInput
        If it is neither, of another kind of database, or a database in memory, which would keep nothing.
    """
    if isinstance(store, PathLike):
        return URL.create("sqlite", database=str(Path(store)))
    if not isinstance(store, str) or not store.strip():
        raise InvalidInput(f"store must be a URL such as {DEFAULT_STORE!r}, or the path of a file, got {store!r}")
    if "://" not in store:
        return URL.create("sqlite", database=store)
    try:
        url = make_url(store)
    except (ArgumentError, ValueError):
        raise InvalidInput(
            "store is no URL: write sqlite:///folder/file.db or postgresql://user:password@host/database "
            "(special characters in a password as %XX)"
        ) from None
    backend = url.drivername.partition("+")[0]
    if backend in ("postgres", "postgresql"):
        return url.set(drivername="postgresql+psycopg")
    if backend != "sqlite":
        raise InvalidInput(f"store: {url.drivername!r} is not supported; use sqlite:///file.db or postgresql://...")
    if not url.database or url.database == ":memory:" or "mode=memory" in str(url):
        raise InvalidInput(
            f"store {store!r} is in memory, where a study would be lost; name a file: sqlite:///covbandit.db"
        )
    return url


def _expanded(name: str) -> Path:
    """Return the path of a file, with the folder that a leading ~ stands for."""
    try:
        if "\0" in name:
            raise ValueError
        os.fsencode(name)
    except ValueError as error:  # found here, since the database would report neither by an error of ours
        raise InvalidInput(f"store file {name!r}: {why_not_opened(error)}") from None
    try:
        return Path(name).expanduser()
    except RuntimeError as error:
        raise InvalidInput(f"store file {name!r}: nobody's home folder is known here ({error}); write it out") from None


class Store:
    """A database of studies. Usually made by giving its URL to `Study.create` or `Study.open`.

    Safe to use from several threads, and by several processes at once. SQLite: write-ahead log, ``synchronous=FULL``
    (an acknowledged tell survives a power cut), writers take turns by ``BEGIN IMMEDIATE`` and wait up to 30 seconds.
    PostgreSQL: writers take turns by a lock on the study's row, and no statement may take longer than two minutes.

    Parameters
    ----------
    url : str or path
        ``"sqlite:///covbandit.db"``, a file's path, or ``"postgresql://user:password@host/database"``.
    create : bool
        Set the store up if there is none yet.

    Raises
    ------
    NotFound
        If there is no store yet, unless `create`.
    StoreSchemaError
        If it was written by an older or a newer version of covbandit.
    StoreUnavailable
        If it cannot be reached, read or written.
    """

    def __init__(self, url: object = DEFAULT_STORE, create: bool = False) -> None:
        self._connect(url, create)
        try:
            self._require_schema(create)
        except BaseException:
            self.close()
            raise
        self._mode["mode"] = "rw"

    @classmethod
    def of_any_schema(cls, url: object = DEFAULT_STORE) -> Self:
        """Open a store whatever its version, to see which it is and to upgrade it; studies need `Store`."""
        store = cls.__new__(cls)
        store._connect(url, create=False)
        store._of_any_schema = True
        return store

    def _connect(self, url: object, create: bool) -> None:
        self._mode = {"mode": "rwc" if create else "rw"}  # only a new store makes its file
        self._of_any_schema = False
        self._url = as_url(url)
        self.is_sqlite = self._url.get_backend_name() == "sqlite"
        self._file = _expanded(self._url.database or "") if self.is_sqlite else None
        if self._file is not None:
            self._require_file(self._file, create)
        self._turn = _turn_of(str(self._file.resolve())) if self._file is not None else None
        self._engine = self._sqlite() if self.is_sqlite else self._postgresql()
        finalize(self, self._engine.dispose)  # a store that is merely forgotten leaves no connection open
        _stores.add(self)

    def _start_afresh(self) -> None:
        self._engine.dispose(close=False)  # the connections are the parent's
        if self._file is not None:
            self._turn = _turn_of(str(self._file.resolve()))

    # Addresses -------------------------------------------------------------------------------------------------------

    @property
    def url(self) -> str:
        """The store's URL without its password, fit for messages and logs."""
        shown = self._url.render_as_string(hide_password=True)
        return shown.replace("postgresql+psycopg://", "postgresql://")

    @property
    def address(self) -> str:
        """The store's URL with its password, to connect with; never for messages."""
        return self._url.render_as_string(hide_password=False)

    def __repr__(self) -> str:
        return f"Store({self.url!r})"

    # Transactions ----------------------------------------------------------------------------------------------------

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Open a transaction that may write; it is committed at the end, and undone as a whole if anything is raised.

        Raises
        ------
        StoreUnavailable
            If the database cannot do it; nothing has changed then.
        """
        with self._as_store_errors():
            if self._turn is not None and not self._turn.lock.acquire(timeout=BUSY_SECONDS):
                raise StoreUnavailable(
                    f"{self.url} was busy for {BUSY_SECONDS:g} seconds: another thread of this process is writing; "
                    "try again"
                )
            try:
                with self._begun(writes=True) as connection:
                    yield connection
            finally:
                if self._turn is not None:
                    self._turn.lock.release()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Open a transaction that sees one state of the store and never waits for writers."""
        with self._as_store_errors(), self._begun(writes=False) as connection:
            yield connection

    @contextmanager
    def _begun(self, writes: bool) -> Iterator[Connection]:
        """Begin a transaction and, in the end, commit it or undo it."""
        connection = self._connected(writes)
        try:
            try:
                transaction = connection.begin()
            except DBAPIError as error:
                if self.is_sqlite or not error.connection_invalidated:
                    raise
                # The server was restarted since this connection was used last; nothing but BEGIN was sent to it.
                connection.close()
                connection = self._connected(writes)
                transaction = connection.begin()
            with transaction:
                yield connection
        finally:
            connection.close()

    def _connected(self, writes: bool) -> Connection:
        connection = self._engine.connect()
        try:
            if self._file is not None and connection.info["file"] != _identity(self._file):
                connection = self._other_file(connection, writes)
            return connection.execution_options(**{_WRITES: writes})
        except BaseException:
            connection.close()
            raise

    def close(self) -> None:
        """Close all connections; the next use opens new ones."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Schema ----------------------------------------------------------------------------------------------------------

    def schema(self) -> str | None:
        """Return the version of the store's tables, None if there are none."""
        with self.read() as connection:
            return _schema(connection)

    def upgrade(self) -> tuple[str | None, str]:
        """Bring the tables to the newest version, all steps or none; return the versions before and after."""
        from covbandit.studies.migrations import migrate

        with self.write() as connection:
            if not self.is_sqlite:  # two processes that set up the same database take turns
                connection.execute(text("SET LOCAL statement_timeout = 0"))  # a large store takes its time
                connection.execute(text("SELECT pg_advisory_xact_lock(7102316155)"))
            before = _schema(connection)
            self.refuse_newer(before)
            if before != SCHEMA:
                migrate(connection)
        return before, SCHEMA

    def _require_schema(self, create: bool) -> None:
        found = self.schema()
        self.refuse_newer(found)
        if found is None and create:
            self.upgrade()
        elif found is None:
            raise NotFound(f"{self.url} holds no studies yet; create one first (covbandit study create --help)")
        self._refuse_older(found)

    def _refuse_older(self, found: str | None) -> None:
        if found is not None and found < SCHEMA:
            raise StoreSchemaError(
                f"{self.url} was written by an older covbandit (schema {found}, this one uses {SCHEMA}); make a copy, "
                f"then upgrade it: covbandit study upgrade --store {shlex.quote(self.url)}"
                + (" (with the password in place of ***)" if self._url.password else "")
            )

    def refuse_newer(self, found: str | None) -> None:
        """Refuse a version of the tables that this covbandit does not know."""
        if found is not None and found > SCHEMA:
            raise StoreSchemaError(
                f"{self.url} was written by a newer covbandit (schema {found}, this one knows up to {SCHEMA}): "
                "install the newer covbandit; the store was not touched"
            )

    # Inside ----------------------------------------------------------------------------------------------------------

    def _as_store_errors(self) -> AbstractContextManager[None]:
        return as_store_errors(self.url, self._refuse_other_schema)

    def _refuse_other_schema(self) -> None:
        """Raise `StoreSchemaError` if tables or columns are missing because a copy of another version was restored."""
        if not self._of_any_schema:
            with as_store_errors(self.url), self._begun(writes=False) as connection:
                found = _schema(connection)
            self.refuse_newer(found)
            self._refuse_older(found)

    @staticmethod
    def _require_file(file: Path, create: bool) -> None:
        try:
            there, folder = file.is_file(), file.resolve().parent.is_dir()
        except OSError as error:
            raise InvalidInput(f"store: {file} cannot be a file: {error.strerror or error}") from None
        if there:
            return
        if not create:
            raise NotFound(f"there is no store {file}; create a study first, or correct the path")
        if not folder:
            raise InvalidInput(f"store: the folder of {file} does not exist; make it first")

    def _other_file(self, connection: Connection, writes: bool) -> Connection:
        """Refuse to write into a file that is no longer where it was; read the one that is there now."""
        assert self._file is not None
        there = self._file.exists()
        connection.invalidate()
        connection.close()
        self.close()
        if there and not writes:
            return self._engine.connect()
        raise StoreUnavailable(
            f"{self.url} was {'replaced by another file' if there else 'deleted or moved'} while it was in use; put "
            "the right file there, then repeat. Nothing was changed by this call",
            retryable=False,
        )

    def _sqlite(self) -> Engine:
        assert self._file is not None
        file, mode = self._file.resolve(), self._mode

        def connect() -> sqlite3.Connection:
            # Autocommit as far as Python is concerned: transactions begin where we say so.
            address = f"{file.as_uri()}?mode={mode['mode']}"
            connection = sqlite3.connect(
                address, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            try:
                _write_ahead(connection)
                connection.execute("PRAGMA synchronous=FULL")
                connection.execute("PRAGMA foreign_keys=ON")
            except BaseException:  # the file is damaged, say: an open connection would hold it, locks included
                connection.close()
                raise
            return connection

        engine = create_engine(
            "sqlite+pysqlite://", creator=connect, poolclass=QueuePool, pool_size=_CONNECTIONS, max_overflow=-1
        )

        @event.listens_for(engine, "connect")
        def identify(_: sqlite3.Connection, record: ConnectionPoolEntry) -> None:
            record.info["file"] = _identity(file)

        @event.listens_for(engine, "begin")
        def begin(connection: Connection) -> None:
            writes = connection.get_execution_options().get(_WRITES, False)
            connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

        return engine

    def _postgresql(self) -> Engine:
        try:
            engine = create_engine(
                self._url,
                pool_size=_CONNECTIONS,
                max_overflow=_CONNECTIONS,
                # As with SQLite, transactions begin where we say so: by the statement that also shows whether the
                # server is still the one that was connected to.
                connect_args={
                    "connect_timeout": 10,
                    "autocommit": True,
                    # A client that sleeps or is cut off within a transaction does not hold up others for ever.
                    "tcp_user_timeout": int(1_000 * BUSY_SECONDS),
                    "options": f"-c lock_timeout={BUSY_SECONDS:g}s -c statement_timeout={STATEMENT_SECONDS:g}s "
                    "-c idle_in_transaction_session_timeout=300s " + str(self._url.query.get("options", "")),
                },
            )
        except (ModuleNotFoundError, NoSuchModuleError):
            raise MissingExtra("PostgreSQL needs psycopg: pip install 'covbandit[postgres]'") from None

        @event.listens_for(engine, "begin")
        def begin(connection: Connection) -> None:
            writes = connection.get_execution_options().get(_WRITES, False)
            connection.exec_driver_sql(f"BEGIN ISOLATION LEVEL {'READ COMMITTED' if writes else 'REPEATABLE READ'}")

        return engine


def _identity(file: Path) -> tuple[int, int] | None:
    """Return what tells a file from another one of the same name, None if there is none."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Turn the write-ahead log on; several processes may try that on a new file at once."""
    (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
    begun = time.monotonic()
    while mode != "wal":
        try:
            (mode,) = connection.execute("PRAGMA journal_mode=WAL").fetchone()
            if mode != "wal":  # a file system that cannot share memory: the rollback journal is as safe, only slower
                return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorname != "SQLITE_BUSY" or time.monotonic() - begun > BUSY_SECONDS:
                raise
            time.sleep(0.01)


def _schema(connection: Connection) -> str | None:
    """Return the version of the tables, None if there are none.

    Raises
    ------
    StoreSchemaError
        If the tables are another program's.
    """
    tables = inspect(connection)
    found = None
    if tables.has_table("alembic_version"):
        found = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    if found is None and not tables.has_table(studies.name):
        return None
    if found is None or not re.fullmatch(r"\d{4}", str(found)):
        raise StoreSchemaError(
            "the database holds tables of another program, so studies cannot be kept there; name a database, or a "
            "file, of its own"
        )
    return str(found)


def opened(store: str | Path | Store, create: bool = False) -> tuple[Store, bool]:
    """Return the store, and whether it was opened here."""
    if isinstance(store, Store):
        return store, False
    return Store(store, create=create), True


# Stopping -------------------------------------------------------------------------------------------------------------

_this_thread = threading.local()


def stop_this_thread_when(asked: Callable[[], bool]) -> None:
    """Let whatever this thread reads round by round end with `StoreUnavailable` as soon as `asked()` is true.

    The transaction is undone then, as after any other error.
    """
    _this_thread.asked = asked


def until_stopped(rows: Iterable[T]) -> Iterator[T]:
    """Return the same rows, and look before each whether this thread was asked to stop.

    Raises
    ------
    StoreUnavailable
        If it was; the same call may be repeated.
    """
    asked: Callable[[], bool] | None = getattr(_this_thread, "asked", None)
    if asked is None:
        yield from rows
        return
    for row in rows:
        if asked():
            raise StoreUnavailable("this was broken off, since the process is stopping; nothing was changed, repeat it")
        yield row
