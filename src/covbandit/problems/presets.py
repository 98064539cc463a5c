"""Ready-made problems: the paper's synthetic instance, a fitted ETF instance, random and hard ones."""

from __future__ import annotations

from typing import Literal

import numpy as np

from covbandit.core import validation
from covbandit.core.size_limits import as_n_options
from covbandit.data import etf_returns
from covbandit.errors import InvalidInput
from covbandit.problems.problem import Problem
from covbandit.theory import FullInformationLowerBound, SemiBanditLowerBound

Correlation = Literal["negative", "zero", "positive", "factor"]


def synthetic(risk_aversion: float = 0.1, min_weight: float | None = None, off_diagonal: float = -0.05) -> Problem:
    """Return the paper's synthetic instance (section 6).

    Five options with means (.2, .3, .2, .2, .2), unit variances and one common covariance.

    Parameters
    ----------
    risk_aversion : float
        ρ; the paper uses .1 and 10.
    min_weight : float, optional
        c: every weight is zero or at least c. See `Problem`.
    off_diagonal : float
        The common covariance, -.05 in the paper. Positive semi-definite from -.25 to 1.

    Examples
    --------
    >>> import covbandit as cb
    >>> cb.problems.synthetic().optimum().weights.round(6).tolist()
    [0.104762, 0.580952, 0.104762, 0.104762, 0.104762]
    """
    covariance = np.full((5, 5), validation.as_float(off_diagonal, "off_diagonal"))
    np.fill_diagonal(covariance, 1.0)
    return Problem(
        mean=[0.2, 0.3, 0.2, 0.2, 0.2],
        covariance=covariance,
        risk_aversion=risk_aversion,
        min_weight=min_weight,
        name="synthetic",
    )


def etf(risk_aversion: float = 0.1, min_weight: float | None = None) -> Problem:
    """Return a Gaussian fitted to eight annual returns (2010-2017, percent) of five funds of our choice.

    The paper fits such an instance to a Kaggle file but does not name its five funds; ours are SPY, EFA, TLT, VNQ,
    XLE (`data.etf_returns`). Mean and covariance divide by n and are in percent units: only there does ρ = .1 weigh
    risk at all. Learners whose radii need a bound on the variances take ``variance_bound=p.variance_bound``. For funds
    of your choice see `data.read_etf_file`.

    Examples
    --------
    >>> import covbandit as cb
    >>> p = cb.problems.etf()
    >>> dict(zip(p.options, p.optimum().weights.round(3).tolist()))
    {'SPY': 0.611, 'EFA': 0.0, 'TLT': 0.194, 'VNQ': 0.195, 'XLE': 0.0}
    >>> round(p.variance_bound, 1)
    269.8
    """
    return etf_returns().problem(
        risk_aversion,
        min_weight,
        name="Gaussian fitted to eight annual returns (2010-2017, percent) of five ETFs of our choice",
    )


def random(
    n_options: int,
    correlation: Correlation = "zero",
    seed: int = 0,
    *,
    risk_aversion: float = 1.0,
    strength: float = 0.5,
    mean_spread: float = 0.2,
    volatility_spread: float = 0.5,
    min_weight: float | None = None,
) -> Problem:
    r"""Return a random instance with a stated correlation structure.

    Means are drawn from N(.2, `mean_spread`²), volatilities from exp N(0, `volatility_spread`²).

    Parameters
    ----------
    n_options : int
        d, at most 10,000.
    correlation : {"negative", "zero", "positive", "factor"}
        Common correlation of -strength/(d-1); none; +strength; or a random three-factor structure in which the factors
        carry the share `strength` of each variance.
    seed : int
        Same seed, same problem.
    risk_aversion : float
        ρ.
    strength : float
        Between 0 and 1, see `correlation`.
    mean_spread, volatility_spread : float
        How much the options differ.
    min_weight : float, optional
        c: every weight is zero or at least c. See `Problem`.

    Examples
    --------
    >>> import covbandit as cb
    >>> p = cb.problems.random(4, "negative", seed=1)
    >>> bool(p.covariance[0, 1] < 0)
    True
    """
    d = as_n_options(n_options, 1)
    strength = validation.as_share(strength, "strength")
    mean_spread = validation.as_float(mean_spread, "mean_spread")
    volatility_spread = validation.as_float(volatility_spread, "volatility_spread")
    if abs(volatility_spread) > 20:
        raise InvalidInput(f"volatility_spread must lie between -20 and 20, got {volatility_spread}")
    rng = np.random.default_rng(np.random.SeedSequence(validation.as_count(seed, "seed")))
    mean = 0.2 + mean_spread * rng.standard_normal(d)
    volatility = np.exp(volatility_spread * rng.standard_normal(d))
    if correlation in ("negative", "zero", "positive"):
        common = {"negative": -strength / max(d - 1, 1), "zero": 0.0, "positive": strength}[correlation]
        matrix = np.full((d, d), common)
        np.fill_diagonal(matrix, 1.0)
    elif correlation == "factor":
        loadings = rng.standard_normal((d, 3))
        loadings *= np.sqrt(strength) / np.linalg.norm(loadings, axis=1, keepdims=True)
        matrix = loadings @ loadings.T
        np.fill_diagonal(matrix, 1.0)
    else:
        raise InvalidInput(f'correlation must be "negative", "zero", "positive" or "factor", got {correlation!r}')
    covariance = matrix * np.outer(volatility, volatility)
    return Problem(
        mean=mean,
        covariance=(covariance + covariance.T) / 2,
        risk_aversion=risk_aversion,
        min_weight=min_weight,
        name=f"random, {d} options, {correlation} correlation, seed {seed}",
    )


def full_information_lower_bound(n_options: int, horizon: int) -> FullInformationLowerBound:
    """Return Theorem 2's distribution of problems, on which every learner pays of order √T. See the class.

    Examples
    --------
    >>> import covbandit as cb
    >>> hard = cb.problems.full_information_lower_bound(5, horizon=400)
    >>> learner = cb.MCEmpirical(n_options=5, risk_aversion=hard.risk_aversion)
    >>> r = cb.simulate(hard, learner, horizon=400, replications=20)
    >>> bool(hard.regret_floor < r.at("MCEmpirical").mean() < 400**0.5)
    True
    """
    return FullInformationLowerBound(n_options, horizon)


def semi_bandit_lower_bound(
    n_options: int, horizon: int, min_weight: float, constant: float | None = None
) -> SemiBanditLowerBound:
    """Return Theorem 4's distribution of problems, on which every learner pays of order √(cdT). See the class.

    Examples
    --------
    >>> import covbandit as cb
    >>> cb.problems.semi_bandit_lower_bound(4, horizon=400, min_weight=0.5).draw(seed=0, index=1).n_options
    4
    """
    return SemiBanditLowerBound(n_options, horizon, min_weight, constant)
