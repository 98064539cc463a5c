r"""The lemmas' confidence radii: how far estimates may be from the truth, for each kind of feedback.

Covariances (Lemmas 1, 3 and 5), with b the bound on the variances and N the counts of what was seen before round t:

.. math::
    g_{ij}(t) &= b \Big[ 16 \Big( \tfrac{3 \ln t}{N_{ij}} ∨ \sqrt{\tfrac{3 \ln t}{N_{ij}}} \Big)
        + \sqrt{\tfrac{48 \ln^2 t}{N_{ij} N_{ii}}} + \sqrt{\tfrac{36 \ln^2 t}{N_{ij} N_{jj}}} \Big]
        && \text{chosen; with all } N = t-1 \text{ it is that of full information} \\
    g(t) &= 5 b \|C_π^+\| \sqrt{\tfrac{3 \ln t}{2 N_π}} && \text{totals}

Means (Lemmas 2, 4 and 6): with probability at least :math:`1 - δ_t`, :math:`δ_t = 1/(t \ln^2 t)`,

.. math::
    |w'(\hat θ - θ^*)| ≤ E_t(w) = \sqrt{2 β_t\, w' D^{-1} \Big( λ Λ_{Σ} D + \sum_{s<t} Σ_{w_s} \Big) D^{-1} w},
    \quad β_t = \ln(t \ln^2 t) + u \ln\ln t + \tfrac{k}{2} \ln(1 + e/λ),

where u = d if only chosen options are seen and 1 otherwise, and k = d, or the number of design actions for totals, for
which the form stands between :math:`B_π^+` and its transpose.

Misprints: Lemma 1 has 61 under the root where Algorithm 2 has 48 (61 is the sum 48 + √48 + √36, misplaced); its proof
writes "≤ 1 - 10/t²" for "≥ 1 - 10/t²". Lemma 5 counts N_π(t) where its proof counts N_π(t-1), what was seen before, and
that is meant. Lemma 5 rests on an inequality for bounded rewards; that its radius also covers Gaussian ones is measured
by `coverage`, not proved in the paper.
"""

from __future__ import annotations

from math import log

import numpy as np
from numpy.typing import ArrayLike

from covbandit.core import validation
from covbandit.core.typing import F64, Feedback
from covbandit.errors import InvalidInput
from covbandit.kernels.confidence import confidence_term as beta_of
from covbandit.kernels.jit.compilation import uncompiled
from covbandit.problems.designs import n_moments
from covbandit.problems.problem import Problem
from covbandit.theory.bound import as_problem, as_variance_bound
from covbandit.theory.full_bandit import design_errors
from covbandit.theory.radius_forms import Radii, mean_form, unit_covariance_radius


def confidence_term(t: int, n_options: int, feedback: Feedback, regularization: float = 0.5) -> float:
    """Return β_t, which differs between the kinds of feedback.

    Parameters
    ----------
    t : int
        The round, from 2 on.
    n_options : int
        d.
    feedback : {"all", "chosen", "total"}
        What is seen. From totals the dimension is d̃ = d(d+1)/2.
    regularization : float
        λ, between 0 and 1.

    Examples
    --------
    >>> import covbandit as cb
    >>> [round(cb.theory.confidence_term(100, 5, kind), 3) for kind in ("all", "chosen", "total")]
    [13.842, 19.95, 23.152]
    """
    d = validation.as_count(n_options, "n_options", 1)
    if feedback not in ("all", "chosen", "total"):
        raise InvalidInput(f'feedback must be "all", "chosen" or "total", got {feedback!r}')
    dimension = n_moments(d) if feedback == "total" else d
    return _beta(_as_round(t), d if feedback == "chosen" else 1, dimension, _as_regularization(regularization))


def full_information_radii(
    problem: Problem, t: int, regularization: float = 0.5, variance_bound: float | None = None
) -> Radii:
    """Return the radii of Lemmas 3 and 4, after t - 1 rounds in which every reward was seen.

    Parameters
    ----------
    problem : Problem
        The instance: E rests on its true covariance.
    t : int
        The round, from 2 on.
    regularization : float
        λ, between 0 and 1.
    variance_bound : float, optional
        b; by default the largest variance there is.

    Examples
    --------
    >>> import covbandit as cb
    >>> p = cb.problems.synthetic()
    >>> radii = cb.theory.full_information_radii(p, t=1001)
    >>> radii.covariance[0, 1].round(3).item(), radii.mean(p.optimum().weights).round(3).item()
    (2.393, 0.137)
    """
    problem = as_problem(problem)
    seen = _as_round(t) - 1
    counts = np.full((problem.n_options, problem.n_options), float(seen))
    beta = confidence_term(t, problem.n_options, "all", regularization)
    return _pairwise(problem, counts, t, beta, regularization, variance_bound)


