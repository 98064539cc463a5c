"""From the table `[environment]` to environments."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

from covbandit.environments import Environment, Gaussian
from covbandit.specifications.catalogue import environment_classes
from covbandit.specifications.diagnostics import Mistakes, as_toml
from covbandit.specifications.factories import Maker, Registry
from covbandit.specifications.problem_tables import ProblemSetup
from covbandit.specifications.signatures import parameters_of
from covbandit.specifications.sweep_tables import Choice, choices_of
from covbandit.specifications.toml_positions import KeyPath

_PATH: KeyPath = ("environment",)


@dataclass(frozen=True)
class PendingEnvironment:
    """An environment still to be built: a history comes with the problem."""

    maker: Maker
    choice: Choice
    swept: dict[str, Any]


def environments_of(table: dict[str, Any], mistakes: Mistakes) -> list[PendingEnvironment]:
    """Return the environments that a table describes, still to be built."""
    if not table:
        gaussian = Maker(Gaussian, parameters_of(Gaussian), Environment, _PATH)
        return [PendingEnvironment(gaussian, Choice({}, {}, {}), {})]
    if "class" not in table:
        mistakes.add(
            (*_PATH, "class"), f"is missing; an environment needs it: {', '.join(map(as_toml, environment_classes()))}"
        )
        return []
    registry = Registry(
        key="class",
        what="environment",
        known=environment_classes(),
        wanted=Environment,
        fits=_is_environment,
        own="derives from covbandit.environments.Environment and defines sampler",
    )
    found: list[PendingEnvironment] = []
    for maker, several, rest in registry.named(table, _PATH, mistakes):
        parameters = {key: each for key, each in maker.parameters.items() if key != "returns"}
        choices = choices_of(rest, _PATH, parameters, f"environment {as_toml(maker.name)}", mistakes)
        told = {"environment": maker.name} if several else {}
        found += [PendingEnvironment(maker, choice, {**told, **choice.swept}) for choice in choices]
    return found


def environment_for(pending: PendingEnvironment, setup: ProblemSetup, mistakes: Mistakes) -> Environment | None:
    """Return an environment for one problem."""
    filled = {}
    if "returns" in pending.maker.parameters:
        if setup.history is None:
            mistakes.add(
                pending.maker.where,
                "needs a history, which this problem has not; give the problem as file, etf_file or packaged, or as "
                'preset = "etf"',
            )
            return None
        filled = {"returns": setup.history}
    made: Environment | None = pending.maker.built(pending.choice, filled, mistakes)
    return made


def _is_environment(found: Any) -> bool:
    return inspect.isclass(found) and issubclass(found, Environment) and not inspect.isabstract(found)
