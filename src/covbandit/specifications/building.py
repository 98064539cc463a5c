"""From tables to problems, environments and learners."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path as File
from typing import Any

from covbandit import data
from covbandit.environments import Environment, Gaussian
from covbandit.errors import InvalidInput
from covbandit.learners import Learner
from covbandit.problem import Problem
from covbandit.problem_distribution import ProblemDistribution
from covbandit.specifications.catalogue import environment_classes, find, learner_classes, presets
from covbandit.specifications.choices import REFUSALS, SWEEP, Choice, blame, choices_of, optional
from covbandit.specifications.locator import Path
from covbandit.specifications.mistakes import Mistakes, as_toml
from covbandit.specifications.signatures import parameters_of

_INLINE = "mean"
_READERS: dict[str, Callable[..., data.Returns]] = {
    "file": data.read_returns,
    "etf_file": data.read_etf_file,
    "packaged": data.read_packaged,
}
_FROM_PROBLEM = ("n_options", "risk_aversion", "min_weight", "max_weight")


@dataclass(frozen=True)
class Setting:
    """A problem with the history it comes from, if any, and what tells it apart from the others."""

    problem: Problem | ProblemDistribution
    history: data.Returns | None
    swept: dict[str, Any]


@dataclass(frozen=True)
class Entry:
    """A learner still to be built: its parameters depend on the problem."""

    name: str
    kind: type[Learner]
    choice: Choice
    path: Path

    @property
    def swept(self) -> dict[str, Any]:
        """What tells it apart from others of the same table."""
        return self.choice.swept


# Problems ------------------------------------------------------------------------------------------------------------


def problems_of(table: dict[str, Any], horizon: int | None, folder: File, mistakes: Mistakes) -> list[Setting]:
    """Return the problems that a table describes."""
    path: Path = ("problem",)
    explicit = table.get(SWEEP)
    swept = set(explicit) - {"preset"} if isinstance(explicit, dict) else set()
    given = [key for key in ("preset", *_READERS, _INLINE) if key in table or key in swept]
    if not given:
        mistakes.add(
            path,
            'does not say which problem: give preset = "synthetic", or mean, covariance and risk_aversion, or '
            'file = "returns.csv" with kind = "returns" or "prices"',
        )
        return []
    if len(given) > 1:
        mistakes.add((*path, given[1]), f"the problem is given by {given[0]} already; keep one of them")
        return []
    if given[0] == "preset":
        return list(_presets(table, path, horizon, mistakes))
    if given[0] == _INLINE:
        return [
            Setting(problem, None, choice.swept)
            for choice in choices_of(table, path, parameters_of(Problem), "a problem", mistakes)
            if (problem := _built(Problem, choice, path, {}, mistakes)) is not None
        ]
    return list(_fitted(table, path, given[0], folder, mistakes))


def _presets(table: dict[str, Any], path: Path, horizon: int | None, mistakes: Mistakes) -> Iterator[Setting]:
    for name, make, swept, rest in _heads(table, path, "preset", presets(), "preset", callable, mistakes):
        filled = {"horizon": horizon} if "horizon" in parameters_of(make) and horizon is not None else {}
        parameters = optional(parameters_of(make), filled)
        history = data.etf_returns() if name == "etf" else None
        for choice in choices_of(rest, path, parameters, f"preset {as_toml(name)}", mistakes):
            problem = _built(make, choice, path, filled, mistakes)
            if isinstance(problem, Problem | ProblemDistribution):
                yield Setting(problem, history, {**swept, **choice.swept})
            elif problem is not None:
                mistakes.add((*path, "preset"), f"gave a {type(problem).__name__}, not a covbandit.Problem")


def _fitted(table: dict[str, Any], path: Path, key: str, folder: File, mistakes: Mistakes) -> Iterator[Setting]:
    read = _READERS[key]
    # Its first parameter is the file; the others keep their names.
    first, *others = parameters_of(read).values()
    reading = {key: replace(first, name=key, kind=str), **{other.name: other for other in others}}
    fitting = parameters_of(data.Returns.problem)
    known: dict[str, data.Returns | None] = {}
    for choice in choices_of(table, path, {**reading, **fitting}, f"a problem with {key}", mistakes):
        source = Choice(*({k: v for k, v in part.items() if k in reading} for part in vars(choice).values()))
        shape = Choice(*({k: v for k, v in part.items() if k in fitting} for part in vars(choice).values()))
        mark = json.dumps(source.values, sort_keys=True, default=str)
        if mark not in known:
            known[mark] = _read(read, key, source, folder, mistakes)
        if (history := known[mark]) is not None:
            problem = _built(history.problem, shape, path, {}, mistakes)
            if problem is not None:
                yield Setting(problem, history, choice.swept)


def _read(
    read: Callable[..., data.Returns], key: str, choice: Choice, folder: File, mistakes: Mistakes
) -> data.Returns | None:
    name = choice.values[key]
    if key != "packaged":
        name = folder / name
        if not name.is_file():
            mistakes.add(choice.paths[key], f"no such file in {folder.resolve()}, the folder of the specification")
            return None

    def build(values: Mapping[str, Any]) -> data.Returns:
        return read(name, **{k: v for k, v in values.items() if k != key})

    try:
        return build(choice.values)
    except REFUSALS as error:
        mistakes.add(blame(str(error), choice, build, choice.paths[key]), str(error))
        return None


# Environments --------------------------------------------------------------------------------------------------------


def environments_of(table: dict[str, Any], mistakes: Mistakes) -> list[tuple[Choice, type[Environment], Path]]:
    """Return the environments that a table describes, still to be built: a history comes with the problem."""
    path: Path = ("environment",)
    if not table:
        return [(Choice({}, {}, {}), Gaussian, path)]
    if "class" not in table:
        mistakes.add(
            (*path, "class"), f"is missing; an environment needs it: {', '.join(map(as_toml, environment_classes()))}"
        )
        return []
    found = []
    heads = _heads(table, path, "class", environment_classes(), "environment", _is(Environment), mistakes)
    for name, kind, swept, rest in heads:
        parameters = {key: each for key, each in parameters_of(kind).items() if key != "returns"}
        for choice in choices_of(rest, path, parameters, f"environment {as_toml(name)}", mistakes):
            told = {"environment": name} if swept else {}
            found.append((replace(choice, swept={**told, **choice.swept}), kind, path))
    return found


def environment_for(
    entry: tuple[Choice, type[Environment], Path], setting: Setting, mistakes: Mistakes
) -> Environment | None:
    """Return an environment for one problem."""
    choice, kind, path = entry
    filled = {}
    if "returns" in parameters_of(kind):
        if setting.history is None:
            mistakes.add(
                (*path, "class"),
                "needs a history, which this problem has not; give the problem as file, etf_file or packaged, or as "
                'preset = "etf"',
            )
            return None
        filled = {"returns": setting.history}
    made = _built(kind, choice, path, filled, mistakes)
    return made if isinstance(made, Environment) else None


# Learners ------------------------------------------------------------------------------------------------------------


def learners_of(tables: list[dict[str, Any]], mistakes: Mistakes) -> list[Entry]:
    """Return the learners that tables describe, still to be built."""
    entries: dict[str, Entry] = {}
    for k, table in enumerate(tables):
        path: Path = ("learners", k)
        if "class" not in table:
            mistakes.add(
                (*path, "class"), f"is missing; a learner needs it: {', '.join(map(as_toml, learner_classes()))}"
            )
            continue
        title = table.get("name")
        if not isinstance(title, str | None) or title == "":
            mistakes.add((*path, "name"), 'must be text, in quotes ("...")')
            continue
        table = {key: value for key, value in table.items() if key != "name"}
        heads = _heads(table, path, "class", learner_classes(), "learner", _is(Learner), mistakes)
        for class_name, kind, swept, rest in heads:
            parameters = optional(parameters_of(kind), _FROM_PROBLEM)
            for choice in choices_of(rest, path, parameters, f"learner {as_toml(class_name)}", mistakes):
                short = class_name.rpartition(":")[2]
                told = [title or short] + ([short] if title and swept else [])
                name = ", ".join([*told, *([choice.label] if choice.label else [])])
                if name in entries:
                    mistakes.add(
                        (*path, "class" if title is None else "name"),
                        f"there is a learner {name!r} already, learners[{entries[name].path[1] + 1}]; "  # type: ignore[operator]
                        'give one of them another name = "..."',
                    )
                entries[name] = Entry(name, kind, choice, path)
    return list(entries.values())


def learner_for(entry: Entry, problem: Problem, at: str, mistakes: Mistakes) -> Learner | None:
    """Return a learner for one problem; its d, ρ and decision set are the problem's unless given."""
    takes = parameters_of(entry.kind)
    filled = {key: getattr(problem, key) for key in _FROM_PROBLEM if key in takes}
    learner = _built(entry.kind, entry.choice, entry.path, filled, mistakes)
    if not isinstance(learner, Learner):
        return None
    reason = learner.mismatch(problem)
    if reason is None:
        return learner
    ours = [key for key in _FROM_PROBLEM if key in entry.choice.values]
    given = next((key for key in ours if key.removeprefix("n_") in reason), None)  # it says "3 options"
    where = f" ({at})" if at else ""
    if given is None:
        mistakes.add(
            (*entry.path, "class"), f"cannot play the problem{where}: {reason}; choose another learner or problem"
        )
    else:
        mistakes.add(
            entry.choice.paths[given],
            f"contradicts the problem{where}: {reason}; leave it out, and it is taken from the problem",
        )
    return None


