"""Numbers as text: decimal points and decimal commas, told apart by all cells of a table together."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Literal

from covbandit.data.selection import is_among
from covbandit.data.sheet import Sheet, cell_number
from covbandit.errors import InvalidInput

Decimal = Literal[".", ","]

_BLANKS = re.compile(r"(?<=\d)[ \u00a0\u202f](?=\d{3}(?!\d))")  # between thousands
_SINGLE = re.compile(r"[+-]?(\d*)[.,](\d*)([eE][+-]?\d+)?")
_GROUPED = {mark: re.compile(rf"[+-]?\d{{1,3}}(?:{re.escape(mark)}\d{{3}})+") for mark in ".,"}
_BOTH = {  # by the decimal mark; the other one separates thousands
    ",": re.compile(r"[+-]?\d{1,3}(?:\.\d{3})+,\d*"),
    ".": re.compile(r"[+-]?\d{1,3}(?:,\d{3})+\.\d*"),
}


def numbers_in(
    sheet: Sheet, names: Sequence[str], decimal: object = None, way_out: str = 'decimal="." or decimal=","'
) -> Callable[[object], float | None]:
    """Return what turns a cell of some columns into a number, NaN if it is missing, None if it is neither.

    Parameters
    ----------
    sheet : Sheet
        The table.
    names : sequence of str
        The columns that hold numbers.
    decimal : {".", ","} or None
        The decimal mark; None finds it out. One cell that can be read in one way only, such as 0,5 or 1.234,56, decides
        for all; without one, cells such as 1,234 are refused.
    way_out : str
        How the user says it.

    Raises
    ------
    InvalidInput
        If it cannot be told, with both readings.
    """
    if decimal is not None and not is_among(decimal, (".", ",")):
        raise InvalidInput(f'decimal must be "." or ",", got {decimal!r}')
    mark = decimal or _mark(sheet, names, way_out)
    return _with_commas if mark == "," else _with_points


def _mark(sheet: Sheet, names: Sequence[str], way_out: str) -> str:
    columns = [(name, sheet.columns[sheet.position(name)]) for name in names]
    commas = any(isinstance(cell, str) and "," in cell for _, cells in columns for cell in cells)
    # Points alone are decimal points, except where commas may be decimal.
    if not commas and sheet.delimiter not in (";", "\t"):
        return "."
    found: dict[str, tuple[int, str, str]] = {}
    for name, cells in columns:
        for row, cell in enumerate(cells):
            if isinstance(cell, str) and (said := _says(_BLANKS.sub("", cell.strip()))) and said not in found:
                found[said] = (row, name, cell)
    if "," in found and "." in found:
        (row, name, cell), (other_row, other_name, other) = found[","], found["."]
        raise InvalidInput(
            f"{sheet.source}, {sheet.place(row, name)}: {cell!r} has a decimal comma, but {other!r} "
            f"({sheet.place(other_row, other_name)}) a decimal point; write all numbers alike"
        )
    for mark in (",", "."):
        if mark in found:
            return mark
    for said in ("1,234", "1.234"):
        if said in found:
            row, name, cell = found[said]
            whole, part = re.sub(r"[.,]", "", cell.strip()), cell.strip().replace(",", ".")
            raise InvalidInput(
                f"{sheet.source}, {sheet.place(row, name)}: {cell!r} is not a finite number that can be told: "
                f"{whole} if {said[1]!r} separates thousands, {part} if it is the decimal mark; say {way_out}"
            )
    return "."


def _says(text: str) -> str | None:
    """Return the decimal mark that a number needs, "1,234" or "1.234" if it has a mark that may be either."""
    comma, point = "," in text, "." in text
    if comma and point:
        return next((mark for mark, form in _BOTH.items() if form.fullmatch(text)), None)
    if not comma and not point:
        return None
    mark, other = (",", ".") if comma else (".", ",")
    if text.count(mark) > 1:
        return other if _GROUPED[mark].fullmatch(text) else None
    parts = _SINGLE.fullmatch(text)
    if parts is None or not (parts[1] or parts[2]):
        return None
    thousands = len(parts[2]) == 3 and 1 <= len(parts[1]) <= 3 and parts[1][0] != "0" and not parts[3]
    return f"1{mark}234" if thousands else mark


def _with_points(cell: object) -> float | None:
    if isinstance(cell, str):
        text = _BLANKS.sub("", cell.strip())
        if _GROUPED[","].fullmatch(text) or _BOTH["."].fullmatch(text):
            return cell_number(text.replace(",", ""))
        return cell_number(text)
    return cell_number(cell)


def _with_commas(cell: object) -> float | None:
    if not isinstance(cell, str):
        return cell_number(cell)
    text = _BLANKS.sub("", cell.strip())
    if _GROUPED["."].fullmatch(text) or _BOTH[","].fullmatch(text):
        text = text.replace(".", "")
    return None if "." in text else cell_number(text.replace(",", "."))
