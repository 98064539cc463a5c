"""Whether a study's ρ lies where it matters: in the wrong unit it is a thousand times off, and looks like any other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from covbandit.core import validation
from covbandit.errors import CovbanditError
from covbandit.learners import Learner
from covbandit.maximization.utility import nearest_positive_semidefinite
from covbandit.risk.landmarks import range_that_matters
from covbandit.risk.option_moments import Moments

ENOUGH = 10
"""So often every option must have been seen before anything is said."""

Verdict = Literal["matters", "too small", "too large"]

_SEEN_TOO_LITTLE = f"every option in use must have been seen {ENOUGH} times"
_FOLLOWS = {
    "too small": "Below, risk hardly counts: apart from exploration, the weights follow the best estimated mean.",
    "too large": "Above, means hardly count: apart from exploration, the weights are those of least variance.",
}
_UNIT = "ρ is in 1 / (unit of reward): check that it fits the numbers that are told"


@dataclass(frozen=True)
class RiskAversionCheck:
    """Whether a study's ρ lies in the range in which it matters, by the estimates so far.

    It is said once there are enough rounds: every option in use was seen at least 10 times, and mean and covariance of
    all of them and of all their pairs are estimated; where only totals are seen, at least 10 rounds and as many as
    there are means, variances and covariances to estimate. A ρ of 0, which ignores risk on purpose, is not judged.

    Attributes
    ----------
    known : bool
        Whether the range is known.
    reason : str or None
        Why not.
    risk_aversion : float or None
        The study's ρ.
    low, high : float or None
        The range: up to `low` risk does not change the best weights, which follow the best means; from `high` on their
        standard deviation is within 1 % of the least there is. It is that of `Study.frontier`: by the estimates, with
        caps, and without regard to ``min_weight``. `high` is None if there is no such end.
    verdict : {"matters", "too small", "too large"} or None
        Where ρ lies.
    message : str or None
        What to know, in words, if ρ lies outside the range.
    """

    known: bool
    reason: str | None
    risk_aversion: float | None
    low: float | None = None
    high: float | None = None
    verdict: Verdict | None = None
    message: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, text and None."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Undo `to_dict`; entries of newer versions are left out."""
        return cls(**{each.name: data[each.name] for each in fields(cls) if each.name in data})


def check_risk_aversion(learner: Learner, retired: tuple[str, ...]) -> RiskAversionCheck:
    """Judge a learner's ρ by its own estimates of the options in use."""
    rho = learner.risk_aversion
    if rho is None:
        return too_early(None)
    names = learner.options or ()
    used = np.flatnonzero([name not in retired for name in names])
    reason = _why_not_yet(learner, used)
    if reason is not None:
        return RiskAversionCheck(False, reason, rho)
    found = learner._estimates()
    mean, covariance = _of(found.mean, used), _of(found.covariance, used)
    if mean is None or covariance is None:
        return RiskAversionCheck(False, "not every mean and covariance of the options in use is estimated yet", rho)
    if not validation.is_positive_semidefinite(covariance):
        covariance = nearest_positive_semidefinite(covariance)
    caps = None if learner.max_weight is None else np.ascontiguousarray(learner.max_weight[used])
    try:
        low, high = range_that_matters(Moments(mean, covariance, None), caps)
    except CovbanditError as error:
        return RiskAversionCheck(False, f"the range cannot be computed: {error}", rho)
    if not low < high:
        return RiskAversionCheck(False, "by the estimates so far the best weights are the same for every ρ", rho)
    return _judged(rho, low, high)


def too_early(rho: float | None) -> RiskAversionCheck:
    """Return the check of a study that was told too little, or whose learner has no ρ."""
    reason = "the learner has no risk aversion" if rho is None else _SEEN_TOO_LITTLE
    return RiskAversionCheck(False, reason, rho)


def _why_not_yet(learner: Learner, used: NDArray[np.intp]) -> str | None:
    d = used.size
    if d < 2:
        return "a single option is in use, so there is nothing to choose"
    if learner.feedback == "chosen" and learner.min_weight is not None and learner.min_weight > 0.5:
        return "min_weight allows one option at a time, so mixtures are never seen"
    if learner.feedback == "total":
        needed = max(ENOUGH, d * (d + 3) // 2)
        return None if learner.rounds_told >= needed else f"it takes {needed} told rounds, and there are fewer"
    if (learner.counts[used] < ENOUGH).any():
        return _SEEN_TOO_LITTLE
    return None


def _of(values: Any, used: NDArray[np.intp]) -> NDArray[np.float64] | None:
    """Return estimates of the options in use, or None if some are missing."""
    if values is None:
        return None
    array = np.asarray(values, dtype=np.float64)
    chosen = np.ascontiguousarray(array[used] if array.ndim == 1 else array[np.ix_(used, used)])
    return chosen if np.isfinite(chosen).all() else None


def _judged(rho: float, low: float, high: float) -> RiskAversionCheck:
    verdict: Verdict = "too small" if 0 < rho < low else "too large" if rho > high else "matters"
    end = None if np.isinf(high) else high
    where = f"above {_short(low)}" if end is None else f"between {_short(low)} and {_short(high)}"
    message = None
    if verdict != "matters":
        message = (
            f"risk aversion ρ = {_short(rho, 6)} is {verdict} to matter: by the estimates so far ρ matters {where}. "
            f"{_FOLLOWS[verdict]} {_UNIT}."
        )
    return RiskAversionCheck(True, None, rho, low, end, verdict, message)


def _short(number: float, digits: int = 2) -> str:
    """Return a number without exponent where that can be read."""
    if not 1e-7 <= number < 1e9:
        return f"{number:.{digits}g}"
    return np.format_float_positional(number, digits, unique=False, fractional=False, trim="-")
