"""Files with many rounds: outcomes to tell, logs of what was played, tables of returns."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from covbandit.cli.study.output import note
from covbandit.cli.study.parse import from_json
from covbandit.core.number_hints import way_out
from covbandit.core.validation import known_name
from covbandit.data import read_returns
from covbandit.data.numbers import numbers_in
from covbandit.data.sheet import Sheet, read_bytes, read_csv
from covbandit.data.tabular import TEXT_FILES
from covbandit.errors import InvalidInput

if TYPE_CHECKING:
    from covbandit.studies import Study

_MARKED = ("outcome", "weight", "played")  # columns that name an option in brackets

# Columns of an exported file that are not read here.
_BESIDE = frozenset(
    ("source", "status", "client", "asked_at", "expires", "told_at", "late", "amendments", "outstanding", "reward")
)


@dataclass(frozen=True)
class Entry:
    """One round in a file.

    Attributes
    ----------
    source, label : str
        The file, and where in it the round stands.
    round : int or None
        Its number.
    key : str or None
        Its key.
    outcome : dict or float
        What happened.
    weights : dict or None
        What was played.
    """

    source: str
    label: str
    round: int | None
    key: str | None
    outcome: Any
    weights: dict[str, float] | None

    @property
    def place(self) -> str:
        """Where it stands, for messages."""
        return f"{self.source}, {self.label}"


def read_entries(path: Path, options: Sequence[str], total: bool, history: bool) -> tuple[list[Entry], int]:
    """Return the rounds of a file, and the number of rows without any outcome, which are left out.

    CSV has a row per round with columns ``round`` (or ``id``), ``outcome[OPTION]`` (or plain option names) or one
    column ``outcome`` of totals, and ``played[OPTION]`` if something else was played than asked. History has
    ``played[OPTION]`` or ``weight[OPTION]`` and, optionally, ``key``. Files written by ``covbandit study export`` can
    be read too. JSON is a list of objects with ``id``, ``outcome`` and ``weights``, or with ``weights``, ``outcome``
    and ``key``; or an object with such a list as ``rounds``.
    """
    name = path.name.lower()
    if name.endswith(".json"):
        return _from_json(path, options, history), 0
    if name.endswith(TEXT_FILES):
        return _Columns(read_csv(path), options, total, history).entries()
    raise InvalidInput(f"cannot tell what {path.name!r} is: names must end in .csv, .csv.gz, .tsv, .tsv.gz or .json")


class _Columns:
    """What the columns of a CSV file mean."""

    def __init__(self, sheet: Sheet, options: Sequence[str], total: bool, history: bool) -> None:
        self.sheet, self.options, self.total, self.history = sheet, options, total, history
        for k, name in enumerate(sheet.names):
            if sheet.position(name) < k:
                raise InvalidInput(f"{sheet.source} has two columns {name!r}")
        self.bracketed = any(name.endswith("]") and name.partition("[")[0] in _MARKED for name in sheet.names)
        self.outcome: dict[str, int] = {}
        self.weight: dict[str, int] = {}
        self.played: dict[str, int] = {}
        self.single: dict[str, int] = {}
        for k, name in enumerate(sheet.names):
            self._place(k, name)
        self.shares = {*self.weight.values(), *self.played.values()}
        self._require()
        of_numbers = [*self.outcome.values(), *self.weight.values(), *self.played.values()]
        of_numbers += [self.single["outcome"]] if "outcome" in self.single else []
        self.read = numbers_in(
            sheet,
            [sheet.names[k] for k in sorted(of_numbers)],
            way_out="which by writing a number with all its decimals",
        )

    def _place(self, k: int, name: str) -> None:
        mark, bracket, rest = name.partition("[")
        plain = None if self.bracketed else known_name(name, self.options)
        if plain is not None:
            self._assign(self.outcome, plain, k)
        elif bracket and name.endswith("]") and mark in _MARKED:
            option = known_name(rest[:-1], self.options)
            if option is None:
                raise InvalidInput(
                    f"{self.sheet.source}, column {name!r}: unknown option {rest[:-1]!r}; known are "
                    f"{', '.join(map(repr, self.options))}"
                )
            self._assign(getattr(self, mark), option, k)
        elif name in ("round", "id", "key", "outcome"):
            self.single["round" if name == "id" else name] = k
        elif name not in _BESIDE:
            raise InvalidInput(
                f"{self.sheet.source}, column {name!r}: not understood; columns are {self._expected()}, and options "
                f"are {', '.join(map(repr, self.options))}"
            )

    def _assign(self, columns: dict[str, int], option: str, k: int) -> None:
        if option in columns:
            raise InvalidInput(f"{self.sheet.source} has two columns {self.sheet.names[k]!r}, in two spellings")
        columns[option] = k

    def _expected(self) -> str:
        seen = "outcome" if self.total else "outcome[OPTION] (or the options' plain names)"
        if self.history:
            return f"played[OPTION] or weight[OPTION], {seen}, and key if rows have one"
        return f"round, {seen}, and played[OPTION] if that differs from what was asked"

    def _require(self) -> None:
        source = self.sheet.source
        if not self.history and "round" not in self.single:
            raise InvalidInput(f"{source} has no column 'round'; columns are {self._expected()}")
        if self.history and not (self.played or self.weight):
            raise InvalidInput(
                f"{source} has no column of weights; columns are {self._expected()}. For a table of returns, say what "
                "was played: --weights equal, or --weights A=0.6,B=0.4"
            )
        if self.total and "outcome" not in self.single:
            raise InvalidInput(f"{source} has no column 'outcome'; this study sees totals only: {self._expected()}")
        if not self.total and not self.outcome:
            raise InvalidInput(f"{source} has no column of outcomes; columns are {self._expected()}")

    def entries(self) -> tuple[list[Entry], int]:
        """Return all rows that have an outcome, and how many have none."""
        found, without = [], 0
        for row in range(len(self.sheet)):
            outcome = self._outcome(row)
            if outcome is None:
                without += 1
                continue
            number = None if self.history else self._round(row)
            key = str(self._cell(row, self.single["key"])).strip() or None if "key" in self.single else None
            place = self.sheet.place(row)
            found.append(Entry(self.sheet.source, place, number, key, outcome, self._played(row)))
        return found, without

    def _cell(self, row: int, column: int) -> object:
        return self.sheet.columns[column][row]

    def _number(self, row: int, column: int) -> float | None:
        """Return a number, None if the cell is empty."""
        cell = self._cell(row, column)
        number = self.read(cell)
        if number is None:
            place = self.sheet.place(row, self.sheet.names[column])
            meant = way_out(str(cell), share=column in self.shares)
            raise InvalidInput(f"{self.sheet.source}, {place}: {cell!r} is not a finite number{meant}")
        return None if math.isnan(number) else number

    def _numbers(self, row: int, columns: dict[str, int]) -> dict[str, float]:
        found = {name: self._number(row, column) for name, column in columns.items()}
        return {name: number for name, number in found.items() if number is not None}

    def _outcome(self, row: int) -> Any:
        if self.total:
            return self._number(row, self.single["outcome"])
        return self._numbers(row, self.outcome) or None

    def _played(self, row: int) -> dict[str, float] | None:
        played = self._numbers(row, self.played)
        if not played and self.history:
            played = self._numbers(row, self.weight)
        return played or None

    def _round(self, row: int) -> int:
        cell = str(self._cell(row, self.single["round"])).strip()
        if not (cell.isascii() and cell.isdecimal()):
            place = self.sheet.place(row, "round" if "round" in self.sheet.names else "id")
            raise InvalidInput(f"{self.sheet.source}, {place}: must be a round's number, got {cell!r}")
        return int(cell[:20])


def _from_json(path: Path, options: Sequence[str], history: bool) -> list[Entry]:
    try:
        read = from_json(read_bytes(path).decode("utf-8-sig"), path.name)
    except UnicodeDecodeError:
        raise InvalidInput(f"{path.name} is not UTF-8 text") from None
    entries = read.get("rounds") if isinstance(read, dict) and set(read) == {"rounds"} else read
    known = ("weights", "outcome", "key") if history else ("id", "outcome", "weights")
    if not isinstance(entries, list):
        raise InvalidInput(f"{path.name} must be a list of objects with {', '.join(known)}")
    found = []
    for k, entry in enumerate(entries):
        label = f"entry {k + 1}"
        place = f"{path.name}, {label}"
        if not isinstance(entry, dict) or not set(entry) <= set(known) or "outcome" not in entry:
            raise InvalidInput(f"{place} must be an object with {', '.join(known)}, got {str(entry)[:80]}")
        missing = "weights" if history else "id"
        if missing not in entry:
            raise InvalidInput(f"{place} lacks {missing!r}")
        outcome, weights = (_spelled(entry.get(what), options) for what in ("outcome", "weights"))
        found.append(Entry(path.name, label, entry.get("id"), entry.get("key"), outcome, weights))
    return found


def _spelled(values: Any, options: Sequence[str]) -> Any:
    """Return values by option name, with known names as the study spells them and unknown names as they are."""
    if not isinstance(values, dict):
        return values
    spelled = {known_name(name, options) or name: value for name, value in values.items()}
    return spelled if len(spelled) == len(values) else values  # an option twice: the study says so


def entries_of_returns(study: Study, file: Path, weights: dict[str, float], reading: dict[str, Any]) -> list[Entry]:
    """Return a table of returns as rounds that were played with the same weights; `reading` is for `read_returns`."""
    feedback = study.feedback
    if study.outcome == "amount" and feedback != "total":
        raise InvalidInput(
            "a table of returns tells rewards per unit of weight, but this study is told amounts; give a file with "
            "columns weight[OPTION] and outcome[OPTION] instead"
        )
    try:
        returns = read_returns(file, options=study.options, **reading)
    except InvalidInput as error:
        refused = InvalidInput(_with_options(str(error)))
        refused.hint = error.hint
        raise refused from error
    for remark in returns.notes:
        note(f"note: {file.name}: {remark}")
    held = [option for option in study.options if weights.get(option, 0.0) > 0]
    entries = []
    for label, row in zip(returns.index, returns.values.tolist(), strict=True):
        rewards = dict(zip(study.options, row, strict=True))
        outcome: Any = rewards
        if feedback == "total":
            outcome = sum(weights[option] * rewards[option] for option in held)
        elif feedback == "chosen":
            outcome = {option: rewards[option] for option in held}
        entries.append(Entry(file.name, label, None, None, outcome, weights))
    return entries


def content_key(entry: Entry, seen: Counter[str]) -> str:
    """Return a key for a round that has none: a hash of its content, and how often that stood in the file so far."""
    content = json.dumps([entry.weights, entry.outcome], sort_keys=True)
    found = hashlib.blake2b(content.encode(), digest_size=6).hexdigest()
    seen[found] += 1
    return f"{found}-{seen[found]}"


def _with_options(message: str) -> str:
    """Return a message of `read_returns` with the arguments that it names written as on the command line."""
    message = message.replace("check=False", "--no-check")
    return re.sub(r"\b(kind|unit|dates|decimal|worksheet)=(\"[^\"]*\"|'[^']*')", r"--\1 \2", message)
