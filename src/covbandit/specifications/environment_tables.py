"""From the table `[environment]` to environments."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

from covbandit.environments import Environment, Gaussian
from covbandit.specifications.building import Kind, Maker
from covbandit.specifications.catalogue import environment_classes
from covbandit.specifications.choices import Choice, choices_of
from covbandit.specifications.locator import Path
from covbandit.specifications.mistakes import Mistakes, as_toml
from covbandit.specifications.problem_tables import Setting
from covbandit.specifications.signatures import parameters_of

_PATH: Path = ("environment",)


@dataclass(frozen=True)
class World:
    """An environment still to be built: a history comes with the problem."""

    maker: Maker
    choice: Choice
    swept: dict[str, Any]


def environments_of(table: dict[str, Any], mistakes: Mistakes) -> list[World]:
    """Return the environments that a table describes, still to be built."""
    if not table:
        return [World(Maker(Gaussian, parameters_of(Gaussian), Environment, _PATH), Choice({}, {}, {}), {})]
    if "class" not in table:
        mistakes.add(
            (*_PATH, "class"), f"is missing; an environment needs it: {', '.join(map(as_toml, environment_classes()))}"
        )
        return []
    kind = Kind(
        key="class",
        what="environment",
        known=environment_classes(),
        wanted=Environment,
        fits=_is_environment,
        own="derives from covbandit.environments.Environment and defines sampler",
    )
    found: list[World] = []
    for maker, several, rest in kind.named(table, _PATH, mistakes):
        parameters = {key: each for key, each in maker.parameters.items() if key != "returns"}
        choices = choices_of(rest, _PATH, parameters, f"environment {as_toml(maker.name)}", mistakes)
        told = {"environment": maker.name} if several else {}
        found += [World(maker, choice, {**told, **choice.swept}) for choice in choices]
    return found


def environment_for(world: World, setting: Setting, mistakes: Mistakes) -> Environment | None:
    """Return an environment for one problem."""
    filled = {}
    if "returns" in world.maker.parameters:
        if setting.history is None:
            mistakes.add(
                world.maker.where,
                "needs a history, which this problem has not; give the problem as file, etf_file or packaged, or as "
                'preset = "etf"',
            )
            return None
        filled = {"returns": setting.history}
    made: Environment | None = world.maker.built(world.choice, filled, mistakes)
    return made


def _is_environment(found: Any) -> bool:
    return inspect.isclass(found) and issubclass(found, Environment) and not inspect.isabstract(found)
