"""Where things stand in a TOML text."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any

import pytest

from covbandit.specifications import example
from covbandit.specifications.toml_positions import lines_of, nearest

TRICKY = '''# title = "not this"
horizon = 10 # x = 3
a.b."c = d" = 1   # dotted and quoted
checkpoints = [
  1, # [ one
  2,
  [3,
   4],
]
text = """begins
[problem] = { not this }
ends \\""" with quotes"""""
raw = \'\'\'C:\\path\'\'\'
[problem]
covariance = [[1, 0],
              [0, 1]]
caps = { k = [1,
2], "q.r" = 'it' }
[[learners]]
class = "A"
[learners.sweep]
g = [1, 2]
[[ learners ]]
class = "B \\" ]"
sweep = { g = [1.0, 5.0] }
[[learners.parts]]
x = 1
[[learners.parts]]
x = 2024-01-01 10:00:00
[environment]
'''


def _paths(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if path:
        yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _paths(inner, (*path, key))
    elif isinstance(value, list):
        for k, inner in enumerate(value):
            yield from _paths(inner, (*path, k))


HEADERS = """horizon = 10

[learners.mine]
class = "A"
[[problem.parts.list]]
x = 1
[problem.parts.list.inner.deep]
y = 2
[problem]
preset = "synthetic"
[a]
b.c = 1
b.d = { e.f = 1 }
[[learners.yours.more]]
[a.b2.c]
"""


@pytest.mark.parametrize(
    "text",
    [TRICKY, TRICKY.replace("\n", "\r\n"), HEADERS, example()],
    ids=["tricky", "crlf", "headers", "example"],
)
def test_everything_is_found(text: str) -> None:
    assert set(lines_of(text)) == set(_paths(tomllib.loads(text)))


def test_lines() -> None:
    lines = lines_of(TRICKY)
    assert lines["horizon",] == 2
    assert lines["a", "b", "c = d"] == 3
    assert lines["checkpoints", 2, 1] == 8
    assert lines["problem", "covariance", 1, 0] == 16
    assert lines["problem", "caps", "q.r"] == 18
    assert lines["learners", 0, "sweep", "g"] == 22
    assert lines["learners", 1] == 23
    assert lines["learners", 1, "sweep", "g", 1] == 25
    assert lines["learners", 1, "parts", 1, "x"] == 29
    assert lines["environment",] == 30
    assert nearest(lines, ("environment", "class")) == 30
    assert nearest(lines, ("nothing",)) == 1


def test_tables_that_only_headers_of_inner_tables_name_have_a_line() -> None:
    lines = lines_of(HEADERS)
    assert lines["learners",] == lines["learners", "mine"] == 3
    assert lines["learners", "yours"] == 14
    assert lines["problem", "parts"] == lines["problem", "parts", "list"] == 5
    assert lines["problem", "parts", "list", 0, "inner"] == 7
    assert lines["problem",] == 9, "its own header counts, not that of an inner table before it"
    assert lines["a", "b"] == 12
    assert lines["a", "b", "d", "e"] == 13
    assert lines["a", "b2"] == 15
