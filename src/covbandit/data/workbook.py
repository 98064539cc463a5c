"""Excel files, turned into sheets."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from covbandit.core.size_limits import MOST_TABLE_BYTES, in_bytes
from covbandit.data.names import listed
from covbandit.data.sheet import Sheet, read_bytes, require_size
from covbandit.errors import InvalidInput, MissingExtra

_MOST_ROWS = 2**20  # of an Excel sheet
_MOST_PARTS = 10_000


def read_workbook(path: Path, worksheet: str | None) -> Sheet:
    """Read a sheet of an Excel file: by its name, or the only one that has cells. Formulas count as their results."""
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise MissingExtra("Excel files need openpyxl: pip install 'covbandit[excel]'") from None
    if worksheet is not None and not isinstance(worksheet, str):
        raise InvalidInput(f"worksheet must be the name of a sheet, got {worksheet!r}")
    content = read_bytes(path)
    try:
        _require_declared(path.name, content)
        book = load_workbook(io.BytesIO(content), read_only=True, data_only=True, keep_links=False)
        try:
            return _sheet(path.name, book, worksheet)
        finally:
            book.close()
    except (InvalidInput, MemoryError):
        raise
    except Exception as error:  # whatever a file that is no workbook makes the library raise
        raise InvalidInput(f"{path.name} is truncated or not an Excel file: {str(error)[:200]}") from None


def _require_declared(source: str, content: bytes) -> None:
    """Raise if the archive declares more than is read, before any of it is unpacked."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = archive.infolist()
        unpacked = sum(part.file_size for part in parts)
        if any(part.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for part in parts):
            raise InvalidInput(f"{source} is packed in a way that Excel does not use")
    if unpacked > MOST_TABLE_BYTES or len(parts) > _MOST_PARTS:
        raise InvalidInput(
            f"{source} unpacks to {in_bytes(unpacked)} in {len(parts):,} parts; at most "
            f"{in_bytes(MOST_TABLE_BYTES)} are read of tables"
        )


def _sheet(source: str, book: Any, worksheet: str | None) -> Sheet:
    names = [sheet.title for sheet in book.worksheets]
    if worksheet is not None:
        if worksheet not in names:
            raise InvalidInput(f"{source} has no sheet {worksheet!r}; there are {listed(names)}")
        wanted = worksheet
    else:
        filled = [sheet.title for sheet in book.worksheets if next(_rows(source, sheet), None) is not None]
        if len(filled) > 1:
            raise InvalidInput(
                f"{source} has several sheets with cells, {listed(filled)}; say which: worksheet={filled[0]!r}"
            )
        if not filled:
            raise InvalidInput(f"{source} is empty")
        wanted = filled[0]
    found = list(_rows(source, book[wanted]))
    if not found:
        raise InvalidInput(f"{source}, sheet {wanted!r} is empty")
    width = max(len(row) for _, row in found)
    require_size(source, width, width * len(found))
    rows = [[*row, *[None] * (width - len(row))] for _, row in found]
    header = ["" if cell is None else _heading(cell) for cell in rows[0]]
    columns: list[Sequence[object]] = [[row[k] for row in rows[1:]] for k in range(width)]
    return Sheet(source, header, columns, lines=[number for number, _ in found[1:]])


def _heading(cell: object) -> str:
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell).strip()


def _rows(source: str, sheet: Any) -> Iterator[tuple[int, list[object]]]:
    """Return the rows that are not blank, without blank cells at their ends, and their numbers."""
    sheet.reset_dimensions()  # what a file says of its size may be wrong
    n_cells = 0
    for number, row in enumerate(sheet.iter_rows(values_only=True), 1):
        if number > _MOST_ROWS:
            raise InvalidInput(f"{source} has more than {_MOST_ROWS:,} rows, the most that an Excel sheet has")
        cells = list(row)
        while cells and cells[-1] is None:
            cells.pop()
        n_cells += len(cells)
        require_size(source, len(cells), n_cells)
        if cells:
            yield number, cells
