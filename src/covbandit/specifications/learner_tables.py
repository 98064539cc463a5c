"""From the tables `[[learners]]` to learners."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

from covbandit.learners import Learner, learner_classes
from covbandit.problems.problem import Problem
from covbandit.specifications.building import Kind, Maker
from covbandit.specifications.choices import Choice, choices_of, in_words, optional
from covbandit.specifications.locator import Path
from covbandit.specifications.mistakes import Mistakes, as_toml

_FROM_PROBLEM = ("n_options", "risk_aversion", "min_weight", "max_weight")


@dataclass(frozen=True)
class Entry:
    """A learner still to be built: its parameters depend on the problem."""

    name: str
    maker: Maker
    choice: Choice

    @property
    def swept(self) -> dict[str, Any]:
        """What tells it apart from others of the same table."""
        return self.choice.swept


def learners_of(tables: list[dict[str, Any]], mistakes: Mistakes) -> list[Entry]:
    """Return the learners that tables describe, still to be built."""
    kind = Kind(
        key="class",
        what="learner",
        known=learner_classes(),
        wanted=Learner,
        fits=_is_learner,
        own="derives from covbandit.Learner, states its feedback, and decides and absorbs",
    )
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
        for maker, several, rest in kind.named(table, path, mistakes):
            parameters = optional(maker.parameters, _FROM_PROBLEM)
            for choice in choices_of(rest, path, parameters, f"learner {as_toml(maker.name)}", mistakes):
                short = maker.name.rpartition(":")[2]
                told = [title or short] + ([short] if title and several else [])
                name = ", ".join([*told, *([choice.label] if choice.label else [])])
                if name in entries:
                    mistakes.add(
                        (*path, "class" if title is None else "name"),
                        f"there is a learner {name!r} already, learners[{entries[name].maker.table[1] + 1}]; "  # type: ignore[operator]
                        'give one of them another name = "..."',
                    )
                entries[name] = Entry(name, maker, choice)
    return list(entries.values())


def _is_learner(found: Any) -> bool:
    """Tell whether a class can play: `Learner` itself neither decides nor absorbs."""
    if not (inspect.isclass(found) and issubclass(found, Learner) and hasattr(found, "feedback")):
        return False
    decides = found._decide_kernel is not None or found._decide is not Learner._decide
    absorbs = found._absorb_kernel is not None or found._absorb is not Learner._absorb
    return decides and absorbs and not inspect.isabstract(found)


def learner_for(entry: Entry, problem: Problem, at: str, mistakes: Mistakes) -> Learner | None:
    """Return a learner for one problem; its d, ρ and decision set are the problem's unless given."""
    maker, choice = entry.maker, entry.choice
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
