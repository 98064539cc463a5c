r"""What the paper's semi-bandit learners share: their start-up and their confidence radii.

With :math:`N = N(t-1)`, b the bound on the variances and the constants of Algorithm 2,

.. math::
    g_{ij}(t) = b \Big[ 16 \Big( \tfrac{3 \ln t}{N_{ij}} ∨ \sqrt{\tfrac{3 \ln t}{N_{ij}}} \Big)
        + \sqrt{\tfrac{48 \ln^2 t}{N_{ij} N_{ii}}} + \sqrt{\tfrac{36 \ln^2 t}{N_{ij} N_{jj}}} \Big]

made symmetric by averaging with its transpose (quadratic forms do not change), and

.. math::
    E_t(w)^2 = 2β_t\, w' D^{-1} \Big( λ Λ_{\bar Σ_t} D + \sum_{s<t} \bar Σ_{s,w_s} \Big) D^{-1} w,
    \quad β_t = \ln(t \ln^2 t) + d \ln\ln t + \tfrac d2 \ln(1 + e/λ).
"""

from __future__ import annotations

import numpy as np

from covbandit.core.typing import F64
from covbandit.kernels.jit.compilation import kernel
from covbandit.learners.protocol.state import ABSORB, CAP, COUNT, IN_USE, TOLD, State
from covbandit.learners.semi_bandit.statistics import BONUS, MIN_WEIGHT, PAIRS, READY, SETTLE, absorb_pairs

REGULARIZATION = 2  # parameters, after those of pairwise.py
VARIANCE_BOUND = 3
SCALE_G = 4
SCALE_E = 5
CAP_UPPER = 6
GAMMA = 7  # d² parameters

_ROOTS = 0.5 * (np.sqrt(48.0) + np.sqrt(36.0))


@kernel()
def covariance_radius(s: State, i: int, j: int, log_t: float) -> float:
    """Return g_ij(t), symmetric."""
    n = s.m[PAIRS, i, j]
    ratio = 3.0 * log_t / n
    centring = 1.0 / np.sqrt(n * s.v[COUNT, i]) + 1.0 / np.sqrt(n * s.v[COUNT, j])
    g = 16.0 * max(ratio, np.sqrt(ratio)) + _ROOTS * log_t * centring
    return float(s.p[SCALE_G] * s.p[VARIANCE_BOUND] * g)


@kernel()
def confidence_factor(s: State, log_t: float) -> float:
    """Return 2β(δ_t), times the square of what the user scales E by; d is the number of options in use."""
    d = s.i[IN_USE]
    log_log = np.log(log_t)
    beta = log_t + 2.0 * log_log + d * log_log + 0.5 * d * np.log(1.0 + np.e / s.p[REGULARIZATION])
    return float(2.0 * max(beta, 0.0) * s.p[SCALE_E] * s.p[SCALE_E])


@kernel()
def pairs_fit(s: State) -> bool:
    """Tell whether two options may be chosen together."""
    return bool(s.p[MIN_WEIGHT] <= 0.5)


@kernel()
def is_known(s: State, i: int, j: int) -> bool:
    """Tell whether there are radii for a pair: after start-up, for all that can be chosen; else of retired options."""
    return (i == j or pairs_fit(s)) and s.m[PAIRS, i, j] > 0.0


@kernel()
def play_initial(s: State, t: int, w: F64) -> None:
    """Write the pull of round t of start-up (line 2): each option alone, then all ordered pairs, half on each.

    What was seen already, in whatever rounds, need not be pulled again. With rounds outstanding, the schedule advances;
    should it end before they are told, it begins again.
    """
    d = w.size
    due = 0
    ahead = t - s.i[TOLD] - 1
    for i in range(d):
        w[i] = 0.0
    for turn in range(2):
        if turn == 1:
            ahead = ahead % due
        passed = 0
        for k in range(d + d * d):
            i = k if k < d else (k - d) // d
            j = i if k < d else (k - d) % d
            if s.v[CAP, i] <= 0.0 or s.v[CAP, j] <= 0.0:
                continue
            if k < d:
                needed = s.v[COUNT, i] < 1.0
            else:
                needed = i != j and pairs_fit(s) and s.m[PAIRS, i, j] < (1.0 if i < j else 2.0)
            if needed:
                if turn == 1 and passed == ahead:
                    w[i] += 0.5
                    w[j] += 0.5
                    return
                passed += 1
        due = passed


@kernel()
def is_ready(s: State, d: int) -> bool:
    """Tell whether start-up is over: every option seen once, every pair twice."""
    for i in range(d):
        if s.v[CAP, i] > 0.0:
            if s.v[COUNT, i] < 1.0:
                return False
            if pairs_fit(s):
                for j in range(i):
                    if s.v[CAP, j] > 0.0 and s.m[PAIRS, i, j] < 2.0:
                        return False
    return True


@kernel()
def fill_gamma_bonus(s: State, factor: float, d: int) -> None:
    """Write E_t² with Γ in place of every upper covariance: its sum over the rounds is N_ij Γ_ij."""
    for i in range(d):
        for j in range(d):
            bonus = 0.0
            if is_known(s, i, j):
                total = s.m[PAIRS, i, j]
                if i == j:
                    total += s.p[REGULARIZATION] * s.v[COUNT, i]
                bonus = factor * s.p[GAMMA + i * d + j] * total / (s.v[COUNT, i] * s.v[COUNT, j])
            s.m[BONUS, i, j] = bonus


@kernel(ABSORB)
def absorb_counted(s: State, w: F64, y: F64) -> None:
    """Take in the rewards of the chosen options, where nothing else depends on the round."""
    absorb_pairs(s, w, y)
    if s.v[READY, 0] == 0.0 and is_ready(s, w.size):
        s.v[READY, 0] = 1.0


@kernel(SETTLE, on_demand=True)
def settle_counted(s: State) -> None:
    """Find out whether start-up is over for the options now in use."""
    s.v[READY, 0] = 1.0 if is_ready(s, s.v.shape[1]) else 0.0
