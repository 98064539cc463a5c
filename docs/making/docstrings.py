"""Docstrings are written in numpydoc's reStructuredText; the reference wants Markdown.

Sources are only read, never imported, so building the site needs neither a compiler nor the package's dependencies.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import Any

import griffe

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "covbandit"

_RULE = r"^=+(?: +=+)+\n"
_TABLE_OF_FILES = re.compile(rf"{_RULE}file .*\n{_RULE}(?:.*\n)*?=+(?: +=+)+(?:\n+|\Z)", re.MULTILINE)
"""With which every package opens, for those who work on it: users of the reference do not need it."""


@cache
def public_names() -> frozenset[str]:
    """Return what ``covbandit`` offers, read off its table of names."""
    for node in ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_ROOMS":
            return frozenset(ast.literal_eval(node.value))
    raise LookupError(f"{PACKAGE / '__init__.py'} has no table _ROOMS of its public names")


def as_markdown(docstring: str) -> str:
    """Return a docstring with formulas, references and literal blocks in Markdown."""
    text = _TABLE_OF_FILES.sub("", docstring)
    text = re.sub(
        r"^( *)\.\. math::((?:.*\n?)(?:(?:\1 +\S.*|[ ]*)(?:\n|$))*)",
        lambda found: f"{found[1]}\\[{' '.join(found[2].split())}\\]\n\n{found[1]}",
        text,
        flags=re.MULTILINE,
    )
    text = re.sub(r":math:`([^`]+)`", lambda found: rf"\({' '.join(found[1].split())}\)", text)
    text = re.sub(r"(\S)::$", r"\1:", text, flags=re.MULTILINE)
    text = text.replace(r"\|", "|")
    # Parameters explained together get their types one by one.
    text = re.sub(
        r"^(\w+(?:, \w+)+)\n((?: +\S.*\n)+)",
        lambda found: "".join(f"{name}\n{found[2]}" for name in found[1].split(", ")),
        text,
        flags=re.MULTILINE,
    )
    return "\n".join(line if line.lstrip().startswith((">>>", "...")) else _linked(line) for line in text.split("\n"))


def _linked(line: str) -> str:
    """Link single-quoted names such as `Learner.ask` to where they are documented."""

    def link(found: re.Match[str]) -> str:
        name = found[1]
        return f"[`{name}`][covbandit.{name}]" if name.split(".")[0] in public_names() else found[0]

    return re.sub(r"(?<!`)`([A-Za-z_][\w.]*)`(?!`)", link, line)


class FromReStructuredText(griffe.Extension):
    """Turns every docstring into Markdown while sources are read."""

    def on_instance(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Convert one object's docstring."""
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)
