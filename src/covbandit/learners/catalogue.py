"""The learners of this package by name, for whoever chooses one in text."""

from __future__ import annotations

import inspect

from covbandit import learners
from covbandit.learners.base import Learner


def learner_classes() -> dict[str, type[Learner]]:
    """Return the learners of this package, by name."""
    return {
        name: kind
        for name in sorted(learners.__all__)
        if inspect.isclass(kind := getattr(learners, name)) and issubclass(kind, Learner) and kind is not Learner
    }
