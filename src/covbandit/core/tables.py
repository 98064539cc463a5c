"""A small table: prints well, and turns into a dictionary, a data frame, CSV, Parquet, Markdown or LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from covbandit.core.csv_cells import marked
from covbandit.core.files import replacing
from covbandit.errors import MissingExtra

if TYPE_CHECKING:
    import pandas as pd


_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "±": r"$\pm$",
        **{letter: f"\\{letter}" for letter in "&%$#_{}"},
        # At the beginning of a row they would be read as arguments of the rule or of the \\ before it.
        **{letter: f"{{{letter}}}" for letter in "[]*"},
    }
)


_PLAIN = (1e-4, 1e15)  # sizes of numbers that are written without an exponent
_EXACT = 1e-12  # relative; a number that is this near to its shorter form is written in it


def as_number(value: float, digits: int = 4, decimals: int = 0) -> str:
    """Return a number as people read it: every table and message of the package writes numbers by this function.

    Numbers of ordinary size have no exponent, all digits before the point, and commas between thousands. Zeros at the
    end say that a number was rounded there: what is exactly 5.5 is written 5.5, what is 5.5003 is written 5.500.

    Parameters
    ----------
    value : float
        What to write.
    digits : int
        Significant digits, at least.
    decimals : int
        Decimals of numbers of 1 and more, at least: 2 for amounts of money, which keep their cents.

    Examples
    --------
    >>> as_number(12_274.6), as_number(1234.5678, 6), as_number(0.1 + 0.2), as_number(1e-7)
    ('12,275', '1,234.57', '0.3', '1e-07')
    """
    if value == 0:
        return "0"
    if not _PLAIN[0] <= abs(value) < _PLAIN[1]:  # NaN and infinity too
        return f"{value:.{digits}g}"
    exponent = int(f"{value:.{digits - 1}e}".partition("e")[2])  # of the rounded number: 9.9996 is 10.00
    places = max(digits - 1 - exponent, decimals if abs(value) >= 1 else 0, 0)
    text = f"{value:,.{places}f}"
    if "." in text:
        shorter = text.rstrip("0").rstrip(".")
        if abs(float(shorter.replace(",", "")) - value) <= _EXACT * abs(value):
            return shorter
    return text


def with_error(value: float, error: float | None) -> str:
    """Return a number with its error, which has two digits, and the number as many decimals.

    Examples
    --------
    >>> with_error(34.8976, 5.3091), with_error(12_274.6, 312.4), with_error(1.5, None)
    ('34.9 ± 5.3', '12,275 ± 312', '1.5 ± -')
    """
    if error is None or not _PLAIN[0] <= abs(error) < _PLAIN[1] or abs(value) >= _PLAIN[1]:
        return f"{as_number(value)} ± {'-' if error is None else as_number(error, 2)}"
    places = max(1 - int(f"{error:.1e}".partition("e")[2]), 0)
    return f"{value:,.{places}f} ± {error:,.{places}f}"


def as_text(value: object) -> str:
    """Return a value as a table prints it; None, which stands for unknown, as a dash."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return as_number(value)
    if isinstance(value, int):
        return f"{value:,}"
    return str(value)


