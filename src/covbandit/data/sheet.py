"""A table as it came, before anybody knows what it means: cells, and where each of them stands."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import os
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import SupportsFloat

import numpy as np

from covbandit.core.csv_cells import unmarked
from covbandit.core.files import why_not_opened
from covbandit.core.size_limits import MOST_CELLS, MOST_COLUMNS, MOST_TABLE_BYTES, in_bytes
from covbandit.errors import InvalidInput

MISSING_MARKS = frozenset({"", "na", "n/a", "#n/a", "nan", "null", "none", "<na>", "nat"})
"""What stands for a missing value, in any case of letters."""

_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs"}
_LOOKED_AT = 1_000  # records, to find out what separates cells


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
    delimiter : str or None
        What separates the cells of a text file.
    """

    source: str
    names: list[str]
    columns: list[Sequence[object]]
    labels: Sequence[object] | None = None
    labels_name: str | None = None
    lines: Sequence[int] | None = None
    delimiter: str | None = None

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: k for k, name in reversed(list(enumerate(self.names)))}

    def position(self, name: str) -> int:
        """Return which column has a name, the first if several have it."""
        return self._positions[name]

    def __len__(self) -> int:
        return len(self.columns[0]) if self.columns else 0

    def place(self, row: int, name: str | None = None) -> str:
        """Say where a row, or a cell of it, stands."""
        where = f"row {row + 1}" if self.lines is None else f"line {self.lines[row]}"
        return where if name is None else f"{where}, column {name!r}"


def read_csv(path: Path) -> Sheet:
    """Read a CSV file: UTF-8, one heading per column; gzipped if its name ends in .gz.

    It is separated by commas, semicolons or tabs. Apostrophes that `Table.to_csv` puts before text are taken off.
    """
    content = _content(path)
    delimiter, skipped = _delimiter(path.name, content)
    records: list[list[str]] = []
    lines: list[int] = []
    n_cells = 0
    for line, record in _records(path.name, content, delimiter):
        if line <= skipped:
            continue
        n_cells += len(record)
        require_size(path.name, len(record), n_cells)
        records.append([unmarked(cell) for cell in record])
        lines.append(line)
    if not records:
        raise InvalidInput(f"{path.name} is empty")
    _require_columns(path.name, records)
    header = [name.strip() for name in records[0]]
    for record, line in zip(records[1:], lines[1:], strict=True):
        if len(record) != len(header):
            raise InvalidInput(
                f"{path.name}, line {line}: {len(record)} fields, but the header has {len(header)}; the file is "
                f"truncated, or not separated by {_DELIMITERS[delimiter]}"
            )
    columns: list[Sequence[object]] = [list(column) for column in zip(*records[1:], strict=True)]
    return Sheet(path.name, header, columns or [[] for _ in header], lines=lines[1:], delimiter=delimiter)


def require_size(source: str, n_columns: int, n_cells: int) -> None:
    """Raise if a table is larger than any that is meant."""
    if n_columns > MOST_COLUMNS:
        raise InvalidInput(f"{source} has {n_columns:,} columns; at most {MOST_COLUMNS:,} are read")
    if n_cells > MOST_CELLS:
        raise InvalidInput(f"{source} has more than {MOST_CELLS:,} cells, which is the most that is read; split it")


def _records(source: str, content: bytes, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Return the records that are not blank, and the line on which each begins."""
    text = io.TextIOWrapper(io.BytesIO(content), encoding="utf-8-sig", newline="")
    reader = csv.reader(text, strict=True, delimiter=delimiter)
    begun = 1
    try:
        for record in reader:
            if record:  # blank lines separate nothing
                yield begun, record
            begun = reader.line_num + 1
    except csv.Error as error:
        raise InvalidInput(f"{source}, line {begun}: {error}; the file is truncated or not CSV") from None


def _delimiter(source: str, content: bytes) -> tuple[str, int]:
    """Return what separates cells, and how many lines at the top only say so."""
    said = re.match(rb"(?:\xef\xbb\xbf)?\"?sep=([,;\t])\"?\r?\n", content)  # as spreadsheets want it
    if said:
        return said[1].decode(), 1
    fields: dict[str, int] = {}
    for mark in _DELIMITERS:
        with suppress(InvalidInput):
            fields[mark] = len(next(_records(source, content, mark), (0, []))[1])
    several = [mark for mark, count in fields.items() if count > 1]
    if len(several) > 1:
        even = [mark for mark in several if _is_even(source, content, mark, fields[mark])]
        if len(even) > 1:
            raise InvalidInput(
                f"{source} may be separated by {_DELIMITERS[even[0]]} ({fields[even[0]]} columns) or by "
                f"{_DELIMITERS[even[1]]} ({fields[even[1]]} columns); put quotation marks round cells that have either"
            )
        several = even
    return (several or [","])[0], 0


def _is_even(source: str, content: bytes, delimiter: str, n_fields: int) -> bool:
    """Return True if the first rows have as many cells as the header."""
    try:
        return all(len(record) == n_fields for _, record in islice(_records(source, content, delimiter), _LOOKED_AT))
    except InvalidInput:
        return False


def _require_columns(source: str, records: list[list[str]]) -> None:
    if len(records[0]) == 1 and all("|" in record[0] for record in records[:2]):
        raise InvalidInput(
            f"{source} is separated by vertical bars: its header is {records[0][0][:60]!r}; save it with commas, "
            "semicolons or tabs"
        )


def _content(path: Path) -> bytes:
    """Return the text of a file, unpacked, as UTF-8."""
    content = read_bytes(path)
    if path.suffix.lower() == ".gz":
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(content)) as packed:
                content = packed.read(MOST_TABLE_BYTES + 1)
        except (OSError, EOFError, zlib.error) as error:
            raise InvalidInput(f"{path.name} is truncated or not gzip: {error}") from None
        if len(content) > MOST_TABLE_BYTES:
            raise InvalidInput(f"{path.name} unpacks to more than {in_bytes(MOST_TABLE_BYTES)}, the most that is read")
    try:
        if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):  # a spreadsheet's "Unicode text"
            return content.decode("utf-16").encode()
        content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InvalidInput(
            f"{path.name}, line {line}: byte 0x{content[error.start]:02x} is not UTF-8; save the file as UTF-8"
        ) from None
    return content


def read_bytes(path: Path, most: int = MOST_TABLE_BYTES) -> bytes:
    """Return what is in a file, if it is not larger than what is read of its kind."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            content = b"" if size > most else file.read() if path.is_file() else file.read(most + 1)
    except FileNotFoundError:
        raise InvalidInput(f"cannot read {path}: no such file") from None
    except OSError as error:
        raise InvalidInput(f"cannot read {path}: {error.strerror or error}") from None
    except ValueError as error:  # characters that no file name has
        raise InvalidInput(f"cannot read {str(path)!r}: {why_not_opened(error)}") from None
    if max(size, len(content)) > most:
        raise InvalidInput(f"{path.name} has more than {in_bytes(most)}, the most that is read of such files")
    return content


def cell_number(cell: object) -> float | None:
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
