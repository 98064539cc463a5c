r"""Moments of rewards that were not all seen in the same rounds.

Options come and go, so each pair has its own number of common observations. Kept are, by Welford's update, the number
:math:`N_{ij}` of rounds in which both were seen, the mean :math:`m_{ij}` of option i in these rounds and the scatter
:math:`S_{ij}` about these means. With :math:`\hat θ_i = m_{ii}`, the mean of all that was seen of an option,

.. math:: \hat Σ_{ij} = S_{ij} / N_{ij} + (m_{ij} - \hat θ_i)(m_{ji} - \hat θ_j),

which is the ordinary covariance where all were seen in the same rounds. A patchwork of pairs may have negative
eigenvalues; the nearest positive semi-definite matrix then takes its place.

With forgetting, observations lose weight from round to round whether the option is seen or not; N is then the sum of
the weights.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covbandit.core.typing import F64, I64
from covbandit.kernels.algebra.lapack import DECOMPOSITION_SLABS
from covbandit.kernels.algebra.semidefinite import project_on_semidefinite
from covbandit.kernels.jit.compilation import compiled, uncompiled
from covbandit.kernels.moments import pair_covariance

Pairs = dict[str, F64]
"""Arrays by name, in the form in which a learner's statistics are saved.

============  =====  ==========================================================
name          shape  holds
============  =====  ==========================================================
pair_count    d × d  N, with forgetting the sum of weights
pair_seen     d × d  rounds in which both were seen, without forgetting
pair_mean     d × d  mean of the row's option over these rounds
pair_scatter  d × d  scatter about these means
squares       d      sum of the squared weights of each option's observations
============  =====  ==========================================================
"""

_ENOUGH = 2.0  # observations of an option, and of each pair, before it may be chosen
_FORGOTTEN = 1e-12  # a pair whose observations weigh less than this together counts as never seen


def from_moments(mean: F64, scatter: F64, n: float, rounds: int, squares: float) -> Pairs:
    """Return the pairwise statistics of a history in which every reward was seen: no information is lost."""
    d = mean.size
    return {
        "pair_count": np.full((d, d), float(n)),
        "pair_seen": np.full((d, d), float(rounds)),
        "pair_mean": np.repeat(mean[:, None], d, axis=1) if n > 0 else np.zeros((d, d)),
        "pair_scatter": scatter.copy(),
        "squares": np.full(d, float(squares)),
    }


def absorb(pairs: Pairs, rewards: F64, keep: float = 1.0) -> None:
    """Take in one round, with NaN for rewards that are missing; old observations keep a share of their weight."""
    known = ~np.isnan(rewards)
    both = known[:, None] & known[None, :]
    before = keep * pairs["pair_count"]
    after = before + both
    away = np.where(both, np.where(known, rewards, 0.0)[:, None] - pairs["pair_mean"], 0.0)
    share = np.divide(1.0, after, out=np.zeros_like(after), where=both)
    pairs["pair_scatter"] = keep * pairs["pair_scatter"] + away * away.T * (before * share)
    pairs["pair_mean"] += share * away
    pairs["pair_count"] = after
    pairs["pair_seen"] += both
    pairs["squares"] = keep * keep * pairs["squares"] + known


def counts(pairs: Pairs) -> F64:
    """Return how often each option was seen."""
    return pairs["pair_count"].diagonal().copy()


def means(pairs: Pairs) -> F64:
    """Return the mean of all that was seen of each option, zero for one never seen."""
    return pairs["pair_mean"].diagonal().copy()


def covariance(pairs: Pairs) -> F64:
    """Return the estimated covariance of each pair, NaN for those seen together less than twice."""
    away = pairs["pair_mean"] - means(pairs)[:, None]
    n = pairs["pair_count"]
    known = (pairs["pair_seen"] >= _ENOUGH) & (n > _FORGOTTEN)
    estimate = uncompiled(pair_covariance)(pairs["pair_scatter"], np.where(known, n, 1.0), away, away.T)
    return np.where(known, estimate, np.nan)


def members(pairs: Pairs, in_use: NDArray[np.bool_]) -> I64:
    """Return the options of which enough is known to choose among them.

    Those seen most often come first, of several the first one. Each next one joins if it was seen at least twice, and
    together with each that has joined. Before any option in use was seen twice, once will do.
    """
    n, seen = pairs["pair_count"], pairs["pair_seen"]
    candidates = np.flatnonzero(in_use & (seen.diagonal() > 0) & (n.diagonal() > _FORGOTTEN))
    if not candidates.size:
        return candidates
    block = np.ix_(candidates, candidates)
    if seen[block].min() >= _ENOUGH and n[block].min() > _FORGOTTEN:
        return candidates
    needed = min(_ENOUGH, float(seen.diagonal()[candidates].max()))
    chosen: list[int] = []
    for i in candidates[np.argsort(-seen.diagonal()[candidates], kind="stable")].tolist():
        company = [*chosen, i]
        if (seen[i, company] >= needed).all() and (n[i, company] > _FORGOTTEN).all():
            chosen.append(i)
    return np.array(sorted(chosen), dtype=np.int64)


def moments(pairs: Pairs, chosen: I64) -> tuple[F64, F64, float]:
    """Return mean and covariance, the latter without negative eigenvalues, and the least N_ij of these options."""
    block = np.ix_(chosen, chosen)
    mean = means(pairs)[chosen]
    away = pairs["pair_mean"][block] - mean[:, None]
    n = pairs["pair_count"][block]
    sigma = np.ascontiguousarray(uncompiled(pair_covariance)(pairs["pair_scatter"][block], n, away, away.T))
    d = chosen.size
    # Options seen equally often, alone and in pairs, share one history: projecting would only add rounding to it.
    if np.ptp(pairs["pair_seen"][block]) > 0:
        work = np.empty((d, d)), np.empty(d), np.empty(DECOMPOSITION_SLABS * d * d)
        compiled(project_on_semidefinite)(sigma, *work)
    return mean, sigma, float(n.min())
