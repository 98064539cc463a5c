"""Mistakes in a specification: collected, located and reported all at once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from covbandit.core.spelling import likeliest
from covbandit.errors import InvalidSpecification
from covbandit.specifications.toml_positions import KeyPath, nearest

_LONGEST = 60
_ABSENT = object()


@dataclass
class Mistakes:
    """What is wrong with a specification so far.

    Attributes
    ----------
    source : str
        The file, as messages name it.
    document : dict
        What the file holds.
    lines : dict
        Where everything stands in it.
    """

    source: str
    document: dict[str, Any]
    lines: dict[KeyPath, int]
    _found: dict[tuple[int, str], None] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._found)

    def add(self, path: KeyPath, cause: str) -> None:
        """Note what is wrong with the value at a path; the same thing twice is one mistake."""
        value = self._value(path)
        shown = "" if value is _ABSENT or isinstance(value, dict) else f" = {as_toml(value)}"
        key = as_key(path)
        self._found[nearest(self.lines, path), f"{key}{shown}: {cause}" if key else cause] = None

    def _value(self, path: KeyPath) -> Any:
        value: Any = self.document
        for part in path:
            try:
                value = value[part]
            except (KeyError, IndexError, TypeError):
                return _ABSENT
        return value

    def raise_if_any(self) -> None:
        """Raise one error that lists all, in the order of their lines."""
        if self._found:
            raise_mistakes(self.source, sorted(self._found, key=lambda found: found[0]))


def raise_mistakes(source: str, found: Sequence[tuple[int, str]]) -> NoReturn:
    """Raise one error for mistakes given with their lines."""
    told = tuple(f"{source}, line {line}: {text}" for line, text in found)
    if len(told) == 1:
        raise InvalidSpecification(told[0], told)
    raise InvalidSpecification(f"{source} has {len(told)} mistakes\n" + "\n".join(f"  {text}" for text in told), told)


def as_key(path: KeyPath) -> str:
    """Return a path as people write it; entries of lists are counted from 1.

    Examples
    --------
    >>> as_key(("learners", 1, "sweep", "gamma"))
    'learners[2].sweep.gamma'
    """
    text = ""
    for part in path:
        text += f"[{part + 1}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def as_toml(value: Any) -> str:
    """Return a value as it would stand in the file, shortened if it is long."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except TypeError:  # dates
        text = str(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return the likeliest of the known names as a question, or else all of them."""
    names = list(known)
    alike = likeliest(name, names)
    if alike is not None:
        return f"did you mean {as_toml(alike)}?"
    return f"there are {', '.join(names)}" if names else "it takes none"
