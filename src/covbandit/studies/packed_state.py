"""A learner's statistics as bytes.

Layout, all numbers little-endian::

    "CBS1"                  4 bytes, the format and its version
    checksum                8 bytes, BLAKE2b of all that follows
    length of the header    4 bytes, unsigned
    header                  JSON: {"told": rounds told, "arrays": [[name, shape], ...], "statistics": {...}}
    arrays                  float64, one after the other in the header's order, C order

``statistics`` is what a learner in plain Python keeps, as in the files of `Learner.save`. Everything is data: reading
it runs no code.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import struct
from functools import cache
from math import prod
from typing import Any

import numpy as np

from covbandit._version import __version__
from covbandit.core.archives import UNREADABLE
from covbandit.core.size_limits import MOST_ROUNDS, as_limited
from covbandit.errors import StateFileError
from covbandit.learners import Learner
from covbandit.learners.protocol.serialization import from_plain, restore_snapshot, to_plain

_MAGIC = b"CBS1"
_LENGTH = struct.Struct("<I")
_DIGEST = 8


def new_id() -> str:
    """Return a random id that no other state has."""
    return os.urandom(16).hex()


def pack(learner: Learner) -> bytes:
    """Return everything that a learner has learned, as bytes."""
    told, arrays, statistics = learner._snapshot()
    header = json.dumps(
        {
            "told": told,
            "arrays": [[name, list(array.shape)] for name, array in arrays.items()],
            "statistics": to_plain(statistics),
        },
        separators=(",", ":"),
    ).encode()
    body = b"".join([_LENGTH.pack(len(header)), header, *(array.astype("<f8").tobytes() for array in arrays.values())])
    return _MAGIC + _checksum(body) + body


def unpack(state: bytes, learner: Learner) -> None:
    """Give what `pack` returned to a fresh learner of the same configuration.

    Raises
    ------
    StateFileError
        If it is damaged, or not this learner's.
    """
    told, arrays, statistics = read(state)
    try:
        restore_snapshot(learner, told, arrays, statistics)
    except UNREADABLE as error:
        raise StateFileError(f"the stored statistics do not fit {type(learner).__name__}: {error}") from None


def read(state: bytes) -> tuple[int, dict[str, Any], dict[str, Any]]:
    """Return rounds told, arrays by name and plain statistics.

    Raises
    ------
    StateFileError
        If the bytes are damaged.
    """
    start = len(_MAGIC) + _DIGEST
    body = state[start:]
    if state[: len(_MAGIC)] != _MAGIC or state[len(_MAGIC) : start] != _checksum(body):
        raise StateFileError("the stored statistics are damaged: their checksum does not match")
    try:
        (length,) = _LENGTH.unpack_from(body)
        header = json.loads(body[_LENGTH.size : _LENGTH.size + length])
        at = _LENGTH.size + length
        arrays = {}
        for name, shape in header["arrays"]:
            size = prod(as_limited(each, "shape", 0, len(body)) for each in shape)
            arrays[name] = np.frombuffer(body, "<f8", size, at).astype(np.float64).reshape(shape)
            at += 8 * size
        return as_limited(header["told"], "rounds told", 0, MOST_ROUNDS), arrays, from_plain(header["statistics"])
    except UNREADABLE as error:
        raise StateFileError(f"the stored statistics are damaged: {str(error)[:200]}") from None


def _checksum(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=_DIGEST).digest()


@cache
def versions() -> dict[str, str]:
    """Return what numbers depend on to the last bit: the software, and the processor it is compiled for."""
    import llvmlite.binding
    import numba

    return {
        "covbandit": __version__,
        "numpy": np.__version__,
        "numba": numba.__version__,
        "machine": platform.machine(),
        "processor": str(llvmlite.binding.get_host_cpu_name()),
    }
