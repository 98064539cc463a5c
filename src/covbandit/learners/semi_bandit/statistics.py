r"""What semi-bandit learners keep: statistics of every pair of options that were seen together.

Only the chosen options are seen, so each pair has its own number of observations :math:`N_{ij}`. The covariance
(Algorithm 2, line 12) is centred on the means of *all* observations of an option, which go on moving after the pair was
last seen. So the pair's own means :math:`m_{ij}` (of option i, over the rounds in which both were seen) and its scatter
about them are kept, by Welford's update, and

.. math:: \hat Σ_{ij} = S_{ij} / N_{ij} + (m_{ij} - \hat θ_i)(m_{ji} - \hat θ_j)

is the paper's estimate without a sum over the history, and without cancellation.
"""

from __future__ import annotations

from numba import types

from covbandit.core.typing import F64
from covbandit.kernels.jit.compilation import kernel
from covbandit.kernels.optimistic.search import SEARCH_ROWS, SEARCH_SLABS
from covbandit.learners.protocol.state import COUNT, FIRST_ROW, STATE_TYPE, Layout, State

WORK = FIRST_ROW  # scratch rows of the maximiser
BELIEF = FIRST_ROW + SEARCH_ROWS  # scratch row: the means to reckon with, where they are not the observed ones
SPREAD = BELIEF + 1  # scratch row: the variances to reckon with, likewise
CENTRED = BELIEF + 2  # scratch row: means less that of the first option
MEAN = BELIEF + 3  # row: mean of all observations of each option
READY = MEAN + 1  # row: its first entry is 1 once start-up is over
SEARCH = 0  # scratch slabs of the maximiser
BONUS = SEARCH_SLABS  # scratch slab: squared width of the reward's confidence region; zero where nobody writes it
PENALTY = SEARCH_SLABS + 1  # scratch slab: ρ times the covariance to reckon with
SHIFTED = SEARCH_SLABS + 2  # scratch slab of the exact maximiser and of the start-up
BELIEVED = SEARCH_SLABS + 3  # scratch slab: the covariance to reckon with, where it is not the observed one
PAIRS = SEARCH_SLABS + 4  # slab: N, how often each pair was seen
PAIR_MEAN = PAIRS + 1  # slab: mean of the row's option over the rounds in which the column's was seen as well
SCATTER = PAIRS + 2  # slab: scatter about these means
UPPER = PAIRS + 3  # slab, of MC-UCB: sum of the upper covariances frozen in the rounds told

RISK_AVERSION = 0  # parameters
MIN_WEIGHT = 1

SETTLE = types.void(STATE_TYPE)
"""Signature of a kernel that finds out whether start-up is over, after a change of the options in use."""

STATISTICS = ("pair_count", "pair_mean", "scatter")


def pairwise_layout(*more: str) -> Layout:
    """Return the layout of a learner with pairwise statistics and more slabs of its own."""
    return Layout(
        rows=("mean", "ready"),
        slabs=(*STATISTICS, *more),
        scratch_rows=SEARCH_ROWS + 3,
        scratch_slabs=SEARCH_SLABS + 4,
        scratch_ints=4,
    )


@kernel()
def absorb_pairs(s: State, w: F64, y: F64) -> None:
    """Take in the rewards of the chosen options (lines 8-12)."""
    d = w.size
    v = s.v
    m = s.m
    for i in range(d):
        if w[i] > 0.0:
            v[COUNT, i] += 1.0
            v[MEAN, i] += (y[i] - v[MEAN, i]) / v[COUNT, i]
    for i in range(d):
        if w[i] > 0.0:
            for j in range(i + 1):
                if w[j] > 0.0:
                    n = m[PAIRS, i, j] + 1.0
                    own = y[i] - m[PAIR_MEAN, i, j]
                    other = y[j] - m[PAIR_MEAN, j, i]
                    scatter = m[SCATTER, i, j] + own * other * ((n - 1.0) / n)
                    m[PAIRS, i, j] = n
                    m[PAIRS, j, i] = n
                    m[SCATTER, i, j] = scatter
                    m[SCATTER, j, i] = scatter
                    m[PAIR_MEAN, i, j] += own / n
                    if i != j:
                        m[PAIR_MEAN, j, i] += other / n


@kernel()
def covariance(s: State, i: int, j: int) -> float:
    """Return the estimated covariance of a pair that was seen (line 12)."""
    own = s.m[PAIR_MEAN, i, j] - s.v[MEAN, i]
    other = s.m[PAIR_MEAN, j, i] - s.v[MEAN, j]
    estimate: float = s.m[SCATTER, i, j] / s.m[PAIRS, i, j] + own * other
    return estimate
