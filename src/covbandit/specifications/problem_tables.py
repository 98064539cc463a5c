"""From the table `[problem]` to problems, and to the histories they come from."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from covbandit import data
from covbandit.problems.distribution import ProblemDistribution
from covbandit.problems.problem import Problem
from covbandit.specifications.catalogue import presets
from covbandit.specifications.diagnostics import Mistakes, as_toml
from covbandit.specifications.factories import Maker, Registry
from covbandit.specifications.signatures import parameters_of
from covbandit.specifications.sweep_tables import REFUSALS, SWEEP, Choice, blame, choices_of, in_words, optional
from covbandit.specifications.toml_positions import KeyPath

_INLINE = "mean"
_READERS: dict[str, Callable[..., data.Returns]] = {
    "file": data.read_returns,
    "etf_file": data.read_etf_file,
    "packaged": data.read_packaged,
}
_PATH: KeyPath = ("problem",)


@dataclass(frozen=True)
class ProblemSetup:
    """A problem with the history it comes from, if any, and what tells it apart from the others.

    `refusals` are the errors by which a distribution of problems may refuse to draw one.
    """

    problem: Problem | ProblemDistribution
    history: data.Returns | None
    swept: dict[str, Any]
    refusals: tuple[type[Exception], ...] = REFUSALS


def problems_of(table: dict[str, Any], horizon: int | None, folder: Path, mistakes: Mistakes) -> list[ProblemSetup]:
    """Return the problems that a table describes."""
    explicit = table.get(SWEEP)
    swept = set(explicit) - {"preset"} if isinstance(explicit, dict) else set()
    given = [key for key in ("preset", *_READERS, _INLINE) if key in table or key in swept]
    if not given:
        mistakes.add(
            _PATH,
            'does not say which problem: give preset = "synthetic", or mean, covariance and risk_aversion, or '
            'file = "returns.csv" with kind = "returns" or "prices"',
        )
        return []
    if len(given) > 1:
        mistakes.add((*_PATH, given[1]), f"the problem is given by {given[0]} already; keep one of them")
        return []
    if given[0] == "preset":
        return list(_presets(table, horizon, mistakes))
    if given[0] == _INLINE:
        return list(_inline(table, mistakes))
    return list(_fitted(table, given[0], folder, mistakes))


def _inline(table: dict[str, Any], mistakes: Mistakes) -> Iterator[ProblemSetup]:
    maker = Maker(Problem, parameters_of(Problem), Problem, _PATH)
    for choice in choices_of(table, _PATH, maker.parameters, "a problem", mistakes):
        problem = maker.built(choice, {}, mistakes)
        if problem is not None:
            yield ProblemSetup(problem, None, choice.swept)


# Presets -------------------------------------------------------------------------------------------------------------


def _presets(table: dict[str, Any], horizon: int | None, mistakes: Mistakes) -> Iterator[ProblemSetup]:
    registry = Registry(
        key="preset",
        what="preset",
        known=presets(),
        wanted=(Problem, ProblemDistribution),
        fits=callable,
        own="is a function that returns a covbandit.Problem",
    )
    for maker, swept, rest in registry.named(table, _PATH, mistakes):
        filled = {"horizon": horizon} if "horizon" in maker.parameters and horizon is not None else {}
        history = data.etf_returns() if maker.name == "etf" else None
        parameters = optional(maker.parameters, filled)
        for choice in choices_of(rest, _PATH, parameters, f"preset {as_toml(maker.name)}", mistakes):
            problem = maker.built(choice, filled, mistakes)
            if problem is not None and _is_for(problem, horizon, choice, mistakes):
                yield ProblemSetup(problem, history, {**swept, **choice.swept}, maker.refusals)


def _is_for(problem: Problem | ProblemDistribution, horizon: int | None, choice: Choice, mistakes: Mistakes) -> bool:
    """Return True if a problem is made for the rounds that are played; note a mistake if it is made for others."""
    rounds = getattr(problem, "horizon", horizon)  # part of the hard instances only
    if horizon is None or rounds == horizon:
        return True
    mistakes.add(
        choice.paths.get("horizon", _PATH),
        f"the problem is made for {rounds} rounds, but horizon = {horizon} at the top are played; leave horizon out "
        "here, and it is taken from there",
    )
    return False


# Problems fitted to a history ----------------------------------------------------------------------------------------


def _fitted(table: dict[str, Any], key: str, folder: Path, mistakes: Mistakes) -> Iterator[ProblemSetup]:
    read = _READERS[key]
    # Its first parameter is the file; the others keep their names.
    first, *others = parameters_of(read).values()
    reading = {key: replace(first, name=key, kind=str), **{other.name: other for other in others}}
    fitting = parameters_of(data.Returns.problem)
    known: dict[str, data.Returns | None] = {}
    for choice in choices_of(table, _PATH, {**reading, **fitting}, f"a problem with {key}", mistakes):
        source = Choice(*({k: v for k, v in part.items() if k in reading} for part in vars(choice).values()))
        shape = Choice(*({k: v for k, v in part.items() if k in fitting} for part in vars(choice).values()))
        mark = json.dumps(source.values, sort_keys=True, default=str)
        if mark not in known:
            known[mark] = _read(read, key, source, folder, mistakes)
        if (history := known[mark]) is not None:
            problem = Maker(history.problem, fitting, Problem, _PATH).built(shape, {}, mistakes)
            if problem is not None:
                yield ProblemSetup(problem, history, choice.swept)


def _read(
    read: Callable[..., data.Returns], key: str, choice: Choice, folder: Path, mistakes: Mistakes
) -> data.Returns | None:
    name = choice.values[key]
    if key != "packaged":
        name = folder / name
        if not os.path.isfile(name):  # Path.is_file raises on names that are too long
            mistakes.add(choice.paths[key], f"no such file in {folder.resolve()}, the folder of the specification")
            return None

    def build(values: Mapping[str, Any]) -> data.Returns:
        return read(name, **{k: v for k, v in values.items() if k != key})

    try:
        return build(choice.values)
    except REFUSALS as error:
        cause = in_words(error)
        mistakes.add(blame(cause, choice, build, choice.paths[key], REFUSALS), cause)
        return None
