r"""The confidence radii of the paper's semi-bandit learners: g for covariances, E for the reward of a mix.

With :math:`N = N(t-1)`, b the bound on the variances and the constants of Algorithm 2,

.. math::
    g_{ij}(t) = b \Big[ 16 \Big( \tfrac{3 \ln t}{N_{ij}} ∨ \sqrt{\tfrac{3 \ln t}{N_{ij}}} \Big)
        + \sqrt{\tfrac{48 \ln^2 t}{N_{ij} N_{ii}}} + \sqrt{\tfrac{36 \ln^2 t}{N_{ij} N_{jj}}} \Big]

made symmetric by averaging with its transpose (quadratic forms do not change), and

.. math::
    E_t(w)^2 = 2β_t\, w' D^{-1} \Big( λ Λ_{\bar Σ_t} D + \sum_{s<t} \bar Σ_{s,w_s} \Big) D^{-1} w,
    \quad β_t = \ln(t \ln^2 t) + d \ln\ln t + \tfrac d2 \ln(1 + e/λ).

================  ==========================================================================
what              where
================  ==========================================================================
g                 `covariance_radius`
2β                `confidence_factor`
Σ̄ = Σ̂ + g         `upper_covariance`
the sum of Σ̄_s    `add_upper_covariances` round by round, `begin_upper_sum` after start-up
E²                `reward_bonus` (MC-UCB), `fill_gamma_bonus` (Γ in place of every Σ̄)
================  ==========================================================================

The formulas of g and β themselves are in ``covbandit.kernels.confidence``, since `covbandit.theory` uses them, too.
"""

from __future__ import annotations

from covbandit.core.typing import F64
from covbandit.kernels.confidence import confidence_term, unit_covariance_radius
from covbandit.kernels.jit.compilation import kernel
from covbandit.learners.protocol.state import matrix, parameter, parameters
from covbandit.learners.semi_bandit.start_up import pairs_fit
from covbandit.learners.semi_bandit.statistics import PairState, covariance


class RadiusState(PairState):
    """What learners with the paper's radii need to know besides."""

    regularization = parameter("λ")
    variance_bound = parameter("b: no option's variance is above it")
    radius_scale_g = parameter("the user's factor on g")
    radius_scale_e = parameter("the user's factor on E")
    cap_upper = parameter("1 if Σ̄ is clipped at the bound on the variances, else 0")
    gamma = parameters("Γ, a bound on the covariance", square=True)


class UpperState(RadiusState):
    """What MC-UCB keeps besides."""

    upper_sum = matrix("the sum of the upper covariances Σ̄_s, each frozen when its round was told")


# Covariances: g -------------------------------------------------------------------------------------------------------


@kernel()
def covariance_radius(s: RadiusState, i: int, j: int, log_t: float) -> float:
    """Return g_ij(t), symmetric, in the learner's units."""
    g = unit_covariance_radius(s.pair_count[i, j], s.count[i], s.count[j], log_t)
    return float(s.radius_scale_g * s.variance_bound * g)


@kernel()
def is_known(s: RadiusState, i: int, j: int) -> bool:
    """Return True if pair (i, j) was observed, so that its radius is defined: always, after start-up, if playable."""
    return (i == j or pairs_fit(s)) and s.pair_count[i, j] > 0.0


# Rewards: E -----------------------------------------------------------------------------------------------------------


@kernel()
def confidence_factor(s: RadiusState, log_t: float) -> float:
    """Return 2β_t, times the square of what the user scales E by; d is the number of options in use."""
    beta = confidence_term(log_t, s.n_in_use, s.n_in_use, s.regularization)
    return float(2.0 * max(beta, 0.0) * s.radius_scale_e * s.radius_scale_e)


@kernel()
def upper_covariance(s: RadiusState, i: int, j: int, log_t: float) -> float:
    """Return Σ̄_ij of round t (Algorithm 2, line 5)."""
    upper = covariance(s, i, j) + covariance_radius(s, i, j, log_t)
    return min(upper, s.variance_bound) if s.cap_upper > 0.0 else upper


@kernel()
def add_upper_covariances(s: UpperState, w: F64, log_t: float) -> None:
    """Add Σ̄_t of the options played to the sum over the rounds."""
    for i in range(w.size):
        if w[i] > 0.0:
            for j in range(w.size):
                if w[j] > 0.0 and s.pair_count[i, j] > 0.0:
                    s.upper_sum[i, j] += upper_covariance(s, i, j, log_t)


@kernel()
def begin_upper_sum(s: UpperState, log_t: float, anew: bool) -> None:
    """Start the sum over the rounds: every round so far in which a pair was seen counts with the Σ̄ of now.

    With `anew` the sums of all pairs are started, else only those that are still zero.
    """
    d = s.count.size
    for i in range(d):
        for j in range(d):
            if s.pair_count[i, j] > 0.0 and (anew or s.upper_sum[i, j] == 0.0):
                s.upper_sum[i, j] = s.pair_count[i, j] * upper_covariance(s, i, j, log_t)


@kernel()
def reward_bonus(s: UpperState, i: int, j: int, factor: float, log_t: float) -> float:
    """Return the entry of E_t² for a pair: the matrix A with E_t(w)² = w'Aw."""
    total = s.upper_sum[i, j]
    if i == j:
        total += s.regularization * upper_covariance(s, i, i, log_t) * s.count[i]
    return float(factor * total / (s.count[i] * s.count[j]))


@kernel()
def fill_gamma_bonus(s: RadiusState, factor: float, d: int) -> None:
    """Write E_t² with Γ in place of every upper covariance: its sum over the rounds is N_ij Γ_ij."""
    for i in range(d):
        for j in range(d):
            bonus = 0.0
            if is_known(s, i, j):
                total = s.pair_count[i, j]
                if i == j:
                    total += s.regularization * s.count[i]
                bonus = factor * s.gamma[i, j] * total / (s.count[i] * s.count[j])
            s.bonus[i, j] = bonus
