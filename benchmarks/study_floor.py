"""The floor under a round: two durable writes, one for the ask and one for the tell."""

from __future__ import annotations

from process_time import server_clock
from study_bare import SyncedFile, connect, prepare
from study_places import Place, plain
from study_rounds import costing


class Floor:
    """Takes its turn beside what is timed.

    Parameters
    ----------
    place : Place
        On which kind of database.

    Attributes
    ----------
    bare : list of float
        CPU seconds of two bare one-row transactions, the database's own included.
    disk : list of float
        Seconds by the clock for two blocks of 4 KiB written and synced.
    """

    def __init__(self, place: Place) -> None:
        url = place.new()
        url = url if place.kind == "sqlite" else plain(url)
        prepare(url)
        self._transact = connect(url)
        self._server = server_clock(url)
        self._file = SyncedFile()
        self.disk: list[float] = []
        self.bare: list[float] = []

    def take_turn(self) -> None:
        """Time both once."""
        self.disk.append(self._file.write() + self._file.write())
        self.bare.append(costing(self._server, self._transact, self._transact).cpu)

    def close(self) -> None:
        """Remove the file."""
        self._file.close()
