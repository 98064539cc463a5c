"""What the learners of the full-bandit setting share besides their kernels: arguments, explanations, merging."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covbandit.core import validation
from covbandit.core.typing import F64
from covbandit.errors import InvalidInput, NotIdentified, StateFileError
from covbandit.kernels.jit.compilation import compiled
from covbandit.learners.full_bandit.design_schedule import (
    EXACT,
    PROJECT,
    DesignState,
    decide_by_schedule,
    find_place,
)
from covbandit.learners.protocol.base import Hold, Learner
from covbandit.learners.protocol.explanation import STANDARD_ERROR, Estimates
from covbandit.learners.protocol.serialization import require_counts, require_finite, require_weights, require_whole
from covbandit.problems.designs import as_design, inverses, n_moments, products

Indefinite = Literal["project", "exact"]
_CODES = {"project": PROJECT, "exact": EXACT}


def _alone_and_in_pairs(options: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which actions of the paper's design, options alone and then pairs, contain given options only."""
    first, second = np.triu_indices(options.size, 1)
    return np.concatenate([options, options[first] & options[second]])


class ExploreThenExploit(Learner):
    """A learner that plays rounds of a design until it knows enough, then what seems best, then more rounds."""

    feedback = "total"
    _state_class = DesignState
    _view: DesignState
    _decide_kernel = decide_by_schedule
    _refresh_kernel: ClassVar[Callable[..., None]]
    variance_bound: float = 1.0  # for those that make gradient steps

    def __init__(
        self,
        *,
        n_options: int,
        design: ArrayLike | None,
        indefinite: Indefinite,
        options: Sequence[str] | None = None,
        seed: int | None = None,
        hold: Hold | None = None,
    ) -> None:
        if indefinite not in _CODES:
            raise InvalidInput(f'indefinite must be "project" or "exact", got {indefinite!r}')
        self.indefinite = indefinite
        self.design: F64 | None = None
        if design is not None:
            d = validation.as_count(n_options, "n_options", 1)
            self.design = as_design(design, d, validation.as_options(options, d))
        super().__init__(n_options=n_options, options=options, seed=seed, hold=hold)

    @classmethod
    def _block_sizes(cls, d: int, arguments: Mapping[str, Any]) -> dict[str, int]:
        design = arguments.get("design")
        size = 1 if design is None else -(-len(design) // d**2)  # the paper's d(d+1)/2 actions fit into d² numbers
        return dict.fromkeys(("action_count", "action_mean", "action_scatter"), size)

    def _parameters(self) -> Mapping[str, ArrayLike]:
        return {
            "risk_aversion": self.risk_aversion or 0.0,
            "indefinite": _CODES[self.indefinite],
            "n_actions": n_moments(self.n_options) if self.design is None else len(self.design),
            "variance_bound": self.variance_bound,
            "design": () if self.design is None else inverses(self.design),
        }

    @property
    def rounds_completed(self) -> int:
        """How often every action of the design has been observed: N in Algorithm 3."""
        return int(self._view.completed)

    def _estimates(self) -> Estimates:
        """Return the estimates of the last completed round; what takes a variance is unknown before the second."""
        s = self._view
        if self.rounds_completed == 0:
            return Estimates(width_kind=STANDARD_ERROR)
        mean, sigma, width = s.mean.copy(), s.covariance.copy(), s.width.copy()
        out = np.flatnonzero(s.cap <= 0)
        if out.size:
            # Of a retired option we know what was seen of it alone. The user's design need not have it alone.
            n = np.zeros(out.size) if self.design is not None else s.action_count[out]
            mean[out[n < 1]] = np.nan
            width[out[n < 2]] = np.nan
            variances = np.where(n < 2, np.nan, sigma[out, out])
            sigma[out] = np.nan
            sigma[:, out] = np.nan
            sigma[out, out] = variances
        if self.rounds_completed == 1:
            return Estimates(mean, width_kind=STANDARD_ERROR)
        return Estimates(mean, sigma, width, STANDARD_ERROR)

    def _check_saved(self, rounds: int, arrays: dict[str, F64], statistics: dict[str, Any]) -> None:
        require_counts(arrays, ["action_count"], rounds)
        require_finite(arrays, ["action_mean", "action_scatter"])
        require_weights(arrays, "weights")
        require_whole(arrays, "removed", self.n_options)
        # As `find_place` has it: kernels look for the next action from the cursor on, and must find one.
        active = arrays["active"]
        usable = _alone_and_in_pairs(active > 0) if self.design is None else self._usable(active)[1]
        count = arrays["action_count"].ravel()[: usable.size][usable]
        if not count.size:
            raise StateFileError("no action of its design is left")
        place = {
            "completed": count.min(),
            "begun": (count > count.min()).sum(),
            "cursor": np.flatnonzero(usable)[count.argmin()],
        }
        for name, expected in place.items():
            if arrays[name][0] != expected:
                raise StateFileError(f"its {name} is {arrays[name][0]:g}, where its counts of actions say {expected:g}")

    # When options go out of use ---------------------------------------------------------------------------------------

    def _usable(self, in_use: F64) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which options are in use, and which actions of the user's design contain no other option."""
        assert self.design is not None
        options = in_use > 0
        return options, np.all(self.design[:, ~options] == 0, axis=1)

    def _check_in_use(self, in_use: F64) -> None:
        if self.design is None or in_use.all():
            return
        options, actions = self._usable(in_use)
        left = self.design[np.ix_(actions, options)]
        needed = n_moments(int(options.sum()))
        if len(left) < needed or np.linalg.matrix_rank(products(left)) < needed:
            raise NotIdentified(
                f"{len(left)} of {len(self.design)} actions of the design contain no retired option; they do not tell "
                f"the {needed} variances and covariances of the {int(options.sum())} options left in use. Add actions "
                "of these alone to the design, or leave design out: the default serves any of its options"
            )

    def _update_books(self) -> None:
        super()._update_books()
        in_use = self._view.active
        if self.design is None:
            return
        whole = inverses(self.design)
        if not in_use.all():
            options, actions = self._usable(in_use)
            left = np.ascontiguousarray(self.design[np.ix_(actions, options)])
            moments = _alone_and_in_pairs(options)
            wide = np.zeros((self.n_options + moments.size, len(self.design)))
            narrow = inverses(left)[left.size :].reshape(-1, len(left))
            wide[np.ix_(np.concatenate([options, moments]), actions)] = narrow
            whole = np.concatenate([self.design.ravel(), wide.ravel()])
        self._view.design = whole

    def _on_retirement(self) -> None:
        compiled(find_place)(self._state)
        if self.rounds_completed:
            compiled(self._kernel("_refresh_kernel"))(self._state)


class MergingExploreThenExploit(ExploreThenExploit):
    """One whose decisions follow from the statistics of its actions alone, so that it can be merged."""

    def _merge(self, other: Self) -> None:
        mine, theirs = self._view, other._view
        n, m = mine.action_count, theirs.action_count
        total = np.maximum(n + m, 1)
        between = theirs.action_mean - mine.action_mean
        mine.action_mean += between * (m / total)
        mine.action_scatter += theirs.action_scatter + between**2 * (n * m / total)
        mine.action_count += m
        compiled(find_place)(self._state)
        if self.rounds_completed:
            compiled(self._kernel("_refresh_kernel"))(self._state)
