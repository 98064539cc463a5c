"""Finished replications on disk, appended one by one: what was computed outlives Ctrl-C, a crash and kill -9.

A line that names the format, then records, each a length, a checksum and so many bytes. The first is a header in JSON,
which says which simulation the others belong to; every other holds one replication as an NPZ archive. A torn record at
the end, all that a killed process can leave behind, is cut off when the file is opened again.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from contextlib import suppress
from io import BytesIO, FileIO
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from covbandit.core.archives import UNREADABLE, Archive
from covbandit.core.files import sync_folder
from covbandit.core.size_limits import MOST_ROUNDS, as_limited
from covbandit.errors import InvalidInput, StateFileError
from covbandit.simulation.engine import Replication
from covbandit.simulation.locking import hold
from covbandit.simulation.plan import Plan, difference, versions

_FORMAT = b"covbandit journal 1\n"
_PREFIX = struct.Struct("<QI")


class Journal:
    """The finished replications of one simulation, in a file that grows as they finish.

    Parameters
    ----------
    path : str or Path
        Created if it does not exist. A file of another simulation, or one written by other versions of the software
        (which may differ in the last bits), is refused and left as it is.
    plan : Plan
        The simulation.
    """

    def __init__(self, path: str | Path, plan: Plan) -> None:
        self.path = Path(path)
        self.done: dict[int, Replication] = {}
        try:
            # Unbuffered: what a full disk refused must not be written again, behind our back, when the file is closed.
            self._file = self.path.open("r+b" if self.path.exists() else "x+b", buffering=0)
        except OSError as error:
            raise StateFileError(f"cannot write {self.path}: {error.strerror or error}") from None
        self._end = 0
        try:
            hold(self._file, str(self.path))
            self._read(plan)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._file.close()

    def _read(self, plan: Plan) -> None:
        header = _read_header(self._file, self.path)
        if header is None:  # new, or killed before its header was written
            self._write(_FORMAT + _as_record(json.dumps(_header(plan)).encode()))
            self._sync_name()
            return
        _require_same(self.path, header, plan)
        self._end = self._file.tell()
        while (record := _next_record(self._file)) is not None:
            replication = _unpack(record, plan, self.path)
            self.done[replication.index] = replication
            self._end = self._file.tell()

    def add(self, replication: Replication) -> None:
        """Append a replication; when this returns it is on disk."""
        buffer = BytesIO()
        np.savez(
            buffer,
            index=np.int64(replication.index),
            regret=replication.regret,
            weights=replication.weights,
            doubts=np.array(json.dumps(replication.doubts)),
        )
        self._write(_as_record(buffer.getvalue()))
        self.done[replication.index] = replication

    def _write(self, content: bytes) -> None:
        """Write behind the last whole record, all of it or nothing."""
        try:
            self._file.seek(self._end)
            self._file.truncate()
            rest = memoryview(content)
            while rest:
                rest = rest[self._file.write(rest) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            with suppress(OSError):
                self._file.truncate(self._end)
            raise StateFileError(f"cannot write {self.path}: {error.strerror or error}") from None
        self._end += len(content)

    def _sync_name(self) -> None:
        """Let a new file be there after a power cut, with what it holds."""
        try:
            sync_folder(self.path.parent)
        except OSError as error:
            raise StateFileError(f"cannot write {self.path}: {error.strerror or error}") from None


def specification_in(path: Path) -> dict[str, Any]:
    """Return which simulation a journal belongs to."""
    try:
        with path.open("rb", buffering=0) as file:
            header = _read_header(file, path)
    except OSError as error:
        raise StateFileError(f"cannot read {path}: {error.strerror or error}") from None
    if header is None:
        raise StateFileError(f"{path} has no header yet")
    return dict(header["specification"])


def _read_header(file: FileIO, path: Path) -> dict[str, Any] | None:
    """Return the header, or None if it is not there or torn."""
    begun = file.read(len(_FORMAT))
    if not _FORMAT.startswith(begun):
        raise StateFileError(f"{path} is not a journal that this covbandit reads: choose another file")
    record = _next_record(file)
    if record is None:
        return None
    try:
        header = json.loads(record)
        if not isinstance(header["specification"], dict) or not isinstance(header["versions"], dict):
            raise TypeError
    except UNREADABLE:
        raise StateFileError(f"{path} is damaged: its header is none of a journal; choose another file") from None
    return dict(header)


def _header(plan: Plan) -> dict[str, Any]:
    return {"specification": plan.specification(), "versions": versions()}


def _as_record(payload: bytes) -> bytes:
    return _PREFIX.pack(len(payload), zlib.crc32(payload)) + payload


def _next_record(file: FileIO) -> bytes | None:
    """Return the next record, or None where the file ends or is torn."""
    prefix = file.read(_PREFIX.size)
    if len(prefix) < _PREFIX.size:
        return None
    length, checksum = _PREFIX.unpack(prefix)
    if length > os.fstat(file.fileno()).st_size:
        return None
    payload = file.read(length)
    return payload if len(payload) == length and zlib.crc32(payload) == checksum else None


def _require_same(path: Path, header: dict[str, Any], plan: Plan) -> None:
    differs = difference(header["specification"], plan.specification())
    if differs:
        raise InvalidInput(f"the replications in {path} belong to another simulation: {differs}; choose another file")
    changed = difference(header["versions"], versions())
    if changed:
        raise InvalidInput(
            f"the replications in {path} were computed by other software, whose last bits may differ: {changed}; "
            "choose another file"
        )


def _unpack(record: bytes, plan: Plan, path: Path) -> Replication:
    """Return a replication; one that does not have the shapes of the plan is refused before room is made."""
    options = next(iter(plan.learners.values())).n_options
    shape = (len(plan.learners), len(plan.checkpoints))
    try:
        with Archive(BytesIO(record)) as stored:
            index = as_limited(int(stored.integers("index", ())), "replication", 0, MOST_ROUNDS)
            doubts = json.loads(stored.text("doubts"))
            if not isinstance(doubts, list) or not all(doubt is None or isinstance(doubt, str) for doubt in doubts):
                raise StateFileError("the doubts of a replication are no texts")
            return Replication(
                index, stored.floats("regret", shape), stored.floats("weights", (*shape, options)), tuple(doubts)
            )
    except UNREADABLE as error:
        cause = str(error)[:200] or type(error).__name__
        raise StateFileError(f"{path} is damaged: {cause}; choose another file") from None
