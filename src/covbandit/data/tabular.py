"""Tables of every kind that `read_returns` takes, turned into sheets: text, Excel and Parquet files, data frames."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from covbandit.core import validation
from covbandit.core.size_limits import MOST_TABLE_BYTES, in_bytes
from covbandit.data.selection import listed
from covbandit.data.sheet import Sheet, read_bytes, read_csv, require_size
from covbandit.errors import InvalidInput, MissingExtra

_LONGEST = 1_000  # letters of a text that many rows may repeat; neither a number nor a label needs more

_MOST_ROWS = 2**20  # of an Excel sheet
_MOST_PARTS = 10_000  # of an Excel file

TEXT_FILES = (".csv", ".csv.gz", ".tsv", ".tsv.gz")


def as_sheet(source: object, worksheet: str | None = None) -> Sheet:
    """Return the cells of a CSV, Excel or Parquet file, or of a pandas or polars data frame."""
    if isinstance(source, (str, PathLike)):
        path = validation.as_path(source, "source")
        try:
            return _read(path, worksheet)
        except MemoryError:
            raise InvalidInput(f"{path.name} does not fit into the memory of this machine") from None
    if worksheet is not None:
        raise InvalidInput(f"worksheet={worksheet!r} is for Excel files; leave it out")
    frame: Any = source
    if hasattr(frame, "iloc") and hasattr(frame, "columns"):
        return _from_pandas(frame)
    if hasattr(frame, "get_columns"):
        columns = frame.get_columns()
        return Sheet("the data frame", [column.name for column in columns], [column.to_list() for column in columns])
    raise InvalidInput(
        f"returns must be a path or a pandas or polars DataFrame, got {type(source).__name__}; make arrays into "
        "covbandit.data.Returns(values, options)"
    )


def _read(path: Path, worksheet: str | None) -> Sheet:
    name = path.name.lower()
    if name.endswith((".xlsx", ".xlsm")):
        return _read_workbook(path, worksheet)
    if worksheet is not None:
        raise InvalidInput(f"worksheet={worksheet!r} is for Excel files, and {path.name!r} is none; leave it out")
    if name.endswith(TEXT_FILES):
        return read_csv(path)
    if name.endswith((".parquet", ".pq")):
        return _read_parquet(path)
    old = "; save an old .xls file as .xlsx" if name.endswith((".xls", ".xlsb", ".ods")) else ""
    raise InvalidInput(
        f"cannot tell what {path.name!r} is: names must end in .csv, .tsv, .csv.gz, .tsv.gz, .xlsx, "
        f".parquet or .pq{old}"
    )


def _from_pandas(frame: Any) -> Sheet:
    index = frame.index
    name = None if index.name is None else str(index.name)
    ranged = type(index).__name__ == "RangeIndex"
    return Sheet(
        "the data frame",
        [str(column) for column in frame.columns],
        [frame.iloc[:, k].tolist() for k in range(frame.shape[1])],
        labels=_unless_plain(range(index.start, index.stop, index.step), name) if ranged else index.tolist(),
        labels_name=name,
    )


def _unless_plain(labels: range, name: str | None) -> Sequence[object] | None:
    """Return labels, but not a nameless 0, 1, 2, ..., which says nothing about periods."""
    return None if name is None and labels.start == 0 and labels.step == 1 else labels


# Parquet files --------------------------------------------------------------------------------------------------------


def _read_parquet(path: Path) -> Sheet:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtra("Parquet files need pyarrow: pip install 'covbandit[parquet]'") from None
    content = read_bytes(path)
    try:
        file = pq.ParquetFile(pa.BufferReader(content))
        _require_declared_rows(path.name, file.metadata)
        # A long text that every row repeats is stored once; as a dictionary it stays so.
        texts = [field.name for field in file.schema_arrow if pa.types.is_string(field.type)]
        file = pq.ParquetFile(pa.BufferReader(content), read_dictionary=texts)
        flat = [field.name for field in file.schema_arrow if not pa.types.is_nested(field.type)]
        names, n_rows = file.schema_arrow.names, file.metadata.num_rows
        if len(set(names)) < len(names):
            raise InvalidInput(f"{path.name} has two columns of one name among {names}")
        columns: dict[str, list[object]] = {name: [] for name in names}
        read = 0
        for batch in file.iter_batches(columns=flat):
            read += batch.num_rows
            if read > n_rows:
                raise InvalidInput(f"{path.name} is damaged: it has more rows than the {n_rows:,} that it declares")
            for name, column in zip(batch.schema.names, batch.columns, strict=True):
                columns[name].extend(_cells(pa, column))
        for name in set(names) - set(flat):  # lists and the like: no number, and maybe not asked for
            columns[name] = [str(file.schema_arrow.field(name).type)] * n_rows
        kept = (file.schema_arrow.pandas_metadata or {}).get("index_columns", [])
        labels, name = _index_of_pandas(kept[0], columns, n_rows) if len(kept) == 1 else (None, None)
    except InvalidInput:
        raise
    except (pa.ArrowException, OSError, ValueError, LookupError, TypeError, ArithmeticError, RecursionError) as error:
        raise InvalidInput(f"{path.name} is truncated or not a Parquet file: {str(error)[:200]}") from None
    return Sheet(path.name, list(columns), list(columns.values()), labels=labels, labels_name=name)


def _require_declared_rows(source: str, metadata: Any) -> None:
    """Raise if a file declares more than is read, before any of it is unpacked."""
    require_size(source, metadata.num_columns, metadata.num_columns * metadata.num_rows)
    unpacked = sum(metadata.row_group(k).total_byte_size for k in range(metadata.num_row_groups))
    if unpacked > MOST_TABLE_BYTES:
        raise InvalidInput(
            f"{source} unpacks to {in_bytes(unpacked)}; at most {in_bytes(MOST_TABLE_BYTES)} are read of tables"
        )


def _cells(pa: Any, column: Any) -> list[object]:
    if pa.types.is_dictionary(column.type):
        words = [word[:_LONGEST] if isinstance(word, str) else word for word in column.dictionary.to_pylist()]
        return [None if k is None else words[k] for k in column.indices.to_pylist()]
    found: list[object] = column.to_pylist()
    return found


def _index_of_pandas(
    kept: str | dict[str, Any], columns: dict[str, list[object]], n_rows: int
) -> tuple[Sequence[object] | None, str | None]:
    """Return the index that pandas wrote, and its name: a column, taken out here, or a range told in its notes."""
    if isinstance(kept, str):
        return columns.pop(kept, None), None if kept.startswith("__index_level_") else kept
    labels = range(kept["start"], kept["stop"], kept["step"])
    # Other programs pass the notes on after they have filtered the rows.
    return _unless_plain(labels, kept["name"]) if len(labels) == n_rows else None, kept["name"]


# Excel files ----------------------------------------------------------------------------------------------------------


def _read_workbook(path: Path, worksheet: str | None) -> Sheet:
    """Read a sheet of an Excel file: by its name, or the only one that has cells. Formulas count as their results."""
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise MissingExtra("Excel files need openpyxl: pip install 'covbandit[excel]'") from None
    if worksheet is not None and not isinstance(worksheet, str):
        raise InvalidInput(f"worksheet must be the name of a sheet, got {worksheet!r}")
    content = read_bytes(path)
    try:
        _require_declared_parts(path.name, content)
        book = load_workbook(io.BytesIO(content), read_only=True, data_only=True, keep_links=False)
        try:
            return _worksheet(path.name, book, worksheet)
        finally:
            book.close()
    except (InvalidInput, MemoryError):
        raise
    except Exception as error:  # whatever a file that is no workbook makes the library raise
        raise InvalidInput(f"{path.name} is truncated or not an Excel file: {str(error)[:200]}") from None


def _require_declared_parts(source: str, content: bytes) -> None:
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


def _worksheet(source: str, book: Any, worksheet: str | None) -> Sheet:
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
