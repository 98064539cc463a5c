"""A study's rounds as CSV, Parquet or JSON."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from covbandit.core import validation
from covbandit.core.files import replacing
from covbandit.core.tables import Table
from covbandit.errors import InvalidInput, MissingExtra
from covbandit.studies.records import Change, Round, StudySummary, as_iso

Format = Literal["csv", "json", "parquet"]
FORMATS = ("csv", "json", "parquet")

_PLAIN = (
    "id", "source", "status", "client", "key", "asked_at", "expires", "told_at", "late", "amendments", "outstanding",
)  # fmt: skip


def as_format(format_: object, path: object = None) -> Format:
    """Return the format that is named, or that the ending of a path tells."""
    if format_ is None and path is not None:
        format_ = validation.as_path(path, "path").suffix.removeprefix(".").lower()
    if format_ is None:
        format_ = "csv"
    if format_ not in FORMATS:
        raise InvalidInput(f'format must be "csv", "json" or "parquet", got {format_!r}')
    return format_  # type: ignore[return-value]


def table_of(found: Sequence[Round], options: Sequence[str], total: bool) -> Table:
    """Return one row per round with the latest outcome of each; what is not known is empty."""
    columns = [*_PLAIN]
    columns += [f"weight[{name}]" for name in options] + [f"played[{name}]" for name in options]
    columns += ["outcome"] if total else [f"outcome[{name}]" for name in options]
    columns += ["reward"]
    rows = []
    for each in found:
        row: list[Any] = [getattr(each, name) for name in _PLAIN]
        row = [as_iso(value) if hasattr(value, "isoformat") else value for value in row]
        row += [each.weights.get(name) for name in options]
        row += [(each.played or {}).get(name) for name in options]
        row += [each.outcome] if total else [(each.outcome or {}).get(name) for name in options]  # type: ignore[union-attr]
        rows.append([*row, each.reward])
    return Table(columns, rows)


def document_of(
    summary: StudySummary,
    configuration: dict[str, Any],
    found: Sequence[Round],
    tells: Sequence[dict[str, Any]],
    changes: Sequence[Change],
) -> dict[str, Any]:
    """Return everything there is: configuration, rounds, every outcome ever told in order, and changes."""
    return {
        "format": "covbandit-study",
        "version": 1,
        "study": summary.to_dict(),
        "configuration": configuration,
        "rounds": [each.to_dict() for each in found],
        "tells": list(tells),
        "changes": [each.to_dict() for each in changes],
    }


def as_bytes(table: Table) -> bytes:
    """Return a table as a Parquet file."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtra("Parquet files need pyarrow: pip install 'covbandit[parquet]'") from None
    buffer = io.BytesIO()
    parquet.write_table(pyarrow.table(table.to_dict()), buffer)
    return buffer.getvalue()


def written(content: Table | dict[str, Any], format_: Format) -> bytes:
    """Return the file's content."""
    if isinstance(content, dict):
        return json.dumps(content, indent=1, ensure_ascii=False).encode()
    return as_bytes(content) if format_ == "parquet" else content.to_csv().encode()


def keep(content: bytes, path: str | Path) -> None:
    """Write a file, all of it or nothing."""
    with replacing(validation.as_path(path, "path")) as file:
        file.write(content)
