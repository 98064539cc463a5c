"""What a study has learned: estimated moments of its options, and the trade-offs that follow from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from covbandit.core import validation
from covbandit.core.typing import F64
from covbandit.errors import CovbanditError
from covbandit.learners import Learner
from covbandit.maximization import maximize_utility
from covbandit.maximization.utility import nearest_positive_semidefinite
from covbandit.problems.problem import Problem
from covbandit.risk import risk_path
from covbandit.studies.configuration import Configuration

Known = tuple[float | None, ...]


@dataclass(frozen=True)
class StudyEstimates:
    """The learner's estimates by option; None where it knows nothing.

    Attributes
    ----------
    options : tuple of str
        All options ever, retired ones included.
    in_use : tuple of bool
        Which are not retired.
    mean : tuple of float or None
        Estimated mean reward per unit of weight.
    width, width_kind
        How far off each mean may be, and what that width is, in words.
    count : tuple of float
        How often each option was seen.
    covariance, correlation : tuple of tuples
        Estimated, as the learner itself uses them; None where a pair is not known. A correlation beyond ±1, as
        patchworks of estimates can have, is shown as ±1.
    """

    options: tuple[str, ...]
    in_use: tuple[bool, ...]
    mean: Known
    width: Known
    width_kind: str
    count: tuple[float, ...]
    covariance: tuple[Known, ...]
    correlation: tuple[Known, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, text, None and lists."""
        return {each.name: _listed(getattr(self, each.name)) for each in fields(self)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Undo `to_dict`."""
        return cls(**{each.name: _tupled(data[each.name]) for each in fields(cls)})


@dataclass(frozen=True)
class Frontier:
    """Mean against risk: what is attainable by the estimates, where the study stands, and what would be best.

    Attributes
    ----------
    known : bool
        Whether mean and covariance are estimated yet.
    reason : str or None
        Why not.
    risk_aversion : float or None
        The study's ρ.
    points : tuple of dict
        ``risk_aversion``, ``mean``, ``sd`` and ``weights`` by option along the efficient frontier, from daring to
        cautious.
    current : dict or None
        ``mean``, ``sd``, their standard errors ``mean_error`` and ``sd_error`` (None if unknown) and ``weights`` of
        what the study proposes now.
    optimal : dict or None
        The same for the best weights at the study's ρ, were the estimates true.
    error_kind : str
        What the errors are, in words.
    """

    known: bool
    reason: str | None
    risk_aversion: float | None
    points: tuple[dict[str, Any], ...] = ()
    current: dict[str, Any] | None = None
    optimal: dict[str, Any] | None = None
    error_kind: str = field(default="unknown")

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, text, None and lists."""
        return {each.name: _listed(getattr(self, each.name)) for each in fields(self)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Undo `to_dict`."""
        return cls(**{each.name: _tupled(data[each.name]) for each in fields(cls)})


def _listed(value: Any) -> Any:
    return [_listed(item) for item in value] if isinstance(value, tuple) else value


def _tupled(value: Any) -> Any:
    return tuple(_tupled(item) for item in value) if isinstance(value, list) else value


def _array(value: Any, shape: tuple[int, ...]) -> F64:
    if value is None:
        return np.full(shape, np.nan)
    array = np.array(value, dtype=np.float64)
    array[~np.isfinite(array)] = np.nan
    return array


def _known(values: F64) -> Known:
    return tuple(None if value != value else value for value in values.tolist())


def estimates_of(learner: Learner, configuration: Configuration) -> StudyEstimates:
    """Return a learner's estimates by option."""
    found = learner._estimates()
    d = learner.n_options
    covariance = _array(found.covariance, (d, d))
    deviation = np.sqrt(np.where(covariance.diagonal() > 0, covariance.diagonal(), np.nan))
    correlation = np.clip(covariance / np.outer(deviation, deviation), -1, 1)
    return StudyEstimates(
        options=configuration.options,
        in_use=tuple(name not in configuration.retired for name in configuration.options),
        mean=_known(_array(found.mean, (d,))),
        width=_known(_array(found.width, (d,))),
        width_kind=found.width_kind,
        count=tuple(learner.counts.tolist()),
        covariance=tuple(map(_known, covariance)),
        correlation=tuple(map(_known, correlation)),
    )


def frontier_of(learner: Learner, configuration: Configuration, points: int) -> Frontier:
    """Return the efficient frontier by a learner's estimates, with what it proposes now."""
    points = validation.as_count(points, "points", 2)
    found = learner._estimates()
    rho = learner.risk_aversion
    mean = _array(found.mean, (learner.n_options,))
    covariance = _array(found.covariance, (learner.n_options,) * 2)
    usable = np.array([name not in configuration.retired for name in configuration.options])
    usable &= ~np.isnan(mean) & ~np.isnan(covariance.diagonal())
    chosen = np.flatnonzero(usable)
    while chosen.size and np.isnan(covariance[np.ix_(chosen, chosen)]).any():  # the one that lacks most pairs goes
        chosen = np.delete(chosen, np.isnan(covariance[np.ix_(chosen, chosen)]).sum(axis=1).argmax())
    if chosen.size == 0:
        reason = "mean and covariance are not estimated yet; they need at least two rounds that show the options"
        return Frontier(False, reason, rho)
    sigma = covariance[np.ix_(chosen, chosen)]
    if not validation.is_positive_semidefinite(sigma):
        sigma = nearest_positive_semidefinite(sigma)
    sketch = _Sketch(learner, configuration, chosen, mean[chosen], sigma, _array(found.width, (learner.n_options,)))
    try:
        path = risk_path(Problem(mean=sketch.mean, covariance=sigma, risk_aversion=rho or 0.0), points=points)
        grid = [sketch.point(sketch.best(float(each)), float(each)) for each in path.risk_aversion]
        optimal = None if rho is None else sketch.standing(sketch.best(rho))
    except CovbanditError as error:  # caps that those known so far cannot fill, for example
        return Frontier(False, f"no frontier can be drawn for the options known so far: {error}", rho)
    now = learner.ask()
    outside = np.delete(now, chosen)
    current = sketch.standing(now[chosen]) if not outside.any() else None
    return Frontier(True, None, rho, tuple(grid), current, optimal, sketch.error_kind)


@dataclass(frozen=True, eq=False)
class _Sketch:
    """The options that a frontier is drawn for."""

    learner: Learner
    configuration: Configuration
    chosen: NDArray[np.intp]
    mean: F64
    sigma: F64
    width: F64

    def best(self, rho: float) -> F64:
        caps = self.learner.max_weight
        optimum = maximize_utility(
            self.mean,
            self.sigma,
            rho,
            min_weight=self.learner.min_weight,
            max_weight=None if caps is None else caps[self.chosen],
            indefinite="project",
        )
        return optimum.weights

    def point(self, weights: F64, rho: float) -> dict[str, Any]:
        names = self.configuration.options
        return {
            "risk_aversion": rho,
            "mean": float(weights @ self.mean),
            "sd": self._sd(weights),
            "weights": {names[i]: float(w) for i, w in zip(self.chosen, weights, strict=True)},
        }

    def standing(self, weights: F64) -> dict[str, Any]:
        errors = self._errors(weights)
        point = self.point(weights, 0.0)
        del point["risk_aversion"]
        return {**point, "mean_error": errors[0], "sd_error": errors[1]}

    def _sd(self, weights: F64) -> float:
        return float(np.sqrt(max(float(weights @ self.sigma @ weights), 0.0)))

    @property
    def error_kind(self) -> str:
        if self.learner.feedback == "all":
            return "standard errors, from the rounds that show all these options and as if rewards were normal"
        return (
            "at most one standard error of the mean, whatever the correlation of the options' errors; that of the "
            "standard deviation from the option seen least, as if rewards were normal"
            if self.learner.feedback == "chosen"
            else "at most one standard error of the mean, whatever the correlation of the options' errors; that of the "
            "standard deviation is unknown"
        )

    def _errors(self, weights: F64) -> tuple[float | None, float | None]:
        held = weights > 0
        seen = self.learner.counts[self.chosen][held]
        least = float(seen.min()) if seen.size else 0.0
        sd = self._sd(weights)
        spread = float(sd / np.sqrt(2 * (least - 1))) if least > 1 and self.learner.feedback != "total" else None
        if self.learner.feedback == "all":
            return (float(sd / np.sqrt(least - 1)) if least > 1 else None), spread
        if self.learner.feedback == "chosen":
            singles = np.sqrt(self.sigma.diagonal()[held] / np.maximum(seen - 1, 1)) if least > 1 else None
        else:
            singles = self.width[self.chosen][held]
        if singles is None or np.isnan(singles).any():
            return None, spread
        return float(weights[held] @ singles), spread