# Shared --------------------------------------------------------------------------------------------------------------


def _is(base: type[Any]) -> Callable[[Any], bool]:
    return lambda kind: inspect.isclass(kind) and issubclass(kind, base) and not inspect.isabstract(kind)


def _heads(
    table: dict[str, Any],
    path: Path,
    key: str,
    known: dict[str, Any],
    what: str,
    fits: Callable[[Any], bool],
    mistakes: Mistakes,
) -> Iterator[tuple[str, Any, dict[str, Any], dict[str, Any]]]:
    """Yield the class or preset that a table names, or each of a list of them, and the rest of the table.

    Each comes as its name, what it stands for, the name again if there are several, and the rest.
    """
    several = isinstance(table[key], list)
    if table[key] == []:
        mistakes.add((*path, key), f"names no {what}; name one, or several")
    rest = {other: value for other, value in table.items() if other != key}
    for k, name in enumerate(table[key] if several else [table[key]]):
        where = (*path, key, k) if several else (*path, key)
        try:
            found = find(name, known, what)
        except InvalidInput as error:
            mistakes.add(where, str(error))
            continue
        if not fits(found):
            mistakes.add(where, f"is no {what}; one of your own derives from that class of covbandit")
            continue
        yield name, found, {key: name} if several else {}, rest


def _built(
    make: Callable[..., Any], choice: Choice, path: Path, filled: Mapping[str, Any], mistakes: Mistakes
) -> Any | None:
    """Return what a class or function makes of the values; note why it refuses them."""

    def build(values: Mapping[str, Any]) -> Any:
        return make(**{**filled, **values})

    try:
        return build(choice.values)
    except REFUSALS as error:
        mistakes.add(blame(str(error), choice, build, path), str(error))
        return None
