"""Theorems 2 and 4: distributions of problems on which every learner pays."""

from __future__ import annotations

from math import ceil, floor, log, sqrt

import numpy as np

from covbandit.core import validation
from covbandit.core.size_limits import as_n_options, as_rounds
from covbandit.errors import InvalidInput
from covbandit.problems.distribution import ProblemDistribution
from covbandit.problems.problem import Problem


class FullInformationLowerBound(ProblemDistribution):
    r"""Theorem 2: on these problems every learner pays :math:`Ω(\sqrt T)`, even one that sees all rewards.

    .. math:: θ ∼ N(0, I/ω), \quad ω = 36(d-1)^2 T, \qquad Σ = I, \qquad ρ = 1/\sqrt T

    The horizon is part of the instance: play it for T rounds. The proof needs 2 ≤ d ≤ 18.

    Parameters
    ----------
    n_options : int
        d, from 2 to 18.
    horizon : int
        T.

    Attributes
    ----------
    regret_floor : float
        What the proof says every learner pays at least, on average over the distribution. Its constant is tiny.

    Examples
    --------
    >>> import covbandit as cb
    >>> family = cb.theory.FullInformationLowerBound(5, horizon=10_000)
    >>> family.risk_aversion, family.draw(seed=0, index=3).covariance.trace().item()
    (0.01, 5.0)
    """

    def __init__(self, n_options: int, horizon: int) -> None:
        self.n_options = as_n_options(n_options, 1)
        self.horizon = as_rounds(horizon)
        if not 2 <= self.n_options <= 18:
            raise InvalidInput(f"n_options must be 2 to 18, where the proof of Theorem 2 holds, got {self.n_options}")
        self.risk_aversion = 1 / sqrt(self.horizon)
        self.precision = 36.0 * (self.n_options - 1) ** 2 * self.horizon
        self.name = f"Theorem 2, {self.n_options} options, T = {self.horizon:,}"

    def draw(self, seed: int, index: int) -> Problem:
        """Return the problem of replication `index`."""
        d = self.n_options
        return Problem(
            mean=self.generator(seed, index).standard_normal(d) / sqrt(self.precision),
            covariance=np.eye(d),
            risk_aversion=self.risk_aversion,
            name=self.name,
        )

    @property
    def regret_floor(self) -> float:
        """The lower bound, with the constant of its proof."""
        within, apart = 0.997**self.n_options, 0.75 ** ceil(self.n_options / 2)
        growth = log((self.horizon + self.precision) / (1 + self.precision))
        return 0.01125 * (within + apart - 1) * within / self.risk_aversion * growth


class SemiBanditLowerBound(ProblemDistribution):
    r"""Theorem 4: on these problems every learner that sees only what it chose pays :math:`Ω(\sqrt{cdT})`.

    One option, drawn at random, is worth ½+ε and the others ½:

    .. math:: ε = a_0 \sqrt{\frac{d}{Tm}} ≤ \tfrac12, \quad m = ⌊1/c⌋, \qquad Σ = I, \qquad ρ = \frac{ε}{2(1-c)}

    The better option alone is then an optimum; so is c on any other and the rest on it. The horizon is part of the
    instance: play it for T rounds. The proof needs d ≥ 4 and 2/d ≤ c ≤ ½.

    Parameters
    ----------
    n_options : int
        d, from 4 on.
    horizon : int
        T.
    min_weight : float
        c, from 2/d to 1/2.
    constant : float, optional
        a₀, "small enough" in the paper; by default 1 - m/d, which makes the proven floor largest.

    Attributes
    ----------
    regret_floor : float
        What the proof says every learner pays at least, on average over the distribution.

    Examples
    --------
    >>> import covbandit as cb
    >>> family = cb.theory.SemiBanditLowerBound(8, horizon=10_000, min_weight=0.25)
    >>> round(family.gap, 6), round(family.risk_aversion, 6), round(family.regret_floor, 3)
    (0.007071, 0.004714, 8.839)
    >>> family.draw(seed=0, index=0).mean.round(3).tolist()
    [0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.507, 0.5]
    """

    def __init__(self, n_options: int, horizon: int, min_weight: float, constant: float | None = None) -> None:
        d = self.n_options = as_n_options(n_options, 4)
        self.horizon = as_rounds(horizon)
        self.min_weight = validation.as_float(min_weight, "min_weight")
        if not 2 / d - 1e-12 <= self.min_weight <= 0.5:
            raise InvalidInput(
                f"min_weight must be 2/d = {2 / d:.6g} to 1/2, where the proof of Theorem 4 holds, got {min_weight}"
            )
        self.most_chosen = floor(1 / self.min_weight + 1e-9)
        spare = 1 - self.most_chosen / d
        self.constant = spare if constant is None else validation.as_positive(constant, "constant")
        self.gap = self.constant * sqrt(d / (self.horizon * self.most_chosen))
        if self.gap > 0.5:
            raise InvalidInput(
                f"the better option would be better by {self.gap:.6g}, more than the 1/2 of Theorem 4; take a longer "
                "horizon or a smaller constant"
            )
        self.risk_aversion = self.gap / (2 * (1 - self.min_weight))
        self.name = f"Theorem 4, {d} options, c = {self.min_weight:g}, T = {self.horizon:,}"

    def draw(self, seed: int, index: int) -> Problem:
        """Return the problem of replication `index`."""
        mean = np.full(self.n_options, 0.5)
        mean[self.generator(seed, index).integers(self.n_options)] += self.gap
        return Problem(
            mean=mean,
            covariance=np.eye(self.n_options),
            risk_aversion=self.risk_aversion,
            min_weight=self.min_weight,
            name=self.name,
        )

    @property
    def regret_floor(self) -> float:
        """The lower bound, with the constant of its proof; 0 if a₀ is too large for it."""
        share = 1 - self.most_chosen / self.n_options - self.constant / 2
        return max(0.0, self.horizon * share * self.gap / 2)
