"""The file as a whole: read, parsed, its outline checked."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path as File
from typing import Annotated, Any

from pydantic import BaseModel, Field

from covbandit import validation
from covbandit.errors import InvalidInput
from covbandit.specifications.choices import STRICT, validate
from covbandit.specifications.locator import lines_of
from covbandit.specifications.mistakes import Mistakes, raise_mistakes

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
    folder: File
    outline: Outline
    mistakes: Mistakes


def read(path: str | File) -> tuple[str, str, File]:
    """Return the text of a file, what to call it, and its folder."""
    file = File(path)
    try:
        return file.read_text(encoding="utf-8-sig"), str(path), file.parent
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise_mistakes(str(path), [(line, "is not UTF-8 text; save the file as UTF-8")])
        raise AssertionError from None  # the line above raises
    except OSError as error:
        hint = "; `covbandit simulate --example` prints one to start from" if not file.exists() else ""
        raise InvalidInput(f"cannot read the specification {path}: {error.strerror or error}{hint}") from None


def parse(text: str, source: str, folder: File, changes: dict[str, int | None]) -> Document:
    """Return a document, with some of its numbers changed; raise with all mistakes of the outline."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise_mistakes(source, [_syntax(text, str(error))])
    lines = lines_of(text)
    for key, value in changes.items():
        if value is not None:
            content[key] = validation.as_count(value, key, 0 if key == "seed" else 1)
    if changes.get("horizon") is not None and isinstance(content.get("checkpoints"), list):  # for a shorter look
        content["checkpoints"] = [t for t in content["checkpoints"] if not isinstance(t, int) or t < content["horizon"]]
        content["checkpoints"].append(content["horizon"])
    mistakes = Mistakes(source, content, lines)
    validate(Outline, content, (), "a specification", list(Outline.model_fields), mistakes, _HINTS)
    mistakes.raise_if_any()
    return Document(File(source).stem, folder, Outline.model_validate(content), mistakes)


def _syntax(text: str, message: str) -> tuple[int, str]:
    cause, _, where = message.partition(" (at ")
    found = re.search(r"line (\d+)", where)
    line = int(found[1]) if found else max(text.count("\n"), 1)
    written = (text.splitlines() or [""])[line - 1].strip()
    return line, f"{written}: {_SYNTAX.get(cause, cause[:1].lower() + cause[1:])}"
