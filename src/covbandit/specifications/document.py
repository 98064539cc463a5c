"""The file as a whole: read, parsed, its outline checked."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field

from covbandit.core import validation
from covbandit.core.files import why_not_opened
from covbandit.core.size_limits import MOST_LEVELS, MOST_SPECIFICATION_BYTES, in_bytes
from covbandit.errors import InvalidInput
from covbandit.specifications.diagnostics import Mistakes, raise_mistakes
from covbandit.specifications.sweep_tables import STRICT, SWEEP, validate
from covbandit.specifications.toml_positions import KeyPath, lines_of

Count = Annotated[int, Field(ge=1)]

_HINTS = {
    "problem": 'a specification needs a table [problem], for example with preset = "synthetic"',
    "learners": 'a specification needs [[learners]], in two brackets, each with a class = "MCEmpirical" or another',
}

# What tomllib says, in words that help more.
_SYNTAX = {
    "Invalid value": 'not a value of TOML: text needs quotes ("synthetic"), fractions a digit before the dot (0.1)',
    "Cannot overwrite a value": "this key is there already; keep one of them",
    "Invalid statement": "neither key = value nor [table] nor # comment",
    "Unclosed array": "the list has no end; close it with ]",
}


_LONG_KEY = re.compile(
    r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){%d}""" % MOST_LEVELS  # noqa: UP031
)


class Outline(BaseModel):
    """The keys of a specification and their types; what is in the tables is checked later."""

    model_config = STRICT

    title: str = ""
    horizon: Count | None = None
    replications: Count | None = None
    seed: Annotated[int, Field(ge=0)] = 0
    checkpoints: Annotated[list[Count], Field(min_length=1)] | None = None
    problem: dict[str, Any]
    learners: Annotated[list[dict[str, Any]], Field(min_length=1)]
    environment: dict[str, Any] = Field(default_factory=dict)


@dataclass(frozen=True)
class Document:
    """A file whose outline is right."""

    name: str
    folder: Path
    outline: Outline
    mistakes: Mistakes


def read(path: str | Path) -> tuple[str, str, Path]:
    """Return the text of a file, what to call it, and its folder."""
    file = validation.as_path(path, "path")
    try:
        if file.stat().st_size > MOST_SPECIFICATION_BYTES:
            raise InvalidInput(
                f"the specification {path} has more than {in_bytes(MOST_SPECIFICATION_BYTES)}, the most that is read"
            )
        return file.read_text(encoding="utf-8-sig"), str(path), file.parent
    except InvalidInput:
        raise
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise_mistakes(str(path), [(line, "is not UTF-8 text; save the file as UTF-8")])
    except (OSError, ValueError) as error:  # a name with a zero in it is a ValueError
        absent = isinstance(error, FileNotFoundError)
        hint = "; `covbandit simulate --example` prints one to start from" if absent else ""
        raise InvalidInput(f"cannot read the specification {path}: {why_not_opened(error)}{hint}") from None


def parse(text: str, source: str, folder: Path, changes: dict[str, int | None]) -> Document:
    """Return a document, with some of its numbers changed; raise with all mistakes of the outline."""
    content, lines = _content(text, source)
    for key, value in changes.items():
        if value is not None:
            content[key] = validation.as_count(value, key, 0 if key == "seed" else 1)
    if changes.get("horizon") is not None:
        _follow_the_horizon(content)
    mistakes = Mistakes(source, content, lines)
    # After a header, what is meant for the file as a whole belongs to that header's table: a common slip in TOML.
    misplaced: dict[str, KeyPath] = {
        key: (name, key) for name, table in content.items() if isinstance(table, dict) for key in _HINTS if key in table
    }
    validate(Outline, content, (), "a specification", list(Outline.model_fields), mistakes, _HINTS, misplaced)
    mistakes.raise_if_any()
    return Document(Path(source).stem, folder, Outline.model_validate(content), mistakes)


def _content(text: object, source: str) -> tuple[dict[str, Any], dict[KeyPath, int]]:
    """Return what a text holds, and on which line each thing stands."""
    if not isinstance(text, str):
        raise InvalidInput(f"a specification must be text (str) in TOML, got {type(text).__name__}; load reads a file")
    found: tuple[int, str]
    try:
        # Dotted keys make levels without brackets, on which tomllib takes a time that grows with their square.
        if _LONG_KEY.search(text) or _is_deep(content := tomllib.loads(text)):
            raise RecursionError
        return content, lines_of(text)
    except tomllib.TOMLDecodeError as error:
        found = _syntax(text, str(error))
    except ValueError:  # which Python raises before it spends long on so many digits
        digits = re.search(r"[0-9_]{4000}", text)
        line = text.count("\n", 0, digits.start()) + 1 if digits else 1
        found = line, "a number has too many digits to be read; write it with less"
    except RecursionError:
        found = 1, "lists or tables are nested too deep to be read; no value here needs more than three levels"
    raise_mistakes(source, [found])


def _is_deep(content: object) -> bool:
    """Return True if tables and lists are nested more than `MOST_LEVELS` deep."""
    level = [content]
    for _ in range(MOST_LEVELS + 1):
        level = [
            inner
            for each in level
            for inner in (each.values() if isinstance(each, dict) else each if isinstance(each, list) else ())
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True


def _follow_the_horizon(content: dict[str, Any]) -> None:
    """Change what else depends on a horizon that was changed: checkpoints, and instances made for a horizon."""
    horizon, checkpoints, problem = content["horizon"], content.get("checkpoints"), content.get("problem")
    if isinstance(checkpoints, list):  # for a shorter look
        content["checkpoints"] = [*(t for t in checkpoints if not isinstance(t, int) or t < horizon), horizon]
    if not isinstance(problem, dict):
        return
    if "horizon" in problem:
        problem["horizon"] = horizon
    if isinstance(problem.get(SWEEP), dict) and "horizon" in problem[SWEEP]:
        problem[SWEEP]["horizon"] = [horizon]


def _syntax(text: str, message: str) -> tuple[int, str]:
    cause, _, where = message.partition(" (at ")
    lines = text.rstrip().split("\n")
    found = re.search(r"line (\d+)", where)
    line = int(found[1]) if found else len(lines)  # it says "at end of document"
    written = lines[min(line, len(lines)) - 1].strip()
    return line, f"{written}: {_SYNTAX.get(cause, cause[:1].lower() + cause[1:])}"
