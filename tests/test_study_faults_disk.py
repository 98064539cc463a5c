"""Disks that are full, and stores that cannot be written.

Where the tests may mount file systems, a small and a read-only one are among the ways; the other ways work everywhere.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import covbandit as cb
from covbandit.errors import StoreUnavailable
from covbandit.studies import Study

OPTIONS = ["north", "east", "south"]
OUTCOME = [1.0, 0.5, -0.25]


def mounted(folder: Path, *options: str) -> bool:
    """Mount a file system in memory, or change how it is mounted; return True if that is allowed."""
    if shutil.which("mount") is None:
        return False
    done = subprocess.run(["mount", *options, folder], capture_output=True, check=False)
    return done.returncode == 0


def unmounted(folder: Path) -> None:
    subprocess.run(["umount", folder], check=True)


def may_mount() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        if not mounted(Path(folder), "-t", "tmpfs", "-o", "size=64k", "tmpfs"):
            return False
        unmounted(Path(folder))
    return True


MAY_MOUNT = may_mount()


def new_study(file: Path) -> Study:
    study = cb.Study.create(
        "disk", OPTIONS, cb.MCEmpirical(n_options=3, risk_aversion=1.0), outcome="per_unit", store=file
    )
    for _ in range(3):
        study.tell(study.ask("before").id, OUTCOME)
    return study


def assert_clean(study: Study, told: int) -> None:
    assert study.learner.rounds_told == told == study.summary().told
    verified = study.verify()
    assert verified.exact, verified.message


# Full -----------------------------------------------------------------------------------------------------------------


class Disk:
    """A disk that gets full: where its files are, and how it gets room again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def make_room(self) -> None:
        raise NotImplementedError


class SmallFileSystem(Disk):
    def make_room(self) -> None:
        assert mounted(self.folder, "-o", "remount,size=16m")


class SmallFiles(Disk):
    """No file of this process may grow beyond a limit."""

    def make_room(self) -> None:
        _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


@contextmanager
def small_file_system(folder: Path) -> Iterator[Disk]:
    assert mounted(folder, "-t", "tmpfs", "-o", "size=400k", "tmpfs")
    try:
        yield SmallFileSystem(folder)
    finally:
        unmounted(folder)


@contextmanager
def small_files(folder: Path) -> Iterator[Disk]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (400 << 10, before[1]))
    try:
        yield SmallFiles(folder)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


FULL = [small_files, *([small_file_system] if MAY_MOUNT else [])]


@pytest.mark.parametrize("full_disk", FULL)
def test_a_full_disk_loses_nothing_and_goes_on_once_there_is_room(
    full_disk: Callable[[Path], Any], tmp_path: Path
) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    with full_disk(folder) as disk:
        file = folder / "store.db"
        study = new_study(file)
        acknowledged = {1, 2, 3}
        asked = study.ask("me")
        with pytest.raises(StoreUnavailable) as caught:  # noqa: PT012
            for _ in range(3_000):
                asked = study.ask("me")
                acknowledged.add(study.tell(asked.id, OUTCOME).id)
        assert "full" in str(caught.value)
        assert "make room" in str(caught.value)
        assert not caught.value.retryable
        # Other calls say the same, and reading goes on.
        for call in (lambda: study.ask("you", key="k" * 200), lambda: study.amend(1, [0.0, 0.0, 0.0])):
            with contextlib.suppress(StoreUnavailable):  # there may be room for little things
                call()
        told = {each.id for each in study.rounds(status="told")}
        assert acknowledged <= told
        assert_clean(study, len(told))
        assert_clean(Study.open("disk", study.store), len(told))

        disk.make_room()
        waiting = study.ask("me")
        assert study.tell(waiting.id, OUTCOME).status == "told"
        assert_clean(study, len(told | {waiting.id}))
        assert_clean(Study.open("disk", file), len(told | {waiting.id}))
        assert acknowledged <= {each.id for each in study.rounds(status="told")}
        study.close()
        assert Study.open("disk", study.store).verify().exact
        study.close()


