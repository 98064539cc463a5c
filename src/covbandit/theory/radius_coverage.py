"""Measures the lemmas' radii by sampling: how often they fail, and how wide they are against the errors met.

Rewards are Gaussian. Nothing is learned here: what is seen follows a schedule that does not depend on the rewards.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from covbandit.core import validation
from covbandit.core.typing import F64, Feedback
from covbandit.errors import InvalidInput
from covbandit.kernels.random.sampling import covariance_factor
from covbandit.problems.designs import default_design, products
from covbandit.problems.problem import Problem
from covbandit.theory.bound import as_problem, as_variance_bound
from covbandit.theory.coverage_result import Coverage, RadiusCoverage
from covbandit.theory.full_bandit import total_variances
from covbandit.theory.radii import full_bandit_radii, full_information_radii, semi_bandit_radii
from covbandit.theory.radius_forms import mean_form, root_of_form, unit_covariance_radius

_BLOCK_NUMBERS = 1 << 20  # rewards in memory at a time

COVARIANCE = "g"
MEAN = "E"
MEAN_OF_MC_UCB = "E of MC-UCB"


def coverage(
    problem: Problem,
    feedback: Feedback = "all",
    rounds: Sequence[int] | None = None,
    replications: int = 1000,
    seed: int = 0,
    *,
    regularization: float = 0.5,
    variance_bound: float | None = None,
) -> Coverage:
    """Measure how often the lemmas' radii fail and how wide they are, on Gaussian rewards.

    Covariance radii are checked for all pairs at once; mean radii for every option alone, every pair half and half, and
    the optimum at once.

    What is seen does not depend on rewards. Feedback "all": every option in every round. "chosen": the initial pulls of
    MC-UCB (every option alone, every ordered pair), then random supports of random size up to ⌊1/c⌋, the same ones in
    all samples. "total": exploration rounds of MC-ETE, each action of the paper's design once, and nothing in between.

    Parameters
    ----------
    problem : Problem
        The instance.
    feedback : {"all", "chosen", "total"}
        What is seen.
    rounds : sequence of int, optional
        After how many rounds to look; for totals, exploration rounds. By default 10, 100 and 1,000; for "chosen" the
        length of the initial pulls, and 4 and 16 times that.
    replications : int
        Samples.
    seed : int
        Same seed, same numbers.
    regularization : float
        λ, between 0 and 1.
    variance_bound : float, optional
        b; by default the largest variance there is.

    Returns
    -------
    Coverage

    Examples
    --------
    >>> import covbandit as cb
    >>> found = cb.theory.coverage(cb.problems.synthetic(), "all", rounds=[100], replications=200)
    >>> [(r.radius, r.misses) for r in found.radii]
    [('g', 0), ('E', 0)]
    """
    if feedback not in ("all", "chosen", "total"):
        raise InvalidInput(f'feedback must be "all", "chosen" or "total", got {feedback!r}')
    problem = as_problem(problem)
    replications = validation.as_count(replications, "replications", 2)
    bound = as_variance_bound(variance_bound, problem)
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(validation.as_count(seed, "seed"))))
    measure = {"all": _see_all, "chosen": _see_chosen, "total": _see_totals}[feedback]
    found = measure(_Trial(problem, rounds, replications, rng, regularization, bound))
    return Coverage(feedback, replications, seed, tuple(found))


class _Trial(NamedTuple):
    """What is sampled, and by which radii it is judged."""

    problem: Problem
    rounds: Sequence[int] | None
    replications: int
    rng: np.random.Generator
    regularization: float
    bound: float


def _see_all(trial: _Trial) -> Iterator[RadiusCoverage]:
    problem = trial.problem
    weights = _checked_weights(problem)
    for n, mean, covariance in _moments(trial, covariance_factor(problem.covariance)):
        radii = full_information_radii(problem, n + 1, trial.regularization, trial.bound)
        off = covariance - problem.covariance
        yield _compare(COVARIANCE, n, radii.t, radii.covariance, off, radii.covariance_risk)
        yield _compare(MEAN, n, radii.t, radii.mean(weights), mean @ weights.T, radii.mean_risk)


def _see_totals(trial: _Trial) -> Iterator[RadiusCoverage]:
    problem = trial.problem
    d = problem.n_options
    weights = _checked_weights(problem)
    design = default_design(d)
    variances = total_variances(design, problem.covariance)
    of_means, of_covariances = np.linalg.pinv(design), np.linalg.pinv(products(design))
    # The actions of a round are played one after the other, so their totals are independent.
    for n, mean, covariance in _moments(trial, np.diag(np.sqrt(variances))):
        radii = full_bandit_radii(problem, n, None, trial.regularization, trial.bound)
        off = (np.diagonal(covariance, axis1=1, axis2=2) - variances) @ of_covariances.T
        yield _compare(COVARIANCE, n, radii.t, np.array(radii.covariance[0, 0]), off, radii.covariance_risk)
        yield _compare(MEAN, n, radii.t, radii.mean(weights), mean @ of_means.T @ weights.T, radii.mean_risk)


def _see_chosen(trial: _Trial) -> Iterator[RadiusCoverage]:
    problem = trial.problem
    d = problem.n_options
    start = _initial_supports(problem)
    wanted = _as_rounds(trial.rounds, [len(start) * k for k in (1, 4, 16)], len(start))
    supports = _supports(problem, start, wanted[-1], trial.rng)
    weights = _checked_weights(problem)
    factor = covariance_factor(problem.covariance)
    counts = np.zeros((d, d))
    alone = np.zeros((trial.replications, d, d))  # sum of option i's noise over the rounds in which j was seen too
    products_seen = np.zeros((trial.replications, d, d))
    upper_sum = np.zeros((trial.replications, d, d))
    for n, support in enumerate(supports, 1):
        pairs = np.outer(support, support)
        noise = trial.rng.standard_normal((trial.replications, len(factor))) @ factor
        if n > len(start):  # Σ̄_n of this round, from what was seen before it
            radius = np.nan_to_num(trial.bound * unit_covariance_radius(counts, n))
            upper_sum += pairs * (_centred(counts, alone, products_seen) + radius)
        counts += pairs
        alone += pairs * noise[:, :, None]
        products_seen += pairs * (noise[:, :, None] * noise[:, None, :])
        t = n + 1
        if n == len(start):  # rounds of start-up take the first Σ̄ that is defined
            radius = np.nan_to_num(trial.bound * unit_covariance_radius(counts, t))
            upper_sum = counts * (_centred(counts, alone, products_seen) + radius)
        if n not in wanted:
            continue
        covariance = _centred(counts, alone, products_seen)
        mean = np.diagonal(alone, axis1=1, axis2=2) / counts.diagonal()
        radii = semi_bandit_radii(problem, counts, t, trial.regularization, trial.bound)
        seen = counts > 0
        off = (covariance - problem.covariance)[:, seen]
        yield _compare(COVARIANCE, n, t, radii.covariance[seen], off, radii.covariance_risk)
        yield _compare(MEAN, n, t, radii.mean(weights), mean @ weights.T, radii.mean_risk)
        upper = np.diagonal(covariance, axis1=1, axis2=2) + radii.covariance.diagonal()
        widths = root_of_form(mean_form(radii.beta, trial.regularization, counts, upper, upper_sum), weights)
        # Lemma 2 gives it under the event that g covers.
        allowed = min(1.0, radii.mean_risk + radii.covariance_risk)
        yield _compare(MEAN_OF_MC_UCB, n, t, widths, mean @ weights.T, allowed)


def _centred(counts: F64, alone: F64, products_seen: F64) -> F64:
    """Return Σ̂ of every sample, centred on the means of all observations of an option, 0 for pairs never seen."""
    seen = np.maximum(counts, 1)
    means = np.diagonal(alone, axis1=1, axis2=2) / seen.diagonal()
    cross = means[:, None, :] * alone
    both = means[:, :, None] * means[:, None, :] * counts
    return np.asarray((products_seen - cross - cross.transpose(0, 2, 1) + both) / seen)


def _moments(trial: _Trial, factor: F64) -> Iterator[tuple[int, F64, F64]]:
    """Yield, after each number of rounds, the mean of the noise and its covariance (1/n) in every sample."""
    replications, (rank, d) = trial.replications, factor.shape
    total, outer, done = np.zeros((replications, d)), np.zeros((replications, d, d)), 0
    block = max(1, _BLOCK_NUMBERS // (replications * d))
    for n in _as_rounds(trial.rounds, (10, 100, 1000), 1):
        while done < n:
            size = min(block, n - done)
            noise = trial.rng.standard_normal((replications, size, rank)) @ factor
            total += noise.sum(axis=1)
            outer += noise.transpose(0, 2, 1) @ noise
            done += size
        mean = total / n
        yield n, mean, outer / n - mean[:, :, None] * mean[:, None, :]


def _compare(radius: str, rounds: int, t: int, width: F64, errors: F64, allowed: float) -> RadiusCoverage:
    """Compare errors [sample, ...] with radii, the same for all samples or one per sample."""
    sizes = np.abs(errors).reshape(len(errors), -1)
    widths = np.broadcast_to(width, errors.shape).reshape(sizes.shape)
    missed = (sizes > widths * (1 + 1e-12)).any(axis=1)
    met = np.quantile(sizes, 0.95, axis=0)
    varies = met > 1e-14 * max(1.0, float(sizes.max()))
    times = np.median(widths, axis=0)[varies] / met[varies]
    low, high = (float(times.min()), float(times.max())) if times.size else (float("nan"), float("nan"))
    return RadiusCoverage(radius, rounds, t, len(errors), int(missed.sum()), allowed, low, high)


def _checked_weights(problem: Problem) -> F64:
    """Return every option alone, every pair half and half if allowed, and the optimum."""
    few = problem.min_weight is not None and problem.min_weight > 0.5
    weights = np.eye(problem.n_options) if few else default_design(problem.n_options)
    return np.vstack([weights, problem.optimum().weights])


def _initial_supports(problem: Problem) -> list[NDArray[np.bool_]]:
    """Return the initial pulls of MC-UCB: every option, and every ordered pair where two options fit."""
    alone = np.eye(problem.n_options, dtype=bool)
    if problem.min_weight is not None and problem.min_weight > 0.5:
        return list(alone)
    return [*alone, *(a | b for i, a in enumerate(alone) for j, b in enumerate(alone) if i != j)]


def _supports(
    problem: Problem, start: list[NDArray[np.bool_]], rounds: int, rng: np.random.Generator
) -> Iterator[NDArray[np.bool_]]:
    """Yield the supports of all rounds: the initial pulls, then random ones of random size."""
    d = problem.n_options
    most = d if problem.min_weight is None else min(d, int(1 / problem.min_weight + 1e-9))
    yield from start
    for _ in range(rounds - len(start)):
        yield rng.permutation(d) < rng.integers(1, most, endpoint=True)


def _as_rounds(value: Sequence[int] | None, default: Sequence[int], least: int) -> list[int]:
    try:
        wanted = list(default if value is None else value)
    except TypeError:
        raise InvalidInput(f"rounds must be a list of whole numbers, got {value!r}") from None
    rounds = sorted({validation.as_count(n, "rounds", least) for n in wanted})
    if not rounds:
        raise InvalidInput("rounds is empty: say after how many rounds to look")
    return rounds
