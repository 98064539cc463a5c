"""Problems drawn at random: each replication of a simulation plays its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covbandit.core import validation
from covbandit.core.fingerprints import remember
from covbandit.errors import InvalidInput
from covbandit.problems.problem import Problem


class ProblemDistribution(ABC):
    """A distribution of problems with one number of options, risk aversion and decision set.

    `simulate` takes one in place of a problem: replication r plays ``draw(seed, r)``, and its regret is with respect to
    that problem. Write your own by subclassing: set the attributes and write `draw`, which must depend on its arguments
    alone.

    Attributes
    ----------
    n_options : int
        d, of every problem.
    risk_aversion : float
        ρ, of every problem.
    min_weight, max_weight
        The decision set of every problem, as in `Problem`.
    options : tuple of str or None
        Names of the options.
    name : str or None
        A title.

    Examples
    --------
    >>> import numpy as np
    >>> import covbandit as cb
    >>> class SomeMeans(cb.ProblemDistribution):
    ...     def __init__(self, n_options, risk_aversion):
    ...         self.n_options = n_options
    ...         self.risk_aversion = risk_aversion
    ...
    ...     def draw(self, seed, index):
    ...         means = self.generator(seed, index).normal(size=self.n_options)
    ...         return cb.Problem(mean=means, covariance=np.eye(self.n_options), risk_aversion=self.risk_aversion)
    >>> family = SomeMeans(3, 0.5)
    >>> learner = cb.MCEmpirical(n_options=3, risk_aversion=0.5)
    >>> cb.simulate(family, learner, horizon=100, replications=4).regret.shape[:2]
    (1, 4)
    """

    n_options: int
    risk_aversion: float
    min_weight: float | None = None
    max_weight: NDArray[np.float64] | None = None
    options: tuple[str, ...] | None = None
    name: str | None = None

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        remember(cls.__module__)

    @abstractmethod
    def draw(self, seed: int, index: int) -> Problem:
        """Return the problem of replication `index`; same arguments, same problem."""

    @staticmethod
    def generator(seed: int, index: int) -> np.random.Generator:
        """Return the generator of a draw, independent of those that draw the rewards."""
        key = (validation.as_count(index, "index"), 3)
        sequence = np.random.SeedSequence(validation.as_count(seed, "seed"), spawn_key=key)
        return np.random.Generator(np.random.PCG64(sequence))

    def to_dict(self) -> dict[str, Any]:
        """Return a description for result files."""
        return {"distribution": type(self).__name__, **vars(self)}


def checked_draw(distribution: ProblemDistribution, seed: int, index: int) -> Problem:
    """Return the problem of replication `index`; raise unless it is as the distribution's attributes promise."""
    problem = distribution.draw(seed, index)
    kind = type(distribution).__name__
    if not isinstance(problem, Problem):
        raise InvalidInput(f"draw of {kind} gave a {type(problem).__name__}, not a Problem")
    for attribute in ("n_options", "risk_aversion", "min_weight", "max_weight"):
        promised, drawn = getattr(distribution, attribute), getattr(problem, attribute)
        if not np.array_equal(promised, drawn):
            raise InvalidInput(
                f"problem {index} drawn from {kind} has {attribute} = {drawn}, the distribution {promised}: learners "
                "are built for one, so all draws must share it"
            )
    return problem
