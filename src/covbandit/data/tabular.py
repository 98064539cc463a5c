"""Tables of every kind that `read_returns` takes, turned into sheets."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

from covbandit.data.sheet import Sheet, read_bytes, read_csv
from covbandit.errors import InvalidInput, MissingExtra


def as_sheet(source: object) -> Sheet:
    """Return the cells of a CSV or Parquet file, or of a pandas or polars data frame."""
    if isinstance(source, (str, PathLike)):
        path = Path(source)
        name = path.name.lower()
        if name.endswith((".csv", ".csv.gz")):
            return read_csv(path)
        if name.endswith((".parquet", ".pq")):
            return _read_parquet(path)
        raise InvalidInput(f"cannot tell what {path.name!r} is: names must end in .csv, .csv.gz, .parquet or .pq")
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


def _from_pandas(frame: Any) -> Sheet:
    # A plain 0, 1, 2, ... says nothing about periods.
    counted = type(frame.index).__name__ == "RangeIndex"
    return Sheet(
        "the data frame",
        [str(name) for name in frame.columns],
        [frame.iloc[:, k].tolist() for k in range(frame.shape[1])],
        labels=None if counted else frame.index.tolist(),
    )


def _read_parquet(path: Path) -> Sheet:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtra("Parquet files need pyarrow: pip install 'covbandit[parquet]'") from None
    content = read_bytes(path)
    try:
        table = pq.read_table(pa.BufferReader(content))
        columns = {name: table.column(k).to_pylist() for k, name in enumerate(table.column_names)}
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InvalidInput(f"{path.name} is truncated or not a Parquet file: {error}") from None
    if len(columns) < table.num_columns:
        raise InvalidInput(f"{path.name} has two columns of one name among {table.column_names}")
    # What pandas wrote as an index comes back as a column, and is named in its notes.
    kept = (table.schema.pandas_metadata or {}).get("index_columns", [])
    labels = columns.pop(kept[0], None) if len(kept) == 1 and isinstance(kept[0], str) else None
    return Sheet(path.name, list(columns), list(columns.values()), labels=labels)
