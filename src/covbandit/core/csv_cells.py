"""Text in cells of CSV files: what a spreadsheet would run as a formula is marked, and the mark is taken off again."""

from __future__ import annotations

import re

# What a spreadsheet takes for the beginning of a formula, also behind blanks, and as full-width letters. Apostrophes
# before it count as well: otherwise one that belongs to the text could not be told from the mark.
_FORMULA = re.compile(r"['\s\x00-\x1f\ufeff\u200b]*[=+\-@＝＋－＠﹦﹢﹣﹫]|'*[\t\r\n]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def marked(text: str) -> str:
    """Return text as it is written to a CSV file: with an apostrophe before what a spreadsheet would run.

    Numbers, negative ones too, are no formulas and stay as they are. Where commas are decimal, spreadsheets begin a new
    cell after each semicolon, whatever quotation marks stand around: so what follows one is marked likewise.

    Examples
    --------
    >>> marked("=1+1"), marked("-0.5"), marked("SPY"), marked("'quoted'"), marked("a;=1+1")
    ("'=1+1", '-0.5', 'SPY', "'quoted'", "a;'=1+1")
    """
    return ";".join(f"'{part}" if _is_formula(part) else part for part in text.split(";"))


def unmarked(text: str) -> str:
    """Undo `marked`.

    Examples
    --------
    >>> unmarked("'=1+1"), unmarked("'quoted'")
    ('=1+1', "'quoted'")
    """
    return ";".join(part[1:] if part.startswith("'") and _is_formula(part[1:]) else part for part in text.split(";"))


def _is_formula(text: str) -> bool:
    return _FORMULA.match(text) is not None and _NUMBER.fullmatch(text) is None
