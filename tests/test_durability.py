"""What was acknowledged has been handed to the disk: file by file, and the names in their folders."""

from __future__ import annotations

import errno
import os
import stat
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import covbandit as cb
from covbandit.core.files import replacing
from covbandit.errors import StateFileError
from covbandit.simulation.engine import Replication
from covbandit.simulation.journal import Journal
from covbandit.simulation.plan import Plan
from covbandit.studies import Store


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is brought to the disk, in order: contents of files with their size, folders, and files that take a name."""
    seen: list[str] = []
    fsync, replace = os.fsync, os.replace

    def watched_fsync(handle: int) -> None:
        found = os.fstat(handle)
        seen.append("folder" if stat.S_ISDIR(found.st_mode) else f"file of {found.st_size} bytes")
        fsync(handle)

    def watched_replace(source: Any, target: Any) -> None:
        seen.append(f"replace {Path(target).name}")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", watched_fsync)
    monkeypatch.setattr(os, "replace", watched_replace)
    return seen


# Files ----------------------------------------------------------------------------------------------------------------


def test_a_file_is_on_the_disk_before_it_takes_its_name_and_the_name_before_the_end(
    tmp_path: Path, synced: list[str]
) -> None:
    with replacing(tmp_path / "result.npz") as file:
        file.write(b"12345")
    assert synced == ["file of 5 bytes", "replace result.npz", "folder"]


def test_the_folder_that_is_synced_is_the_files_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "inner").mkdir()
    seen = []
    fsync = os.fsync

    def watched(handle: int) -> None:
        seen.append(os.fstat(handle).st_ino)
        fsync(handle)

    monkeypatch.setattr(os, "fsync", watched)
    with replacing(tmp_path / "inner" / "a.txt") as file:
        file.write(b"1")
    assert seen[-1] == (tmp_path / "inner").stat().st_ino
    assert seen[0] == (tmp_path / "inner" / "a.txt").stat().st_ino


def test_learners_are_saved_so(tmp_path: Path, synced: list[str]) -> None:
    cb.MCEmpirical(n_options=2, risk_aversion=1.0).save(tmp_path / "learner.json")
    assert [each.partition(" ")[0] for each in synced] == ["file", "replace", "folder"]


@pytest.mark.parametrize(("number", "refused"), [(errno.EINVAL, False), (errno.ENOTSUP, False), (errno.EIO, True)])
def test_a_file_system_that_cannot_sync_folders_is_put_up_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, refused: bool
) -> None:
    fsync = os.fsync

    def failing(handle: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(number, os.strerror(number))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", failing)
    if refused:
        with pytest.raises(StateFileError, match=os.strerror(number)), replacing(tmp_path / "a.txt") as file:
            file.write(b"1")
        with pytest.raises(StateFileError, match=os.strerror(number)):
            Journal(tmp_path / "j.cbj", plan())
    else:
        with replacing(tmp_path / "a.txt") as file:
            file.write(b"1")
        Journal(tmp_path / "j.cbj", plan()).__exit__(None, None, None)
    assert (tmp_path / "a.txt").read_bytes() == b"1"
    assert not list(tmp_path.glob(".a.txt.*"))


# Journals -------------------------------------------------------------------------------------------------------------


def plan() -> Plan:
    learners = {"equal": cb.FixedWeights(n_options=5)}
    found: list[Plan] = []

    def take(self: Journal, path: Any, plan: Plan) -> None:
        found.append(plan)
        raise StateFileError("enough")

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Journal, "__init__", take)
        with pytest.raises(StateFileError, match="enough"):
            cb.simulate(cb.problems.synthetic(), learners, horizon=10, seed=1, replications=2, journal="unused")
    return found[0]


def test_every_replication_is_on_the_disk_when_it_is_added(tmp_path: Path, synced: list[str]) -> None:
    wanted = plan()
    n = len(wanted.checkpoints)
    path = tmp_path / "j.cbj"
    with Journal(path, wanted) as journal:
        assert synced == [f"file of {path.stat().st_size} bytes", "folder"]
        for index in range(3):
            synced.clear()
            journal.add(Replication(index, np.zeros((1, n)), np.zeros((1, n, 5)), ("",)))
            assert synced == [f"file of {path.stat().st_size} bytes"]
    synced.clear()
    with Journal(path, wanted) as journal:
        assert sorted(journal.done) == [0, 1, 2]
    assert synced == []  # reading writes nothing


# Stores ---------------------------------------------------------------------------------------------------------------


def test_every_connection_of_a_sqlite_store_waits_for_the_disk(tmp_path: Path) -> None:
    """``synchronous`` is a setting of the connection: each one in the pool must have it, new and used again."""

    def settings(connection: Any) -> tuple[Any, ...]:
        names = ("synchronous", "journal_mode", "foreign_keys")
        return tuple(connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in names)

    durable = (2, "wal", 1)  # 2 is FULL
    with Store(tmp_path / "s.db", create=True) as store:
        for _ in range(2):
            with store.write() as writing, store.read() as reading, store.read() as also_reading:
                assert [settings(each) for each in (writing, reading, also_reading)] == [durable] * 3
        store.close()
        with store.write() as connection:
            assert settings(connection) == durable
        seen = []

        def elsewhere() -> None:
            with store.read() as connection:
                seen.append(settings(connection))

        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        assert seen == [durable]
    with Store.of_any_schema(tmp_path / "s.db") as store, store.write() as connection:
        assert settings(connection) == durable