class Table:
    """Rows under named columns.

    Parameters
    ----------
    columns : sequence of str
        Headings.
    rows : sequence of sequences
        Strings, numbers or booleans; None where a value is unknown.
    title : str
        Printed above.
    align_right : bool
        Align every column right, not only those of numbers: for numbers that are already written out.

    Examples
    --------
    >>> from covbandit.core.tables import Table
    >>> print(Table(["learner", "regret"], [["OGD", 101.6], ["MC-Empirical", 34.4]]))
    learner       regret
    OGD            101.6
    MC-Empirical    34.4
    """

    def __init__(
        self, columns: Sequence[str], rows: Sequence[Sequence[object]], title: str = "", align_right: bool = False
    ) -> None:
        self.columns = list(columns)
        self.rows = [list(row) for row in rows]
        self.title = title
        self.align_right = align_right

    def cells(self) -> list[list[str]]:
        """Return every value as it is printed."""
        return [[as_text(value) for value in row] for row in self.rows]

    def right_aligned(self) -> list[bool]:
        """Return for every column whether it is printed aligned right, as numbers are."""
        return [
            self.align_right or (all(isinstance(row[k], int | float | None) for row in self.rows) and bool(self.rows))
            for k in range(len(self.columns))
        ]

    def __str__(self) -> str:
        cells = self.cells()
        widths = [max(len(row[k]) for row in [self.columns, *cells]) for k in range(len(self.columns))]
        lines = [
            "  ".join(
                cell.rjust(width) if right else cell.ljust(width)
                for cell, width, right in zip(row, widths, self.right_aligned(), strict=True)
            ).rstrip()
            for row in [self.columns, *cells]
        ]
        return "\n".join([self.title, *lines] if self.title else lines)

    __repr__ = __str__

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns as lists."""
        return {name: [row[k] for row in self.rows] for k, name in enumerate(self.columns)}

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame."""
        return data_frame(self.to_dict())

    def to_markdown(self) -> str:
        """Return a Markdown table."""
        marks = ["---:" if right else ":---" for right in self.right_aligned()]
        return "\n".join("| " + " | ".join(row) + " |" for row in [self.columns, marks, *self.cells()])

    def to_csv(self) -> str:
        """Return comma-separated values with all digits; what is unknown is empty.

        Text that a spreadsheet would run as a formula (it begins with =, +, -, @, a tab or a line break, be it behind
        blanks or a semicolon) has an apostrophe before it, so that opening the file runs nothing. Readers of covbandit
        take it off; others find it in the text. Numbers are never changed.
        """
        written = io.StringIO()
        lines: list[Sequence[object]] = [self.columns, *self.rows]
        for line in lines:
            record = io.StringIO()
            # With both characters as its line end, the writer quotes text that has either.
            csv.writer(record, lineterminator="\r\n").writerow([_in_csv(value) for value in line])
            written.write(record.getvalue().removesuffix("\r\n") + "\n")
        return written.getvalue()

    def to_parquet(self, path: str | Path) -> None:
        """Write a Parquet file, all of it or nothing; columns with whole numbers beyond 64 bits are text there."""
        try:
            import pyarrow
            from pyarrow import parquet
        except ImportError:
            raise MissingExtra("Parquet files need pyarrow: pip install 'covbandit[parquet]'") from None
        table = pyarrow.table({name: _within_64_bits(values) for name, values in self.to_dict().items()})
        with replacing(path) as file:
            parquet.write_table(table, file)

    def to_latex(self) -> str:
        """Return a LaTeX tabular, with booktabs rules."""
        layout = "".join("r" if right else "l" for right in self.right_aligned())
        escaped = [[cell.translate(_LATEX) for cell in row] for row in [self.columns, *self.cells()]]
        lines = [" & ".join(row) + r" \\" for row in escaped]
        return "\n".join(
            [
                rf"\begin{{tabular}}{{{layout}}}",
                r"\toprule",
                lines[0],
                r"\midrule",
                *lines[1:],
                r"\bottomrule",
                r"\end{tabular}",
            ]
        )


def _in_csv(value: object) -> object:
    if value is None:
        return ""
    return marked(value) if isinstance(value, str) else value


def _within_64_bits(values: list[Any]) -> list[Any]:
    """Return a column as it is or, if a whole number in it is too large for Parquet, as text, which loses no digit."""
    if all(-(2**63) <= value < 2**63 for value in values if isinstance(value, int)):
        return values
    return [None if value is None else str(value) for value in values]


def data_frame(columns: dict[str, Any]) -> pd.DataFrame:
    """Return a pandas DataFrame, or say which extra is missing."""
    try:
        import pandas as pd
    except ImportError:
        raise MissingExtra("data frames need pandas: pip install 'covbandit[frame]'") from None
    return pd.DataFrame(columns)
