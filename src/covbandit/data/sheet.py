"""A table as it came, before anybody knows what it means: cells, and where each of them stands."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import SupportsFloat

import numpy as np

from covbandit.errors import InvalidInput

MISSING_MARKS = frozenset({"", "na", "n/a", "nan", "null", "none", "<na>", "nat"})
"""What stands for a missing value, in any case of letters."""


@dataclass(frozen=True)
class Sheet:
    """Columns of equal length.

    Attributes
    ----------
    source : str
        The name of the file, or what kind of table it was.
    names : list of str
        Headings.
    columns : list of sequences
        Cells: text, numbers, dates, None.
    labels : sequence or None
        Labels of the rows, where they are kept apart from the columns.
    labels_name : str or None
        The heading of the labels, if they have one.
    lines : sequence of int or None
        The line of a text file on which each row begins.
    """

    source: str
    names: list[str]
    columns: list[Sequence[object]]
    labels: Sequence[object] | None = None
    labels_name: str | None = None
    lines: Sequence[int] | None = None

    def __len__(self) -> int:
        return len(self.columns[0]) if self.columns else 0

    def place(self, row: int, name: str | None = None) -> str:
        """Say where a row, or a cell of it, stands."""
        where = f"row {row + 1}" if self.lines is None else f"line {self.lines[row]}"
        return where if name is None else f"{where}, column {name!r}"


def read_csv(path: Path) -> Sheet:
    """Read a CSV file: comma-separated, UTF-8, one heading per column; gzipped if its name ends in .gz."""
    text = _text(path)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    records: list[list[str]] = []
    lines: list[int] = []
    begun = 1
    try:
        for record in reader:
            if record:  # blank lines separate nothing
                records.append(record)
                lines.append(begun)
            begun = reader.line_num + 1
    except csv.Error as error:
        raise InvalidInput(f"{path.name}, line {begun}: {error}; the file is truncated or not CSV") from None
    if not records:
        raise InvalidInput(f"{path.name} is empty")
    _require_commas(path.name, records)
    header = [name.strip() for name in records[0]]
    for record, line in zip(records[1:], lines[1:], strict=True):
        if len(record) != len(header):
            raise InvalidInput(
                f"{path.name}, line {line}: {len(record)} fields, but the header has {len(header)}; the file is "
                "truncated, or not separated by commas"
            )
    columns: list[Sequence[object]] = [list(column) for column in zip(*records[1:], strict=True)]
    return Sheet(path.name, header, columns or [[] for _ in header], lines=lines[1:])


def _require_commas(source: str, records: list[list[str]]) -> None:
    for mark, name in {";": "semicolons", "\t": "tabs", "|": "vertical bars"}.items():
        if len(records[0]) == 1 and all(mark in ",".join(record) for record in records[:2]):
            raise InvalidInput(
                f"{source} is separated by {name}, not by commas: its header is {records[0][0][:60]!r}; save it with "
                "commas, and numbers with decimal points"
            )


def _text(path: Path) -> str:
    content = read_bytes(path)
    if path.suffix.lower() == ".gz":
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise InvalidInput(f"{path.name} is truncated or not gzip: {error}") from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InvalidInput(
            f"{path.name}, line {line}: byte 0x{content[error.start]:02x} is not UTF-8; save the file as UTF-8"
        ) from None


def read_bytes(path: Path) -> bytes:
    """Return what is in a file."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise InvalidInput(f"cannot read {path}: no such file") from None
    except OSError as error:
        raise InvalidInput(f"cannot read {path}: {error.strerror or error}") from None
    except ValueError as error:  # characters that no file name has
        raise InvalidInput(f"cannot read {str(path)!r}: {error}") from None


def as_number(cell: object) -> float | None:
    """Return a finite number, NaN for a cell that is missing, or None for one that is neither."""
    if cell is None:
        return float("nan")
    if isinstance(cell, (int, float, np.integer, np.floating, Decimal)) and not isinstance(cell, bool):
        return _finite(cell)
    text = str(cell).strip()
    if text.lower() in MISSING_MARKS:
        return float("nan")
    if not isinstance(cell, str) or "_" in text:  # a date, a truth value; float() would read 1_000
        return None
    return _finite(text)


def _finite(value: SupportsFloat | str) -> float | None:
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return None if np.isinf(number) else number
