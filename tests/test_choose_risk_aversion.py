"""The three ways to choose ρ: a volatility, the weights held today, a stated trade-off."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import covbandit as cb
from covbandit.errors import InvalidInput, NumericalFailure
from risk_examples import KINDS, example_returns, least_sd, optimal, problem, sd

# A target volatility --------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    kind=st.sampled_from(KINDS),
    d=st.integers(2, 8),
    share=st.floats(0.01, 0.99),
)
def test_the_chosen_risk_aversion_gives_the_volatility(seed: int, kind: Any, d: int, share: float) -> None:
    p = cb.problems.random(d, kind, seed=seed)
    low, high = least_sd(p), float(np.sqrt(p.covariance[np.argmax(p.mean), np.argmax(p.mean)]))
    if high < low * 1.001:
        return
    target = low + share * (high - low)
    rho = cb.choose_risk_aversion(p, volatility=target)
    assert type(rho) is float
    assert sd(p, optimal(p, rho)) == pytest.approx(target, rel=1e-9)


@pytest.mark.parametrize("rho", [0.01, 0.1, 1.0])
def test_volatility_recovers_risk_aversion(rho: float) -> None:
    p = cb.problems.etf()
    assert cb.choose_risk_aversion(p, volatility=sd(p, optimal(p, rho))) == pytest.approx(rho, rel=1e-8)


def test_the_largest_volatility_gives_the_landmark() -> None:
    p = cb.problems.etf()
    top = float(np.sqrt(p.covariance[0, 0]))
    edge = cb.risk_path(p).single_option_below
    assert cb.choose_risk_aversion(p, volatility=top) == pytest.approx(edge, rel=1e-9)
    assert cb.choose_risk_aversion(p, volatility=top * (1 + 1e-12)) == pytest.approx(edge, rel=1e-9)


def test_the_least_volatility_is_reached_up_to_rounding() -> None:
    p = cb.problems.etf()
    rho = cb.choose_risk_aversion(p, volatility=least_sd(p))
    assert sd(p, optimal(p, rho)) == pytest.approx(least_sd(p), rel=2e-9)


def test_a_volatility_that_tied_options_have_only_alone_is_not_attainable() -> None:
    p = problem([0.1, 0.1, 0.0], np.diag([1.0, 2.0, 0.5]))
    assert cb.choose_risk_aversion(p, volatility=np.sqrt(2 / 3)) == pytest.approx(0.075, rel=1e-6)
    with pytest.raises(InvalidInput, match=r"attainable is 0\.534522 to 0\.816497"):
        cb.choose_risk_aversion(p, volatility=1.0)


def test_small_volatilities_beside_a_riskless_option() -> None:
    p = problem([0.1, 0.0], [[1, 0], [0, 0]])
    for target in (0.5, 1e-3, 1e-9):  # w = .1 / (2ρ) of the risky option
        assert cb.choose_risk_aversion(p, volatility=target) == pytest.approx(0.05 / target, rel=1e-9)


def test_a_volatility_lost_in_rounding_is_not_answered() -> None:
    # A perfect hedge whose variance cannot be told from rounding.
    s = np.array([1.0, np.pi / 3])
    p = problem([0.1, 0.3], np.outer(s * [1, -1], s * [1, -1]))
    with pytest.raises(NumericalFailure, match="too small beside those of the options"):
        cb.choose_risk_aversion(p, volatility=1e-12)


@pytest.mark.parametrize(
    ("volatility", "message"),
    [
        (4.0, r"volatility 4 is below the minimum sd: attainable is 4\.95\d+ to 9\.37\d+"),
        (10.0, r"volatility 10 is above the sd at the best mean: attainable is 4\.95\d+ to 9\.37\d+"),
        (0.0, "must be positive, got 0"),
        (-1.0, "must be positive, got -1"),
        (np.nan, "volatility must be finite"),
        ("high", "volatility must be a number"),
    ],
)
def test_volatilities_that_cannot_be_had(volatility: float, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        cb.choose_risk_aversion(cb.problems.etf(), volatility=volatility)


def test_volatility_says_nothing_where_every_risk_aversion_gives_the_same() -> None:
    with pytest.raises(InvalidInput, match="every risk aversion gives the volatility 1:"):
        cb.choose_risk_aversion(problem([0.1, 0.0], [[1, 1], [1, 2]]), volatility=1.0)


# The weights held today -----------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), kind=st.sampled_from(KINDS), d=st.integers(2, 8), log_rho=st.floats(-1, 1.5))
def test_optimal_weights_imply_their_risk_aversion(seed: int, kind: Any, d: int, log_rho: float) -> None:
    p = cb.problems.random(d, kind, seed=seed)
    rho = 10**log_rho
    w = optimal(p, rho)
    if np.count_nonzero(w) == 1:
        return
    assert cb.choose_risk_aversion(p, current_weights=w) == pytest.approx(rho, rel=1e-6)


def test_dust_left_by_another_optimiser_does_no_harm() -> None:
    p = cb.problems.etf()
    w = optimal(p, 0.1)
    assert (w == 0).any()
    dusty = np.where(w == 0, 1e-10, w)
    assert cb.choose_risk_aversion(p, current_weights=dusty / dusty.sum()) == pytest.approx(0.1, rel=1e-6)


def test_weights_by_name_or_in_order() -> None:
    frame = pd.DataFrame(example_returns(), columns=["a", "b", "c", "d"])
    in_order = cb.choose_risk_aversion(frame, current_weights=[0.3, 0.0, 0.6, 0.1])
    series: Any = pd.Series({"c": 0.6, "d": 0.1, "a": 0.3})
    assert in_order > 0
    assert cb.choose_risk_aversion(frame, current_weights={"d": 0.1, "a": 0.3, "c": 0.6}) == in_order
    assert cb.choose_risk_aversion(frame, current_weights=series) == in_order


def test_two_held_options_are_fitted_exactly() -> None:
    # θ_1 - θ_2 = 2ρ((Σw)_1 - (Σw)_2): .1 = 2ρ(.8·1 - .2·1)
    p = problem([0.2, 0.1, 5.0], np.eye(3))
    assert cb.choose_risk_aversion(p, current_weights=[0.8, 0.2, 0.0]) == pytest.approx(0.1 / 1.2, rel=1e-14)


def test_weights_that_love_risk_imply_no_aversion() -> None:
    assert cb.choose_risk_aversion(problem([0.2, 0.1], np.eye(2)), current_weights=[0.3, 0.7]) == 0.0


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (
            [1.0, 0, 0, 0, 0],
            r"hold only option 'SPY' \(index 0\).*any up to 0\.00678\d+ \(single_option_below\) would do",
        ),
        ({"XLE": 1.0}, r"hold only option 'XLE'.*there is none for which that is optimal"),
        (
            {"SPY": 0.5, "GLD": 0.5},
            r"current weight: unknown option 'GLD'; known are 'SPY', 'EFA', 'TLT', 'VNQ', 'XLE'",
        ),
        ({"SPY": 0.5, "TLT": "half"}, r"current weight of option 'TLT' must be a number, got 'half'"),
        ({"SPY": 0.5}, r"current weights sum to 0\.5, not to one"),
        ({"SPY": 1.5, "TLT": -0.5}, r"option 'TLT' \(index 2\): current weight -0\.5 is negative"),
        ([0.5, 0.5], r"current weight must have 5 entries"),
        (pd.Series([0.5, 0.5], index=["SPY", "SPY"]), r"named twice"),
    ],
)
def test_weights_that_say_nothing_or_are_none(weights: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        cb.choose_risk_aversion(cb.problems.etf(), current_weights=weights)


def test_a_single_option_that_is_optimal_in_between() -> None:
    # Option 1 lies where the frontier has a corner.
    p = problem([0.2, 0.15, 0.0], [[1.0, 0.3, 0], [0.3, 0.2, 0.05], [0, 0.05, 0.04]])
    with pytest.raises(InvalidInput, match=r"any from 0\.25 to 0\.5 would do"):
        cb.choose_risk_aversion(p, current_weights=[0, 1, 0])
    for rho in (0.26, 0.49):
        assert_array_equal(optimal(p, rho), [0, 1, 0])


def test_a_single_option_that_is_always_optimal() -> None:
    with pytest.raises(InvalidInput, match="best mean and the least risk, so any would do"):
        cb.choose_risk_aversion(problem([0.1, 0.0], [[1, 1], [1, 2]]), current_weights=[1, 0])


def test_a_single_option_without_risk_advantage_is_never_optimal() -> None:
    with pytest.raises(InvalidInput, match="there is none for which"):
        cb.choose_risk_aversion(problem([0.1, 0.0], [[1, 1], [1, 1]]), current_weights=[0, 1])


def test_weights_of_least_variance_imply_no_finite_risk_aversion() -> None:
    with pytest.raises(InvalidInput, match=r"least variance of all mixtures.*minimum_variance_above"):
        cb.choose_risk_aversion(problem([0.2, 0.1], np.diag([1.0, 3.0])), current_weights=[0.75, 0.25])


def test_names_need_names() -> None:
    with pytest.raises(InvalidInput, match="the options have no names here; give a list in option order"):
        cb.choose_risk_aversion(example_returns(), current_weights={"a": 1.0})


# A stated trade-off ---------------------------------------------------------------------------------------------------


def test_a_tradeoff_leaves_both_ends_equally_good() -> None:
    m, a, b = 0.02, 0.2, 0.12
    rho = cb.choose_risk_aversion(None, tradeoff=(m, a, b))
    assert 0.1 - rho * a**2 == pytest.approx(0.1 - m - rho * b**2, rel=1e-14)
    assert cb.choose_risk_aversion(example_returns(), tradeoff=(m, a, b)) == rho
    assert cb.choose_risk_aversion(None, tradeoff=(100 * m, 100 * a, 100 * b)) == pytest.approx(rho / 100, rel=1e-14)


def test_nothing_given_up_is_no_risk_aversion() -> None:
    assert cb.choose_risk_aversion(None, tradeoff=(0.0, 0.2, 0.0)) == 0.0


@pytest.mark.parametrize(
    ("tradeoff", "message"),
    [
        ((0.1, 0.1, 0.2), r"the sd must fall, but it goes from 0\.1 to 0\.2; the order is"),
        ((0.1, 0.2, 0.2), r"the sd must fall"),
        ((0.1, 0.2, -0.1), r"the sd after must not be negative, got -0\.1"),
        ((-0.1, 0.2, 0.1), r"the mean given up must not be negative, got -0\.1"),
        ((np.nan, 0.2, 0.1), r"mean given up must be finite"),
        ((0.1, "x", 0.1), r"sd before must be a number, got 'x'"),
        ((0.1, 0.2), r"three numbers, got \(0\.1, 0\.2\)"),
        (0.1, r"three numbers, got 0\.1"),
    ],
)
def test_tradeoffs_that_make_no_sense(tradeoff: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        cb.choose_risk_aversion(None, tradeoff=tradeoff)


# Exactly one way ------------------------------------------------------------------------------------------------------


def test_exactly_one_way_must_be_given() -> None:
    p = cb.problems.etf()
    with pytest.raises(InvalidInput, match="exactly one of volatility, current_weights, tradeoff; got none"):
        cb.choose_risk_aversion(p)
    with pytest.raises(InvalidInput, match="got volatility and tradeoff"):
        cb.choose_risk_aversion(p, volatility=6.0, tradeoff=(1, 2, 1))


def test_only_a_tradeoff_needs_no_returns() -> None:
    with pytest.raises(InvalidInput, match="volatility needs returns"):
        cb.choose_risk_aversion(None, volatility=6.0)
