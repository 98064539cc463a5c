"""What semi-bandit learners share besides their kernels: arguments, certified decisions, doubts and explanations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from covbandit.core import validation
from covbandit.core.tables import as_number
from covbandit.core.typing import F64
from covbandit.errors import InvalidInput, Unsupported
from covbandit.kernels.jit.compilation import compiled, uncompiled
from covbandit.kernels.moments import pair_covariance
from covbandit.learners.protocol.base import Hold, Learner
from covbandit.learners.protocol.certification import certify_search
from covbandit.learners.protocol.explanation import Estimates
from covbandit.learners.protocol.serialization import require_counts, require_finite, require_whole
from covbandit.learners.protocol.setup_warnings import one_at_a_time
from covbandit.learners.semi_bandit.radii import RadiusState
from covbandit.learners.semi_bandit.statistics import PairState
from covbandit.maximization import Optimum

_ENOUGH = 10  # observations before a variance is compared with its bound


class SemiBanditLearner(Learner):
    """A learner that sees the chosen options only and maximises an optimistic utility by a fast search."""

    feedback = "chosen"
    _view: PairState
    _width_kind: ClassVar[str]
    _start_up_kernel: ClassVar[Callable[..., None]]

    def _remarks(self) -> tuple[str, ...]:
        remark = one_at_a_time(self.n_options, self.min_weight)
        return () if remark is None or self.risk_aversion is None else (remark,)  # without ρ, no risk is at stake

    def _check_saved(self, rounds: int, arrays: dict[str, F64], statistics: dict[str, Any]) -> None:
        require_counts(arrays, ["pair_count"], rounds)
        require_whole(arrays, "ready", 1)
        require_finite(arrays, ["mean", "pair_mean", "scatter"])

    def _on_retirement(self) -> None:
        compiled(self._kernel("_start_up_kernel"))(self._state)

    def certify(self, outstanding: int = 0, tolerance: float = 1e-9, node_limit: int = 1_000_000) -> Optimum:
        """Return the proven best weights of the next round, where `ask` only searches.

        To play them, tell them: what is told need not be what was asked.

        Parameters
        ----------
        outstanding : int
            As in `ask`.
        tolerance, node_limit
            See `maximize_optimistic`.

        Raises
        ------
        Unsupported
            During start-up, or while weights are held: there is nothing to maximise then.
        """
        weights = self.ask(outstanding)
        t = self.rounds_told + 1 + outstanding
        if self._view.ready == 0.0 or (self.hold is not None and t <= self.hold[1]):
            raise Unsupported(f"round {t} follows a schedule: there is nothing to certify before start-up is over")
        s = self._view
        # The penalty includes the risk aversion.
        problem = self._optimistic_means(), s.bonus, s.penalty, 1.0, self.min_weight
        return certify_search(s.cap > 0, weights, *problem, tolerance, node_limit)

    def _optimistic_means(self) -> F64:
        """Return the means that enter the optimistic utility."""
        return self._view.mean

    def _covariance(self) -> F64:
        """Return the estimated covariance, NaN for pairs never seen together and options seen but once."""
        s = self._view
        away = s.pair_mean - s.mean[:, None]
        with np.errstate(invalid="ignore", divide="ignore"):
            estimate = uncompiled(pair_covariance)(s.scatter, s.pair_count, away, away.T)
        estimate = np.where(s.pair_count > 0, estimate, np.nan)
        np.fill_diagonal(estimate, np.where(s.count > 1, estimate.diagonal(), np.nan))
        return np.asarray(estimate)

    def _estimates(self) -> Estimates:
        s = self._view
        seen = s.count > 0
        width = None
        if s.ready == 1.0:
            self._decide_into(self.rounds_told + 1, np.empty(self.n_options))
            width = self._widths()
        return Estimates(np.where(seen, s.mean, np.nan), self._covariance(), width, self._width_kind)

    def _widths(self) -> F64:
        """Return how far off each option's mean may be, after the decision of the next round."""
        return np.asarray(np.sqrt(np.maximum(self._view.bonus.diagonal(), 0.0)))


class UpperConfidenceLearner(SemiBanditLearner):
    """A learner of the paper's semi-bandit experiments: start-up by d² pulls, radii that need a bound on variances."""

    invariances = frozenset({"scale", "permutation"})
    cap_upper: bool = False
    _view: RadiusState
    _width_kind = "radius of the confidence region E of the option alone"

    def __init__(
        self,
        *,
        n_options: int,
        min_weight: float | None,
        regularization: float,
        variance_bound: float,
        radius_scale: tuple[float, float],
        gamma: ArrayLike | None = None,
        options: Sequence[str] | None = None,
        seed: int | None = None,
        hold: Hold | None = None,
    ) -> None:
        self.min_weight = validation.as_min_weight(min_weight)
        self.regularization = validation.as_positive(regularization, "regularization")
        self.variance_bound = validation.as_positive(variance_bound, "variance_bound")
        try:
            on_g, on_e = radius_scale
        except (TypeError, ValueError):
            raise InvalidInput(f"radius_scale must be a pair (on g, on E), got {radius_scale!r}") from None
        self.radius_scale = (
            validation.as_not_negative(on_g, "radius_scale of g"),
            validation.as_not_negative(on_e, "radius_scale of E"),
        )
        self.gamma: float | F64 | None = None
        if gamma is not None and np.ndim(gamma) == 0:
            self.gamma = validation.as_positive(gamma, "gamma")
        elif gamma is not None:
            size = validation.as_count(n_options, "n_options", 1)
            self.gamma = validation.as_symmetric(gamma, "gamma", size, validation.as_options(options, size))
        super().__init__(n_options=n_options, options=options, seed=seed, hold=hold)

    def _parameters(self) -> Mapping[str, ArrayLike]:
        bound = self.variance_bound if self.gamma is None else self.gamma
        return {
            "risk_aversion": self.risk_aversion or 0.0,
            "min_weight": self.min_weight or 0.0,
            "regularization": self.regularization,
            "variance_bound": self.variance_bound,
            "radius_scale_g": self.radius_scale[0],
            "radius_scale_e": self.radius_scale[1],
            "cap_upper": self.cap_upper,
            "gamma": np.broadcast_to(bound, (self.n_options, self.n_options)),
        }

    def _doubt(self) -> str | None:
        s = self._view
        n = s.count
        with np.errstate(invalid="ignore", divide="ignore"):
            variance = s.scatter.diagonal() / (n - 1)
            # Five standard deviations of a Gaussian's sample variance, by Wilson and Hilferty's formula since it is
            # skewed. The variance is checked many times, so a smaller margin would at some time be exceeded by chance.
            error = 2 / (9 * (n - 1))
            above = variance / (self.variance_bound * (1 - error + 5 * np.sqrt(error)) ** 3)
        above = np.where(n >= _ENOUGH, above, 0.0)
        worst = int(np.argmax(above))
        if not above[worst] > 1:
            return None
        return (
            f"{validation.label(worst, self.options)}: observed variance {as_number(float(variance[worst]), 6)} after "
            f"{n[worst]:.0f} observations exceeds variance_bound={self.variance_bound:g}, on which the confidence "
            f"radii of {type(self).__name__} rest; raise variance_bound, or use larger units of reward"
        )
