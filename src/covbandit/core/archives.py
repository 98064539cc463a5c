"""Arrays from NPZ archives that anybody may have written: their declared sizes are checked before room is made."""

from __future__ import annotations

import ast
import struct
import zipfile
import zlib
from math import prod
from types import TracebackType
from typing import IO, Any, Self

import numpy as np
from numpy.typing import NDArray

from covbandit.core.size_limits import MOST_RESULT_BYTES, in_bytes
from covbandit.errors import StateFileError

UNREADABLE = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,  # with RecursionError and NotImplementedError
    SyntaxError,
    TypeError,
    ValueError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)
"""What damaged or hostile archives and documents make Python and its libraries raise."""

_MAGIC = b"\x93NUMPY\x01\x00"  # the version of the format that has room for every header of ours
_TEXT_AT_LEAST = 2**24
_TEXT_PACKED = 200  # times the packed size: text does not shrink as zeros do
_AT_ONCE = 2**20


class Archive:
    """An NPZ archive, of which nothing is read that is not asked for.

    Parameters
    ----------
    file : binary file
        At its beginning.

    Raises
    ------
    StateFileError
        By all methods, if something is not as it should be; and whatever is in `UNREADABLE`.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._archive = zipfile.ZipFile(file)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._archive.close()

    def __contains__(self, name: str) -> bool:
        return f"{name}.npy" in self._archive.namelist()

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape that an array declares."""
        with self._open(name) as file:
            return _header(file)[2]

    def text(self, name: str) -> str:
        """Return a text."""
        packed = self._part(name).compress_size
        return str(self._read(name, (), "U", max(_TEXT_AT_LEAST, _TEXT_PACKED * packed)).item())

    def floats(self, name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Return an array of floats of the given shape."""
        return self._read(name, shape, "f", MOST_RESULT_BYTES)

    def integers(self, name: str, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Return an array of integers of the given shape."""
        return self._read(name, shape, "i", MOST_RESULT_BYTES)

    def _part(self, name: str) -> zipfile.ZipInfo:
        if name not in self:
            raise StateFileError(f"it lacks {name!r}")
        part = self._archive.getinfo(f"{name}.npy")
        if part.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise StateFileError(f"{name!r} is packed in a way that covbandit does not use")
        return part

    def _open(self, name: str) -> IO[bytes]:
        return self._archive.open(self._part(name))

    def _read(self, name: str, shape: tuple[int, ...], kind: str, most: int) -> NDArray[Any]:
        with self._open(name) as file:
            length, dtype, declared, by_columns = _header(file)
            if declared != shape or dtype.kind != kind or (kind in "fi" and dtype.itemsize != 8):
                raise StateFileError(f"{name!r} is an array of {dtype} of shape {declared}, where {shape} belongs")
            size = prod(shape) * dtype.itemsize
            if size > most:
                raise StateFileError(f"{name!r} takes {in_bytes(size)}; at most {in_bytes(most)} are read")
            if self._part(name).file_size != length + size:
                raise StateFileError(f"{name!r} does not hold as much as it declares")
            array: NDArray[Any] = np.empty(prod(shape), dtype)
            room = array.view(np.uint8)
            at = 0
            while at < size:
                part = file.read(min(_AT_ONCE, size - at))
                if not part:
                    raise StateFileError(f"{name!r} is truncated")
                room[at : at + len(part)] = np.frombuffer(part, np.uint8)
                at += len(part)
            file.read(1)  # at the end, the checksum is compared
        return array.reshape(shape[::-1]).T if by_columns else array.reshape(shape)


def _header(file: IO[bytes]) -> tuple[int, np.dtype[Any], tuple[int, ...], bool]:
    """Return the length of the header, and the type, shape and order that it declares."""
    begun = file.read(len(_MAGIC) + 2)
    if len(begun) < len(_MAGIC) + 2 or not begun.startswith(_MAGIC):
        raise StateFileError("it holds something that is no array")
    (length,) = struct.unpack("<H", begun[-2:])
    told = ast.literal_eval(file.read(length).decode("latin-1"))
    if (
        not isinstance(told, dict)
        or set(told) != {"descr", "fortran_order", "shape"}
        or not isinstance(told["descr"], str)
    ):
        raise StateFileError("the header of an array is damaged")
    shape = told["shape"]
    if not isinstance(shape, tuple) or not all(type(size) is int and 0 <= size < 2**62 for size in shape):
        raise StateFileError(f"an array declares the shape {str(shape)[:60]}")
    return len(begun) + length, np.dtype(told["descr"]), shape, told["fortran_order"] is True
