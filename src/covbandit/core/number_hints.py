"""What people mean by numbers that no program reads: ``3,600``, ``1.234,5``, ``1'000``, ``50%``, ``€ 20``, ``3.5k``.

Nothing here is ever taken for a number: where a text may mean two of them, a guess may be wrong by a factor of 1000. It
only helps a refusal to name what could have been meant, so that the person who knows may choose.
"""

from __future__ import annotations

import re
from decimal import Decimal

LONGEST = 60
"""Texts with more characters are no numbers that somebody typed."""

_BLANKS = dict.fromkeys(map(ord, "\u00a0\u2007\u2009\u202f"), " ")
_SIGNS = {ord("\u2212"): "-", ord("\u2013"): "-", ord("\u2019"): "'", ord("\u02bc"): "'"}
_SIMPLE = re.compile(r"\d+[.,]?\d*|[.,]\d+")
_GROUPED = re.compile(r"\d{1,3}(?:([ '_])\d{3})(?:\1\d{3})*(?:[.,]\d*)?")
_GROUPS = {mark: re.compile(rf"\d{{1,3}}(?:{re.escape(mark)}\d{{2,3}})*{re.escape(mark)}\d{{3}}") for mark in ".,"}
_CURRENCY = re.compile(r"(?:[€$£¥₹]|EUR|USD|GBP|CHF|JPY|INR)", re.IGNORECASE)
_SCALES: dict[str, tuple[int, ...]] = {  # as powers of ten
    "k": (3,),
    "K": (3,),
    "tsd": (3,),
    "m": (6, -3),  # a million to some, a thousandth to others
    "M": (6,),
    "mm": (6,),
    "mio": (6,),
    "b": (9,),
    "B": (9,),
    "bn": (9,),
    "mrd": (9,),
}
_SUFFIX = re.compile(r"([A-Za-z]+)\.?$")


def readings(text: str, share: bool = False) -> list[str]:
    """Return the numbers that a text may mean, each as a program reads it; none if it does not look like a number.

    Parameters
    ----------
    text : str
        What somebody typed.
    share : bool
        Whether it is a share of one, so that 50% can only be 0.5.

    Examples
    --------
    >>> readings("3,600"), readings("3,6"), readings("1.234,5"), readings("1'000")
    (['3600', '3.6'], ['3.6'], ['1234.5'], ['1000'])
    >>> readings("50%"), readings("50%", share=True), readings("€ 3.5k"), readings("many")
    (['0.5', '50'], ['0.5'], ['3500'], [])
    """
    if len(text) > LONGEST:
        return []
    body = text.translate(_BLANKS).translate(_SIGNS).strip()
    body, negative = _without_sign(body)
    body, signs = _CURRENCY.subn("", body, count=1)
    if signs:
        body, negative = _without_sign(body.strip(), negative)  # €-5, beside -€5
    powers: tuple[int, ...] = (0,)
    if body.endswith("%"):
        body, powers = body[:-1].strip(), (-2,) if share else (-2, 0)
    elif (suffix := _SUFFIX.search(body)) is not None:
        word = suffix.group(1)
        powers = _SCALES.get(word, _SCALES.get(word.lower(), ()))
        body = body[: suffix.start()].strip()
    found = [_written(number.scaleb(power), negative) for number in _numbers(body) for power in powers]
    return list(dict.fromkeys(found))


def way_out(text: str, share: bool = False) -> str:
    """Return the end of a refusal: what a text may mean and how that is written; nothing if that is not known.

    Examples
    --------
    >>> way_out("3,600")
    ', which may mean 3600 or 3.6; write the one that is meant'
    >>> way_out("0,3")
    '; write 0.3 with a decimal point'
    >>> way_out("1 000"), way_out("many")
    ('; write 1000', '')
    """
    found = readings(text, share)
    if not found:
        return ""
    if len(found) == 1:
        return f"; write {found[0]}{' with a decimal point' if '.' in found[0] else ''}"
    return f", which may mean {', '.join(found[:-1])} or {found[-1]}; write the one that is meant"


def _without_sign(body: str, negative: bool = False) -> tuple[str, bool]:
    """Return a text without its sign, and whether that was a minus: in front, behind, or as brackets around it."""
    if body.startswith("(") and body.endswith(")"):
        return body[1:-1].strip(), not negative
    if body[:1] in ("-", "+"):
        return body[1:].strip(), negative != (body[0] == "-")
    if body[-1:] == "-":
        return body[:-1].strip(), not negative
    return body, negative


def _numbers(body: str) -> list[Decimal]:
    """Return what digits with separators may mean."""
    if not body.isascii():
        return []
    if _GROUPED.fullmatch(body):  # thousands are set apart by blanks, apostrophes or underscores
        return [Decimal(re.sub("[ '_]", "", body).replace(",", ".").rstrip("."))]
    for mark, other in ((",", "."), (".", ",")):
        whole, point, rest = body.rpartition(mark)
        if point and other in whole and _GROUPS[other].fullmatch(whole) and (rest.isdecimal() or not rest):
            return [Decimal(f"{whole.replace(other, '')}.{rest}".rstrip("."))]
        if body.count(mark) > 1 and _GROUPS[mark].fullmatch(body):
            return [Decimal(body.replace(mark, ""))]
    if not _SIMPLE.fullmatch(body):
        return []
    before, _, after = body.replace(",", ".").partition(".")
    number = Decimal(f"{before or 0}.{after or 0}")
    # A point too: somebody who writes € 3.600 may well set thousands apart by it.
    thousands = len(after) == 3 and 1 <= len(before) <= 3 and not before.startswith("0")
    return [Decimal(before + after), number] if thousands else [number]


def _written(number: Decimal, negative: bool) -> str:
    text = f"{number:f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return f"-{text}" if negative and number else text
