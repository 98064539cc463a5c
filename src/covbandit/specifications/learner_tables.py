"""From the tables `[[learners]]` to learners."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

from covbandit.learners import Learner, learner_classes
from covbandit.problems.problem import Problem
from covbandit.specifications.diagnostics import Mistakes, as_toml
from covbandit.specifications.factories import Maker, Registry
from covbandit.specifications.sweep_tables import Choice, choices_of, in_words, optional
from covbandit.specifications.toml_positions import KeyPath

_FROM_PROBLEM = ("n_options", "risk_aversion", "min_weight", "max_weight")


@dataclass(frozen=True)
class PendingLearner:
    """A learner still to be built: its parameters depend on the problem."""

    name: str
    maker: Maker
    choice: Choice

    @property
    def swept(self) -> dict[str, Any]:
        """What tells it apart from others of the same table."""
        return self.choice.swept


def learners_of(tables: list[dict[str, Any]], mistakes: Mistakes) -> list[PendingLearner]:
    """Return the learners that tables describe, still to be built."""
    registry = Registry(
        key="class",
        what="learner",
        known=learner_classes(),
        wanted=Learner,
        fits=_is_learner,
        own="derives from covbandit.Learner, states its feedback, and decides and absorbs",
    )
    found: dict[str, PendingLearner] = {}
    for k, table in enumerate(tables):
        path: KeyPath = ("learners", k)
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
        for maker, several, rest in registry.named(table, path, mistakes):
            parameters = optional(maker.parameters, _FROM_PROBLEM)
            for choice in choices_of(rest, path, parameters, f"learner {as_toml(maker.name)}", mistakes):
                short = maker.name.rpartition(":")[2]
                told = [title or short] + ([short] if title and several else [])
                name = ", ".join([*told, *([choice.label] if choice.label else [])])
                if name in found:
                    mistakes.add(
                        (*path, "class" if title is None else "name"),
                        f"there is a learner {name!r} already, learners[{found[name].maker.table[1] + 1}]; "  # type: ignore[operator]
                        'give one of them another name = "..."',
                    )
                found[name] = PendingLearner(name, maker, choice)
    return list(found.values())


def _is_learner(candidate: Any) -> bool:
    """Return True if a class can play: `Learner` itself neither decides nor absorbs."""
    if not (inspect.isclass(candidate) and issubclass(candidate, Learner) and hasattr(candidate, "feedback")):
        return False
    decides = candidate._decide_kernel is not None or candidate._decide is not Learner._decide
    absorbs = candidate._absorb_kernel is not None or candidate._absorb is not Learner._absorb
    return decides and absorbs and not inspect.isabstract(candidate)


def learner_for(pending: PendingLearner, problem: Problem, at: str, mistakes: Mistakes) -> Learner | None:
    """Return a learner for one problem; its d, ρ and decision set are the problem's unless given."""
    maker, choice = pending.maker, pending.choice
    filled = {key: getattr(problem, key) for key in _FROM_PROBLEM if key in maker.parameters}
    learner: Learner | None = maker.built(choice, filled, mistakes)
    if learner is None:
        return None
    where = f" ({at})" if at else ""
    try:
        learner.config()  # needs each argument as an attribute
        reason = learner.mismatch(problem)
    except maker.refusals as error:
        mistakes.add(maker.where, f"cannot play the problem{where}: {in_words(error)}")
        return None
    if reason is None:
        return learner
    ours = [key for key in _FROM_PROBLEM if key in choice.values]
    given = next((key for key in ours if key.removeprefix("n_") in reason), None)  # it says "3 options"
    if given is None:
        mistakes.add(maker.where, f"cannot play the problem{where}: {reason}; choose another learner or problem")
    else:
        mistakes.add(
            choice.paths[given],
            f"contradicts the problem{where}: {reason}; leave it out, and it is taken from the problem",
        )
    return None
