"""The model: means, covariance, risk aversion and decision set of one instance."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from covbandit.core import validation
from covbandit.core.typing import F64
from covbandit.errors import InvalidInput
from covbandit.maximization import Optimum, solve


class Problem:
    r"""A mean-covariance problem with known parameters: the truth that a simulation plays against.

    .. math:: f(w) = w'θ - ρ\,w'Σw, \qquad w ∈ \{w ≥ 0, Σ_i w_i = 1\}

    With `min_weight` the decision set is :math:`Δ^c`: every weight is zero or at least c.

    Parameters
    ----------
    mean : array of d floats
        θ, the expected reward of each option.
    covariance : array, d × d
        Σ, symmetric and positive semi-definite.
    risk_aversion : float
        ρ ≥ 0, the mean given up per unit of variance.
    min_weight : float, optional
        c, above 0 and at most 1: every weight is zero or at least c. Above 1/2 only one option can have weight; above
        1/d not all can. Weights that miss c by less than 1e-9 pass.
    max_weight : float or array of d floats, optional
        Caps on the weights. Not together with `min_weight`.
    options : sequence of str, optional
        Names, used in messages and tables.
    name : str, optional
        A title for figures and reports.

    Examples
    --------
    >>> import covbandit as cb
    >>> p = cb.Problem(mean=[0.2, 0.3], covariance=[[1.0, 0.0], [0.0, 1.0]], risk_aversion=0.5)
    >>> p.optimum().weights.tolist()
    [0.45, 0.55]
    >>> round(p.gap([0.5, 0.5]), 12)
    0.0025
    """

    def __init__(
        self,
        *,
        mean: ArrayLike,
        covariance: ArrayLike,
        risk_aversion: float,
        min_weight: float | None = None,
        max_weight: ArrayLike | None = None,
        options: Sequence[str] | None = None,
        name: str | None = None,
    ) -> None:
        theta = validation.as_array(mean, "mean", 1)
        self.options = validation.as_options(options, theta.size)
        self.mean: F64 = validation.as_vector(mean, "mean", None, self.options)
        self.covariance: F64 = validation.as_symmetric(covariance, "covariance", self.mean.size, self.options)
        validation.require_positive_semidefinite(self.covariance, "covariance")
        self.risk_aversion = validation.as_risk_aversion(risk_aversion)
        self.min_weight: float | None = validation.as_min_weight(min_weight, max_weight)
        self.max_weight: F64 | None = validation.as_caps(max_weight, self.mean.size, self.options)
        self.name = name
        for array in (self.mean, self.covariance, self.max_weight):
            if array is not None:
                array.setflags(write=False)

    def __setattr__(self, name: str, value: object) -> None:
        if name in self.__dict__:  # the optimum is computed once
            raise AttributeError(f"a Problem does not change: build another one instead of setting {name}")
        super().__setattr__(name, value)

    @property
    def n_options(self) -> int:
        """The number of options d."""
        return self.mean.size

    @property
    def variance_bound(self) -> float:
        """The largest variance of an option: the paper's unit, in which it is 1."""
        return float(self.covariance.diagonal().max())

    def __repr__(self) -> str:
        title = f"{self.name!r}, " if self.name else ""
        return f"Problem({title}n_options={self.n_options}, risk_aversion={self.risk_aversion:g})"

    def utility(self, weights: ArrayLike) -> float:
        """Return f(w)."""
        w = validation.as_weights(weights, self.n_options, self.options)
        return float(w @ self.mean - self.risk_aversion * (w @ self.covariance @ w))

    def optimum(self) -> Optimum:
        """Return the best weights, with their certificate."""
        return self._optimum

    @cached_property
    def _optimum(self) -> Optimum:
        caps = None if self.max_weight is None else self.max_weight.copy()
        optimum = solve(  # kernels take writable arrays only, hence the copies
            self.mean.copy(),
            self.covariance.copy(),
            self.risk_aversion,
            caps,
            np.zeros(self.n_options),
            self.min_weight,
        )
        optimum.weights.setflags(write=False)
        return optimum

    @cached_property
    def reduced_gradient(self) -> F64:
        """The gradient at the optimum less its multiplier: zero on free options.

        Without `min_weight` it is at most zero where a weight is 0. With it nothing is known of its sign there: leaving
        the optimum for another support may raise the linear part of the utility.
        """
        w = self._optimum.weights
        gradient = self.mean - self.mean[0] - 2 * self.risk_aversion * (self.covariance @ w)
        if self.min_weight is not None:
            free = w > self.min_weight + 1e-12
            share = w[free] if free.any() else w
            reduced = gradient - share @ gradient[free if free.any() else slice(None)] / share.sum()
            reduced[free] = 0.0
            reduced.setflags(write=False)
            return np.asarray(reduced)
        # Weights are normalised last, so one at its cap may have ended an ulp below it.
        capped = np.zeros(w.size, dtype=bool) if self.max_weight is None else (w > 0) & (w >= self.max_weight - 1e-14)
        free = (w > 0) & ~capped
        multiplier = w[free] @ gradient[free] / w[free].sum() if free.any() else gradient[capped].min()
        reduced = gradient - multiplier
        reduced[free] = 0.0
        reduced[w == 0] = np.minimum(reduced[w == 0], 0.0)
        reduced[capped] = np.maximum(reduced[capped], 0.0)
        reduced.setflags(write=False)
        return np.asarray(reduced)

    def gap(self, weights: ArrayLike) -> float:
        r"""Return f(w*) - f(w), accurate down to rounding near the optimum.

        Subtracting two utilities is noise below 1e-7. Since f is quadratic,

        .. math:: f(w^*) - f(w) = r'(w^* - w) + ρ (w - w^*)'Σ(w - w^*),

        with r the gradient at w* less its multiplier. Both terms are non-negative, so nothing cancels. (With
        `min_weight` the first may be negative where another support is nearly as good.)
        """
        w = validation.as_weights(weights, self.n_options, self.options)
        if self.max_weight is not None and (w > self.max_weight + validation.SUM_TOLERANCE).any():
            i = int(np.argmax(w - self.max_weight))
            raise InvalidInput(
                f"{validation.label(i, self.options)}: weight {w[i]:.12g} exceeds its max_weight "
                f"{self.max_weight[i]:.12g}"
            )
        if self.min_weight is not None:
            validation.require_min_weight(w, self.min_weight, self.options)
        away = w - self._optimum.weights
        return float(self.risk_aversion * (away @ self.covariance @ away) - self.reduced_gradient @ away)

    def to_dict(self) -> dict[str, Any]:
        """Return everything needed to build the problem again, as plain numbers and strings."""
        return {
            "mean": self.mean.tolist(),
            "covariance": self.covariance.tolist(),
            "risk_aversion": self.risk_aversion,
            "min_weight": self.min_weight,
            "max_weight": None if self.max_weight is None else self.max_weight.tolist(),
            "options": None if self.options is None else list(self.options),
            "name": self.name,
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Problem:
        """Build the problem that `to_dict` described."""
        unknown = set(content) - set(inspect.signature(cls).parameters)
        missing = {"mean", "covariance", "risk_aversion"} - set(content)
        if unknown or missing:
            raise InvalidInput(
                f"not the description of a problem: {sorted(unknown)} are unknown, {sorted(missing)} are missing; "
                "Problem.to_dict gives one"
            )
        return cls(**content)