def semi_bandit_radii(
    problem: Problem,
    counts: ArrayLike,
    t: int,
    regularization: float = 0.5,
    variance_bound: float | None = None,
    *,
    upper: ArrayLike | None = None,
    upper_sum: ArrayLike | None = None,
) -> Radii:
    """Return the radii of Lemmas 1 and 2, where only the chosen options were seen.

    Parameters
    ----------
    problem : Problem
        The instance: E rests on its true covariance unless `upper` is given.
    counts : array, d × d
        N(t-1): how often each pair was seen together; on the diagonal, how often each option was.
    t : int
        The round, from 2 on.
    regularization : float
        λ, between 0 and 1.
    variance_bound : float, optional
        b; by default the largest variance there is.
    upper, upper_sum : array, d × d, optional
        Σ̄_t and the sum of Σ̄_s over the rounds in which each pair was seen, which Algorithm 2 puts in place of the true
        covariance and of its sum. Both or neither.

    Examples
    --------
    >>> import covbandit as cb
    >>> p = cb.problems.synthetic(min_weight=0.1)
    >>> start = [[9 if i == j else 2 for j in range(5)] for i in range(5)]
    >>> cb.theory.semi_bandit_radii(p, start, t=26).covariance[0, :2].round(2).tolist()
    [22.06, 88.12]
    """
    d, before = as_problem(problem).n_options, _as_round(t) - 1
    seen = validation.as_symmetric(counts, "counts", d, problem.options, signed=True)
    if (seen < 0).any() or (seen > before).any() or (seen.diagonal() < 1).any():
        raise InvalidInput(
            f"counts must lie between 0 and t - 1 = {before}, and every option must have been seen once at least; got "
            f"{seen.min():g} to {seen.max():g}, and {seen.diagonal().min():g} of an option"
        )
    if (upper is None) != (upper_sum is None):
        raise InvalidInput("give upper and upper_sum together, as Algorithm 2 uses them, or neither")
    beta = confidence_term(t, d, "chosen", regularization)
    if upper is None or upper_sum is None:
        return _pairwise(problem, seen, t, beta, regularization, variance_bound)
    estimates = (
        validation.as_symmetric(upper, "upper", d, problem.options, signed=True).diagonal(),
        validation.as_symmetric(upper_sum, "upper_sum", d, problem.options, signed=True),
    )
    return _pairwise(problem, seen, t, beta, regularization, variance_bound, estimates)


def full_bandit_radii(
    problem: Problem,
    rounds: int,
    t: int | None = None,
    regularization: float = 0.5,
    variance_bound: float | None = None,
    design: ArrayLike | None = None,
) -> Radii:
    """Return the radii of Lemmas 5 and 6, after rounds of exploration of which only totals were seen.

    Parameters
    ----------
    problem : Problem
        The instance: E rests on its true covariance.
    rounds : int
        N_π, exploration rounds; each plays every action of the design once.
    t : int, optional
        The step; by default the first after those rounds, as if nothing else had been played. Later steps have wider
        radii.
    regularization : float
        λ, between 0 and 1.
    variance_bound : float, optional
        b; by default the largest variance there is.
    design : array, actions × d, optional
        π; the paper's by default.

    Examples
    --------
    >>> import covbandit as cb
    >>> cb.theory.full_bandit_radii(cb.problems.synthetic(), rounds=100).covariance[0, 1].round(3).item()
    4.968
    """
    seen = validation.as_count(rounds, "rounds", 1)
    d = as_problem(problem).n_options
    actions, mean_error, norm = design_errors(problem, design)
    played = seen * len(actions)
    step = played + 1 if t is None else _as_round(t)
    if step <= played:
        raise InvalidInput(f"t must be above {played}, since {seen} rounds of {len(actions)} actions came before it")
    regularization = _as_regularization(regularization)
    beta = _beta(step, 1, len(actions), regularization)
    radius = 5 * norm * np.sqrt(1.5 * log(step) / seen) * as_variance_bound(variance_bound, problem)
    return Radii(
        t=step,
        beta=beta,
        covariance=np.full((d, d), radius),
        mean_form=2 * beta * (1 + regularization) / seen * mean_error,
        covariance_risk=min(1.0, 6 * d**2 / step**2),
        mean_risk=_risk(step),
    )


def _pairwise(
    problem: Problem,
    counts: F64,
    t: int,
    beta: float,
    regularization: float,
    variance_bound: float | None,
    estimates: tuple[F64, F64] | None = None,
) -> Radii:
    """Return the radii for counts of pairs; `estimates` replace the true variances and the sum of covariances."""
    bound = as_variance_bound(variance_bound, problem)
    variances, total = estimates or (problem.covariance.diagonal(), counts * problem.covariance)
    return Radii(
        t=t,
        beta=beta,
        covariance=bound * unit_covariance_radius(counts, t),
        mean_form=mean_form(beta, regularization, counts, variances, total),
        covariance_risk=min(1.0, 10 * problem.n_options**2 / t**2),
        mean_risk=_risk(t),
    )


def _beta(t: int, unions: int, dimension: int, regularization: float) -> float:
    return float(uncompiled(beta_of)(log(t), unions, dimension, regularization))


def _delta(t: int) -> float:
    return 1 / (t * log(t) ** 2)


def _risk(t: int) -> float:
    """Return δ_t as a probability; the formula is above 1 at t = 2."""
    return min(1.0, _delta(t))


def _as_round(value: object) -> int:
    return validation.as_count(value, "t", 2)


def _as_regularization(value: object) -> float:
    number = validation.as_float(value, "regularization")
    if not 0 < number < 1:
        raise InvalidInput(f"regularization must be between 0 and 1, where the lemmas hold, got {number:g}")
    return number
