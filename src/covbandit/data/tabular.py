"""Tables of every kind that `read_returns` takes, turned into sheets."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from covbandit import validation
from covbandit.data.sheet import Sheet, read_bytes, read_csv
from covbandit.errors import InvalidInput, MissingExtra


def as_sheet(source: object) -> Sheet:
    """Return the cells of a CSV or Parquet file, or of a pandas or polars data frame."""
    if isinstance(source, (str, PathLike)):
        path = validation.as_path(source, "source")
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
        table = pq.read_table(pa.BufferReader(content))
        columns = {name: table.column(k).to_pylist() for k, name in enumerate(table.column_names)}
        kept = (table.schema.pandas_metadata or {}).get("index_columns", [])
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InvalidInput(f"{path.name} is truncated or not a Parquet file: {error}") from None
    if len(columns) < table.num_columns:
        raise InvalidInput(f"{path.name} has two columns of one name among {table.column_names}")
    labels, name = _index_of_pandas(kept[0], columns, table.num_rows) if len(kept) == 1 else (None, None)
    return Sheet(path.name, list(columns), list(columns.values()), labels=labels, labels_name=name)


def _index_of_pandas(
    kept: str | dict[str, Any], columns: dict[str, list[object]], n_rows: int
) -> tuple[Sequence[object] | None, str | None]:
    """Return the index that pandas wrote, and its name: a column, taken out here, or a range told in its notes."""
    if isinstance(kept, str):
        return columns.pop(kept, None), None if kept.startswith("__index_level_") else kept
    labels = range(kept["start"], kept["stop"], kept["step"])
    # Other programs pass the notes on after they have filtered the rows.
    return _unless_plain(labels, kept["name"]) if len(labels) == n_rows else None, kept["name"]
