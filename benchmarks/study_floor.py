"""The floor under a round: two durable writes, one for the ask and one for the tell."""

from __future__ import annotations

import time

from study_bare import SyncedFile, connect, prepare
from study_places import Place, plain


class Floor:
    """Takes its turn beside what is timed.

    Parameters
    ----------
    place : Place
        On which kind of database.

    Attributes
    ----------
    disk, bare : list of float
        Seconds for two blocks of 4 KiB written and synced, and for two bare one-row transactions.
    """

    def __init__(self, place: Place) -> None:
        url = place.new()
        url = url if place.kind == "sqlite" else plain(url)
        prepare(url)
        self._transact = connect(url)
        self._file = SyncedFile()
        self.disk: list[float] = []
        self.bare: list[float] = []

    def take_turn(self) -> None:
        """Time both once."""
        self.disk.append(self._file.write() + self._file.write())
        begun = time.perf_counter()
        self._transact()
        self._transact()
        self.bare.append(time.perf_counter() - begun)

    def close(self) -> None:
        """Remove the file."""
        self._file.close()
