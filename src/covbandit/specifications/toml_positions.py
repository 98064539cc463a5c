"""On which line each key of a TOML text stands; `tomllib` does not say."""

from __future__ import annotations

import tomllib
from bisect import bisect_left
from typing import Any

KeyPath = tuple[str | int, ...]
"""Keys and positions that lead to a value, for example ("learners", 1, "bonus")."""


def lines_of(text: str) -> dict[KeyPath, int]:
    r"""Return the line, counted from 1, of every table, key and list entry of a text that `tomllib` has accepted.

    Examples
    --------
    >>> lines_of('horizon = 10\n[[learners]]\nclass = "OGD"\n')
    {('horizon',): 1, ('learners',): 2, ('learners', 0): 2, ('learners', 0, 'class'): 3}
    """
    return _Scanner(text).scan()


def nearest(lines: dict[KeyPath, int], path: KeyPath) -> int:
    """Return the line of a path or, if it is not there, of what would hold it."""
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path, 1)


class _Scanner:
    """Walks through a valid text once; it looks for the beginnings and ends of things and trusts their insides."""

    def __init__(self, text: str) -> None:
        self._text = text.replace("\r\n", "\n")
        self._ends = [k for k, character in enumerate(self._text) if character == "\n"]
        self._at = 0
        self._lines: dict[KeyPath, int] = {}
        self._entries: dict[KeyPath, int] = {}  # of arrays of tables, so far
        self._implied: set[KeyPath] = set()  # tables that so far only stand in the headers of their inner tables

    def scan(self) -> dict[KeyPath, int]:
        table: KeyPath = ()
        while self._skip():
            if self._text.startswith("[[", self._at):
                table = self._header(2)
                position = self._entries.get(table, 0)
                self._entries[table] = position + 1
                self._note(table)
                table = (*table, position)
                self._note(table)
            elif self._peek() == "[":
                table = self._header(1)
                self._note(table)
            else:
                self._pair(table)
        return self._lines

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _note(self, path: KeyPath) -> None:
        """Keep the line of a path; the first one, but a table's own header counts more than one that implies it."""
        line = bisect_left(self._ends, self._at) + 1
        if path in self._implied:
            self._implied.remove(path)
            self._lines[path] = line
        else:
            self._lines.setdefault(path, line)

    def _imply(self, path: KeyPath) -> None:
        """Keep the line of a table that a header names on the way to another: [learners.mine] makes learners too."""
        if path not in self._lines:
            self._note(path)
            self._implied.add(path)

    def _skip(self, also: str = "") -> bool:
        """Pass over blanks, line ends, comments and what else is named; return whether something follows."""
        while (character := self._peek()) and character in " \t\n#" + also:
            if character == "#":
                end = self._text.find("\n", self._at)
                self._at = len(self._text) if end < 0 else end
            else:
                self._at += 1
        return bool(character)

    def _header(self, brackets: int) -> KeyPath:
        self._at += brackets
        keys = self._keys("]")
        self._at += brackets
        path: KeyPath = ()
        for k, key in enumerate(keys, 1):
            path = (*path, key)
            if path in self._entries and not (k == len(keys) and brackets == 2):
                path = (*path, self._entries[path] - 1)  # a table of the latest entry
            if k < len(keys):
                self._imply(path)
        return path

    def _keys(self, end: str) -> list[str]:
        """Return the parts of a dotted key; stop before the character that ends it."""
        begun = self._at
        while self._peek() != end:
            if self._peek() in "\"'":
                self._string()
            else:
                self._at += 1
        written = self._text[begun : self._at].strip()
        inner: Any = tomllib.loads(f"{written} = 0")  # unquotes as TOML does
        parts: list[str] = []
        while isinstance(inner, dict):
            ((key, inner),) = inner.items()
            parts.append(key)
        return parts

    def _pair(self, table: KeyPath) -> None:
        begun = self._at
        path = table
        keys = self._keys("=")
        end, self._at = self._at, begun
        for key in keys:
            path = (*path, key)
            self._note(path)
        self._at = end + 1
        self._value(path)

    def _value(self, path: KeyPath) -> None:
        self._skip()
        character = self._peek()
        if character in ('"', "'"):
            self._string()
        elif character == "[":
            self._at += 1
            position = 0
            while self._skip(",") and self._peek() != "]":
                self._note((*path, position))
                self._value((*path, position))
                position += 1
            self._at += 1
        elif character == "{":
            self._at += 1
            while self._skip(",") and self._peek() != "}":
                self._pair(path)
            self._at += 1
        else:
            while self._peek() and self._peek() not in ",]}#\n":
                self._at += 1

    def _string(self) -> None:
        quote = self._peek()
        fence = quote * 3 if self._text.startswith(quote * 3, self._at) else quote
        self._at += len(fence)
        while not self._text.startswith(fence, self._at):
            self._at += 2 if quote == '"' and self._peek() == "\\" else 1
        self._at += len(fence)
        while len(fence) == 3 and self._peek() == quote:  # up to two more quotes belong to the text
            self._at += 1
