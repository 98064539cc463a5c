"""Text in cells of CSV files: what a spreadsheet would run as a formula is marked, and the mark is taken off again."""

from __future__ import annotations

import re

# What a spreadsheet takes for the beginning of a formula, also behind blanks, and as full-width letters. Apostrophes
# before it count as well: otherwise one that belongs to the text could not be told from the mark.
_FORMULA = re.compile(r"['\s\x00-\x1f\ufeff\u200b]*[=+\-@＝＋－＠﹦﹢﹣﹫]|'*[\t\r\n]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def marked(text: str) -> str:
    """Return text as it is written to a CSV file: with an apostrophe before what a spreadsheet would run.

    Numbers, negative ones too, are no formulas and stay as they are.

    Examples
    --------
    >>> marked("=1+1"), marked("-0.5"), marked("SPY"), marked("'quoted'")
    ("'=1+1", '-0.5', 'SPY', "'quoted'")
    """
    return f"'{text}" if _is_formula(text) else text


def unmarked(text: str) -> str:
    """Undo `marked`.

    Examples
    --------
    >>> unmarked("'=1+1"), unmarked("'quoted'")
    ('=1+1', "'quoted'")
    """
    return text[1:] if text.startswith("'") and _is_formula(text[1:]) else text


def _is_formula(text: str) -> bool:
    return _FORMULA.match(text) is not None and _NUMBER.fullmatch(text) is None
