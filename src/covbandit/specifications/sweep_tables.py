"""Tables of a specification: checked against a signature, with lists where single values are expected as sweeps."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from covbandit.core.spelling import likeliest
from covbandit.errors import CovbanditError
from covbandit.specifications.diagnostics import Mistakes, as_toml, did_you_mean
from covbandit.specifications.signatures import Parameter
from covbandit.specifications.toml_positions import KeyPath

SWEEP = "sweep"
TOP = ("title", "horizon", "replications", "seed", "checkpoints")
"""Keys outside of all tables."""

_MOST = 10_000  # alternatives of one table; more are a slip

STRICT = ConfigDict(strict=True, extra="forbid")

_WANTED = {
    "bool_type": "must be true or false",
    "dict_type": "must be a table",
    "float_type": "must be a number",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "list_type": "must be a list",
    "model_type": "must be a table",
    "none_required": "must be left out",
    "string_type": 'must be text, in quotes ("...")',
    "too_short": "must not be empty",
}

REFUSALS: tuple[type[Exception], ...] = (CovbanditError, TypeError, ValueError, ArithmeticError)
"""How classes and functions of this package refuse values."""


@dataclass(frozen=True)
class Choice:
    """One combination of the values that a table allows.

    Attributes
    ----------
    values : dict
        A value for every key that was given.
    paths : dict
        Where each of them stands.
    swept : dict
        Those that take several values in the table.
    """

    values: dict[str, Any]
    paths: dict[str, KeyPath]
    swept: dict[str, Any]

    @property
    def label(self) -> str:
        """The swept values in words."""
        return label_of(self.swept)


def value_label(value: Any) -> str:
    """Return a value as tables and figures show it."""
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    return value if isinstance(value, str) else as_toml(value)


def label_of(swept: Mapping[str, Any]) -> str:
    """Return swept values in words, each with its key: nothing if there are none."""
    return ", ".join(f"{key}={value_label(value)}" for key, value in swept.items())


def choices_of(
    table: Mapping[str, Any], path: KeyPath, parameters: Mapping[str, Parameter], of: str, mistakes: Mistakes
) -> list[Choice]:
    """Return all combinations of a table's values, the last key changing fastest; none if there is a mistake.

    Parameters
    ----------
    table : mapping
        What the file holds.
    path : KeyPath
        Where it stands.
    parameters : mapping
        What it may hold.
    of : str
        Whose parameters they are, for messages.
    mistakes : Mistakes
        Where to note what is wrong.
    """
    before = len(mistakes)
    explicit = table.get(SWEEP, {})
    plain = {key: value for key, value in table.items() if key != SWEEP}
    lists = {key for key, value in plain.items() if isinstance(value, list) and _single(parameters, key)}
    if not isinstance(explicit, dict):
        mistakes.add((*path, SWEEP), "must be a table of lists, such as { gamma = [1.0, 5.0] }")
        explicit = {}
    check(plain, path, optional(parameters, explicit), of, mistakes, lists)
    check(explicit, (*path, SWEEP), optional(parameters, parameters), of, mistakes, set(explicit))
    for key in explicit.keys() & plain.keys():
        mistakes.add((*path, SWEEP, key), f"{key} is given outside of {SWEEP} too; keep one of them")
    alternatives: dict[str, list[tuple[Any, KeyPath]]] = {}
    for key, value in plain.items():
        alternatives[key] = _spread(value, (*path, key)) if key in lists else [(value, (*path, key))]
    if len(mistakes) > before:
        return []
    for key, value in explicit.items():
        alternatives[key] = _spread(value, (*path, SWEEP, key))
    for values in alternatives.values():
        distinct(values, mistakes)
    if (count := prod(len(values) for values in alternatives.values())) > _MOST:
        mistakes.add(path, f"its lists combine to {count:,} alternatives; {_MOST:,} are the most: shorten them")
    return [] if len(mistakes) > before else list(_combine(alternatives, lists | explicit.keys()))


def optional(parameters: Mapping[str, Parameter], elsewhere: Container[str]) -> dict[str, Parameter]:
    """Return parameters of which those that come from elsewhere need not be given."""
    return {
        key: replace(parameter, required=parameter.required and key not in elsewhere)
        for key, parameter in parameters.items()
    }


def _single(parameters: Mapping[str, Parameter], key: str) -> bool:
    return key in parameters and parameters[key].single


def _spread(values: list[Any], path: KeyPath) -> list[tuple[Any, KeyPath]]:
    return [(value, (*path, k)) for k, value in enumerate(values)]


def distinct(values: list[tuple[Any, KeyPath]], mistakes: Mistakes) -> list[tuple[Any, KeyPath]]:
    """Return values, given with where they stand, without those that stand before; note each of these as a mistake."""
    first: list[tuple[Any, KeyPath]] = []
    for value, where in values:
        if any(value == earlier for earlier, _ in first):
            mistakes.add(where, "the same value stands in the list before; remove it")
        else:
            first.append((value, where))
    return first


def _combine(alternatives: dict[str, list[tuple[Any, KeyPath]]], swept: set[str]) -> Iterator[Choice]:
    for combination in product(*alternatives.values()):
        given = dict(zip(alternatives, combination, strict=True))
        values = {key: value for key, (value, _) in given.items()}
        yield Choice(
            values,
            {key: where for key, (_, where) in given.items()},
            {key: value for key, value in values.items() if key in swept},
        )


def check(
    table: Mapping[str, Any],
    path: KeyPath,
    parameters: Mapping[str, Parameter],
    of: str,
    mistakes: Mistakes,
    lists: Set[str],
) -> None:
    """Note unknown keys, missing ones and values of the wrong type; in `lists`, of every entry."""
    fields: dict[str, Any] = {}
    for key, parameter in parameters.items():
        kind = Annotated[list[parameter.kind], Field(min_length=1)] if key in lists else parameter.kind  # type: ignore[name-defined]
        # Keys such as "class" cannot be names of fields, and others are methods of the model: hence the alias.
        fields[f"field_{key}"] = (kind, Field(alias=key) if parameter.required else Field(None, alias=key))
    model = create_model("Table", __config__=STRICT, **fields)
    validate(model, table, path, of, list(parameters), mistakes)


def validate(
    model: type[BaseModel],
    table: Mapping[str, Any],
    path: KeyPath,
    of: str,
    known: list[str],
    mistakes: Mistakes,
    hints: Mapping[str, str] = MappingProxyType({}),
    misplaced: Mapping[str, KeyPath] = MappingProxyType({}),
) -> None:
    """Let a model judge a table, and note its refusals in our words; for some keys, in the words of `hints`.

    Missing keys that stand somewhere else, as `misplaced` says, are told where they stand.
    """
    try:
        model.model_validate(dict(table))
    except ValidationError as refused:
        errors = refused.errors(include_url=False)
        unknown = [str(error["loc"][-1]) for error in errors if error["type"] == "extra_forbidden"]
        meant = {likeliest(key, known) for key in unknown}
        for error in errors:
            if error["type"] == "missing" and error["loc"][-1] in meant:
                continue  # it is there, under the wrong name
            where = _within(table, error["loc"])
            if error["type"] == "missing" and where[-1] in misplaced:
                found = misplaced[str(where[-1])]
                mistakes.add(found, f"stands in the table [{found[0]}]; {hints[str(where[-1])]}")
                continue
            hint = hints.get(str(where[0])) if len(where) == 1 else None
            mistakes.add((*path, *where), hint or _complaint(error, of, known))


def _within(table: Mapping[str, Any], location: tuple[str | int, ...]) -> KeyPath:
    """Return the part of a location that leads into the table: what follows names types that were tried."""
    value: Any = table
    path: KeyPath = ()
    for part in location:
        path = (*path, part)
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return path if len(path) == 1 else path[:-1]
    return path


def _complaint(error: Any, of: str, known: list[str]) -> str:
    kind, context = error["type"], error.get("ctx", {})
    if kind == "extra_forbidden":
        key = str(error["loc"][-1])
        if key in TOP and key not in known:
            return "stands in the wrong table; move it to the top of the file, above the first [table]"
        return f"{of} has no such key; {did_you_mean(key, known)}"
    if kind == "missing":
        return f"is missing; {of} needs it"
    if kind == "literal_error":
        return f"must be {context['expected']}"
    if kind in ("greater_than_equal", "greater_than"):
        return f"must be {'at least' if 'ge' in context else 'above'} {context.get('ge', context.get('gt'))}"
    return _WANTED.get(kind, str(error["msg"]).lower())


def in_words(error: Exception) -> str:
    """Return what an error says; with its type unless it is ours, since others' messages do not stand alone."""
    return str(error) if isinstance(error, CovbanditError) else f"{type(error).__name__}: {error}"


def blame(
    message: str,
    choice: Choice,
    build: Callable[[dict[str, Any]], object],
    table: KeyPath,
    refusals: tuple[type[Exception], ...],
) -> KeyPath:
    """Return where the value stands that made something refuse, by one of some errors, to be built.

    That is the one which the message names, else the one without which building succeeds, else the whole table.
    """
    named = first_named(message, choice.values)
    if named is not None:
        return choice.paths[named]
    for key in choice.values:
        try:
            build({other: value for other, value in choice.values.items() if other != key})
        except refusals:
            continue
        return choice.paths[key]
    return table


def first_named(message: str, keys: Iterable[str]) -> str | None:
    """Return the key that a message names first, if it names any."""
    found = [(match.start(), key) for key in keys if (match := re.search(rf"\b{re.escape(key)}\b", message))]
    return min(found)[1] if found else None
