"""Where the studies of a benchmark live: SQLite files in a temporary folder, databases of a private PostgreSQL."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Literal

from sqlalchemy import make_url

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))

from postgres_server import GIVEN, PostgresServer, new_database

Kind = Literal["sqlite", "postgresql"]
TITLES: dict[Kind, str] = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}


class Place:
    """A kind of database, and new ones of that kind; they are removed when the place is closed.

    Parameters
    ----------
    kind : {"sqlite", "postgresql"}
        Which.
    server : str, optional
        The URL of the PostgreSQL server.
    """

    def __init__(self, kind: Kind, server: str | None = None) -> None:
        self.kind = kind
        self.title = TITLES[kind]
        self._server = server
        self._made = ExitStack()

    def new(self) -> str:
        """Return the URL of a database that does not exist yet (SQLite) or is empty (PostgreSQL)."""
        if self._server is not None:
            return self._made.enter_context(new_database(self._server))
        folder = self._made.enter_context(tempfile.TemporaryDirectory(prefix="covbandit-benchmark-"))
        return f"sqlite:///{folder}/covbandit.db"

    def close(self) -> None:
        """Remove the databases that were made."""
        self._made.close()


def hasty(url: str) -> str:
    """Return a PostgreSQL URL whose commits do not wait for the disk: for filling only."""
    return (
        make_url(url).update_query_dict({"options": "-c synchronous_commit=off"}).render_as_string(hide_password=False)
    )


def plain(url: str) -> str:
    """Return a PostgreSQL URL as its own library reads it."""
    return make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)


def file_of(url: str) -> str:
    """Return the path in a SQLite URL."""
    return str(make_url(url).database)


@contextmanager
def places(kinds: tuple[Kind, ...]) -> Iterator[list[Place]]:
    """Yield a place of each kind; start a PostgreSQL for as long as it is needed, unless one is given.

    ``COVBANDIT_TEST_POSTGRES`` names one, as in the tests.
    """
    with ExitStack() as stack:
        found = []
        for kind in kinds:
            server = None
            if kind == "postgresql":
                server = GIVEN or stack.enter_context(PostgresServer()).url()
            place = Place(kind, server)
            stack.callback(place.close)
            found.append(place)
        yield found
