"""What the learners that see every option share: how they go on when options come and go."""

from __future__ import annotations

from typing import Any

import numpy as np

from covbandit.core.typing import F64, I64
from covbandit.errors import StateFileError
from covbandit.learners.full_information import missing_rewards
from covbandit.learners.full_information.statistics import MomentState
from covbandit.learners.protocol.base import Learner
from covbandit.learners.protocol.explanation import STANDARD_ERROR, Estimates
from covbandit.learners.protocol.serialization import require_counts, require_finite

# What is saved, by name.
_MOMENTS = ("mean", "raw_mean", "scatter", "raw_scatter")
_COUNTS = ("pair_count", "pair_seen", "squares")
_PAIRS = ("pair_mean", "pair_scatter")


class FullInformationLearner(Learner):
    """A learner that sees every option, and decides by mean and scatter of the rewards.

    As long as no reward is missing, its kernels keep both. From the first round with a missing reward on
    (`tell_partly`), ``self.statistics`` keeps the statistics of every pair of options instead
    (``covbandit.learners.full_information.missing_rewards``); earlier rounds are converted without loss. The moments
    that follow from them are written to where the learner's kernels read them, so that it decides by the same rule.

    An option that was never seen gets no weight: whatever its weight, it will be seen, so waiting costs nothing. It
    enters the decision once it was seen at least twice, and at least twice together with each option that takes part
    already. Of options that were never seen together, those seen most often take part first. As long as no
    option in use was seen twice, one observation will do. If `max_weight` leaves too little room to those that take
    part, the start weights are played.
    """

    feedback = "all"
    _view: MomentState

    @property
    def counts(self) -> F64:
        """How often each option has been observed (with forgetting: the effective number)."""
        return missing_rewards.counts(self.statistics) if self._keeps_pairs else super().counts

    # What a subclass may write ---------------------------------------------------------------------------------------

    def _keep(self) -> float:
        """Return what an observation keeps of its weight from round to round."""
        return 1.0

    def _squares(self) -> float:
        """Return the sum of the squared weights of the observations, while none was missing."""
        return float(self._view.count[0])

    def _complete_estimates(self) -> Estimates:
        """Return what `explain` shows while no reward was missing."""
        s = self._view
        return Estimates.from_moments(s.mean, s.scatter, float(s.count[0]))

    def _write_moments(self, members: I64, mean: F64, covariance: F64, n: float) -> None:
        """Write the moments of the options that take part in the decision; n observations stand behind them.

        Options that are not members get weight 0. Their mean is set to the first member's, so that the kernel's
        differences stay finite.
        """
        s = self._view
        s.mean = mean[0]
        s.mean[members] = mean
        s.scatter = 0.0
        s.scatter[np.ix_(members, members)] = n * covariance

    # Inside ----------------------------------------------------------------------------------------------------------

    def _check_saved(self, rounds: int, arrays: dict[str, F64], statistics: dict[str, Any]) -> None:
        require_finite(arrays, [name for name in _MOMENTS if name in arrays])
        if statistics:
            if statistics.keys() != {*_COUNTS, *_PAIRS}:
                raise StateFileError(f"its statistics are {', '.join(map(repr, statistics))[:200]}")
            require_counts(statistics, _COUNTS, rounds)
            require_finite(statistics, _PAIRS)

    def _members(self) -> I64:
        """Return the options that take part in the decision, none if the start weights are to be played."""
        s = self._view
        chosen = missing_rewards.members(self.statistics, s.active > 0)
        if self.max_weight is not None and float(self.max_weight[chosen].sum()) < 1 - 1e-12:
            return chosen[:0]
        return chosen

    def _update_books(self) -> None:
        super()._update_books()
        if self._keeps_pairs:
            waiting = np.ones(self.n_options, dtype=bool)
            waiting[self._members()] = False
            self._view.cap[waiting] = 0.0

    def _on_retirement(self) -> None:
        if self._keeps_pairs:
            self._recompute()

    def _switch_to_pairwise(self) -> None:
        """Convert what is known into statistics of pairs, without loss."""
        s = self._view
        moments = s.mean.copy(), s.scatter, float(s.count[0])
        self.statistics = missing_rewards.from_moments(*moments, self.rounds_told, self._squares())

    def _absorb_partly(self, weights: F64, rewards: F64) -> None:
        if not self._keeps_pairs:
            self._switch_to_pairwise()
        missing_rewards.absorb(self.statistics, rewards, self._keep())
        self._recompute()

    def _recompute(self) -> None:
        """Write the moments that follow from the statistics of the pairs to where kernels read them."""
        self._update_books()
        members = self._members()
        n = 0.0  # which makes the kernels play the start weights
        if members.size:
            mean, covariance, n = missing_rewards.moments(self.statistics, members)
            self._write_moments(members, mean, covariance, n)
        self._view.count = n

    def _estimates(self) -> Estimates:
        return self._partial_estimates() if self._keeps_pairs else self._complete_estimates()

    def _partial_estimates(self) -> Estimates:
        """Return what is known of each option from its own observations, and of each pair from its own."""
        pairs = self.statistics
        n, squares, seen = missing_rewards.counts(pairs), pairs["squares"], pairs["pair_seen"].diagonal()
        covariance = missing_rewards.covariance(pairs)
        members = self._members()
        if members.size:
            block = np.ix_(members, members)
            used = self._view.scatter[block] / self._view.count[0]
            covariance[block] = np.where(np.isnan(covariance[block]), np.nan, used)
        with np.errstate(invalid="ignore", divide="ignore"):
            width = np.sqrt(pairs["pair_scatter"].diagonal() * (squares / (n * (n * n - squares))))
        return Estimates(
            np.where(seen > 0, missing_rewards.means(pairs), np.nan),
            covariance,
            np.where(n * n > squares, width, np.nan),
            STANDARD_ERROR if self._keep() == 1 else f"{STANDARD_ERROR}, old observations counting less",
        )
