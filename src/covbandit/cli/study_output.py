"""How study commands answer: tables and local times for people, one strict JSON document for programs."""

from __future__ import annotations

import json
import math
import os
import shlex
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Self

import typer
from rich.console import Console

from covbandit.cli.printing import labelled, print_table
from covbandit.cli.study_options import DEFAULT_STORE, STORE_VARIABLE
from covbandit.core.tables import Table, as_number

_WEIGHTS_IN_A_CELL = 4
_DIGITS = 6  # with so many, amounts of money also keep their cents


class Written(float):
    """A cell that is written out already, and aligned as numbers are."""

    text: str

    def __new__(cls, text: str) -> Self:
        """Keep the text."""
        made = super().__new__(cls, 0.0)
        made.text = text
        return made


class Figures(Table):
    """A table for people, with as many significant digits as one likes."""

    digits = _DIGITS

    def cells(self) -> list[list[str]]:
        """Return every value as it is printed."""
        return [[as_shown(value, self.digits) for value in row] for row in self.rows]


def as_shown(value: object, digits: int = _DIGITS) -> str:
    """Return a value as people read it; None, which stands for unknown, as a dash.

    Examples
    --------
    >>> as_shown(1234.5678), as_shown(0.1 + 0.2), as_shown(12_345_678.25), as_shown(None)
    ('1,234.57', '0.3', '12,345,678.25', '-')
    """
    if value is None:
        return "-"
    if isinstance(value, Written):
        return value.text
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return local(value)
    if isinstance(value, float):
        return as_number(value, digits, decimals=2 if digits >= _DIGITS else 0)
    if isinstance(value, int | Decimal):
        return f"{value:,}"
    return str(value)


def as_weight(weight: float | None) -> str:
    """Return a weight with four decimals, 0 only for none at all.

    Examples
    --------
    >>> as_weight(1 / 3), as_weight(0.0), as_weight(0.00002)
    ('0.3333', '0', '2e-05')
    """
    if weight is None:
        return "-"
    return "0" if weight == 0 else f"{weight:.4f}" if weight >= 5e-5 else f"{weight:.1g}"


def as_weights(weights: Mapping[str, float]) -> str:
    """Return the largest weights in one cell."""
    held = sorted(((name, w) for name, w in weights.items() if w > 0), key=lambda each: -each[1])
    rest = len(held) - _WEIGHTS_IN_A_CELL
    shown = ", ".join(f"{name} {as_weight(w)}" for name, w in held[:_WEIGHTS_IN_A_CELL])
    return f"{shown}, {rest} more" if rest > 0 else shown


def local(moment: datetime | None) -> str:
    """Return a time on the user's clock, with its zone."""
    return "-" if moment is None else moment.astimezone().strftime("%Y-%m-%d %H:%M:%S %Z")


def to_minutes(moment: datetime | None) -> str:
    """Return a time on the user's clock, with its zone, for columns of a table."""
    return "-" if moment is None else moment.astimezone().strftime("%Y-%m-%d %H:%M %Z")


def duration(seconds: float | None) -> str:
    """Return a lease in words.

    Examples
    --------
    >>> duration(2_592_000), duration(5_400), duration(None)
    ('30 days', '1.5 hours', 'for ever')
    """
    if seconds is None:
        return "for ever"
    for name, size in (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1)):
        if seconds >= size or size == 1:
            count = as_number(seconds / size, _DIGITS)
            return f"{count} {name}" if count == "1" else f"{count} {name}s"
    raise AssertionError


def say(text: str = "", style: str = "") -> None:
    """Print a line for people, letter by letter."""
    Console().print(text, style=style or None, soft_wrap=True, highlight=False, markup=False)


def note(text: str) -> None:
    """Print a line beside the answer, on standard error."""
    Console(stderr=True).print(text, soft_wrap=True, highlight=False, markup=False)


def show(columns: Sequence[str], rows: Sequence[Sequence[object]], title: str = "", digits: int = _DIGITS) -> None:
    """Print a table for people, under its title."""
    table = Figures(columns, rows, title)
    table.digits = digits
    print_table(Console(), table)


def facts(rows: Sequence[tuple[str, object]]) -> None:
    """Print what is known of a thing: names and values in two columns."""
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        for line in labelled(f"{name:<{width}}", as_shown(value), Console().width):
            say(line)
    say()


def emit(value: Any) -> None:
    """Print plain data as one strict JSON document, with all digits; a number that is not finite is null."""
    typer.echo(json.dumps(_plain(value), allow_nan=False, indent=2))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, Decimal):
        return str(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


def command(verb: str, *arguments: str, store: str) -> str:
    """Return a command that the user may copy; `store` is its address without a password."""
    from covbandit.studies.store import as_url  # here, since help must not wait for databases

    here = as_url(os.environ.get(STORE_VARIABLE) or DEFAULT_STORE).render_as_string(hide_password=True)
    words = ["covbandit", "study", verb, *map(shlex.quote, arguments)]
    same = as_url(store).render_as_string(hide_password=True) == here
    return " ".join(words if same else [*words, "--store", shlex.quote(store)])
