"""The environment protocol: a stream of rewards per replication."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Protocol

import numpy as np

from covbandit.core.fingerprints import remember
from covbandit.core.typing import F64
from covbandit.problems.problem import Problem


class Sampler(Protocol):
    """The rewards of one replication, in order."""

    def draw(self, n: int) -> F64:
        """Return the rewards of the next n rounds, n × d. Two calls with n and m give what one with n + m gives."""
        ...


class Environment(ABC):
    """Where the rewards of a simulation come from.

    Write your own by subclassing: `sampler` returns an object with one method, ``draw(n)``. All learners of a
    replication see the same rewards. Seeds are given, never chosen, so that replication r gives the same rewards on
    any worker.
    """

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        remember(cls.__module__)

    @property
    def length(self) -> int | None:
        """How many rounds there are; None if there is no end."""
        return None

    def check(self, problem: Problem) -> None:  # noqa: B027  # most environments fit every problem
        """Raise unless the rewards of this environment are those of the problem. Called before a simulation starts."""

    @abstractmethod
    def sampler(self, problem: Problem, seed: int, replication: int) -> Sampler:
        """Return the stream of rewards for one replication."""

    def to_dict(self) -> dict[str, Any]:
        """Return a description for result files."""
        return {"environment": type(self).__name__, **vars(self)}


def generator(seed: int, replication: int, *stream: int) -> np.random.Generator:
    """Return the generator of a replication; further streams of the same replication are independent of it."""
    sequence = np.random.SeedSequence(seed, spawn_key=(replication, *stream))
    return np.random.Generator(np.random.PCG64(sequence))