def test_a_store_at_its_size_limit_says_that_it_is_full(tmp_path: Path) -> None:
    """SQLite's own limit on pages ends as a full disk does."""
    study = new_study(tmp_path / "store.db")
    with study.store.read() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages + 1}")
    told = 3
    with pytest.raises(StoreUnavailable, match="cannot grow: the disk is full; make room, then repeat") as caught:  # noqa: PT012
        for _ in range(1_000):
            study.tell(study.ask("me").id, OUTCOME)
            told += 1
    assert not caught.value.retryable
    assert_clean(study, told)
    with study.store.read() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count = 1000000")
    study.tell(study.ask("me").id, OUTCOME)
    assert_clean(study, told + 1)
    study.close()


def test_a_full_disk_refuses_a_new_store(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8 << 10, before[1]))
    try:
        with pytest.raises(StoreUnavailable, match="full") as caught:
            new_study(tmp_path / "store.db")
        assert not caught.value.retryable
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    study = new_study(tmp_path / "store.db")
    assert_clean(study, 3)
    study.close()


# Read-only ------------------------------------------------------------------------------------------------------------


@contextmanager
def unprivileged() -> Iterator[None]:
    """Do without the rights of root, for whom no file is read-only."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(pwd.getpwnam("nobody").pw_uid)
    try:
        yield
    finally:
        os.seteuid(0)


@contextmanager
def folder_for_all() -> Iterator[Path]:
    """A folder that others may reach, unlike those that pytest makes."""
    with tempfile.TemporaryDirectory() as made:
        os.chmod(made, 0o777)
        yield Path(made)


@contextmanager
def read_only_file(file: Path) -> Iterator[None]:
    file.chmod(0o444)
    with unprivileged():
        yield
    for each in file.parent.iterdir():  # SQLite gives the files that it makes beside the store the store's own rights
        each.chmod(0o666)


@contextmanager
def read_only_folder(file: Path) -> Iterator[None]:
    file.parent.chmod(0o555)
    file.chmod(0o444)
    with unprivileged():
        yield
    file.parent.chmod(0o777)
    file.chmod(0o666)


@contextmanager
def unreadable_file(file: Path) -> Iterator[None]:
    file.chmod(0o000)
    with unprivileged():
        yield
    file.chmod(0o666)


@contextmanager
def read_only_file_system(file: Path) -> Iterator[None]:
    assert mounted(file.parent, "-o", "remount,ro")
    yield
    assert mounted(file.parent, "-o", "remount,rw")


READ_ONLY = [read_only_file, read_only_folder, unreadable_file, *([read_only_file_system] if MAY_MOUNT else [])]


@pytest.mark.parametrize("read_only", READ_ONLY)
def test_a_store_that_may_not_be_written_says_so_and_goes_on_later(read_only: Callable[[Path], Any]) -> None:
    with folder_for_all() as folder, contextlib.ExitStack() as at_the_end:
        if read_only is read_only_file_system:
            assert mounted(folder, "-t", "tmpfs", "-o", "size=16m", "tmpfs")
            at_the_end.callback(unmounted, folder)
        file = folder / "store.db"
        study = new_study(file)
        asked = study.ask("me")
        assert_clean(study, 3)
        study.close()
        before = file.read_bytes()
        with read_only(file):
            for call in (
                lambda: study.tell(asked.id, OUTCOME),
                lambda: study.ask("you"),
                lambda: study.amend(1, [0.0, 0.0, 0.0]),
                lambda: Study.create("new", OPTIONS, cb.LinearFI(n_options=3), "per_unit", store=file),
            ):
                with pytest.raises(StoreUnavailable) as caught:
                    call()
                assert "may be written" in str(caught.value) or "is read-only; let" in str(caught.value)
                assert not caught.value.retryable
            if read_only is read_only_file:
                assert study.round(asked.id).status == "open"  # reading is allowed
            study.close()
        assert file.read_bytes() == before
        assert study.tell(asked.id, OUTCOME).status == "told"
        assert_clean(study, 4)
        study.close()


def test_a_folder_that_may_not_be_written_refuses_a_new_store() -> None:
    with folder_for_all() as folder:
        folder.chmod(0o555)
        with unprivileged(), pytest.raises(StoreUnavailable, match="may be written") as caught:
            new_study(folder / "store.db")
        assert not caught.value.retryable
        assert list(folder.iterdir()) == []
        folder.chmod(0o777)
        study = new_study(folder / "store.db")
        assert_clean(study, 3)
        study.close()
