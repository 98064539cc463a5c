"""Tables of every kind that `read_returns` takes, turned into sheets."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from covbandit.core import validation
from covbandit.core.size_limits import MOST_TABLE_BYTES, in_bytes
from covbandit.data.sheet import Sheet, read_bytes, read_csv, require_size
from covbandit.data.workbook import read_workbook
from covbandit.errors import InvalidInput, MissingExtra

_LONGEST = 1_000  # letters of a text that many rows may repeat; neither a number nor a label needs more

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
        return read_workbook(path, worksheet)
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


def _read_parquet(path: Path) -> Sheet:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtra("Parquet files need pyarrow: pip install 'covbandit[parquet]'") from None
    content = read_bytes(path)
    try:
        file = pq.ParquetFile(pa.BufferReader(content))
        _require_declared(path.name, file.metadata)
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


def _require_declared(source: str, metadata: Any) -> None:
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
