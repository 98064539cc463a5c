"""Risk aversion: the path along ρ, its landmarks, and the three ways to choose ρ."""

from __future__ import annotations

import dataclasses
import json
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

import covbandit as cb
from covbandit.errors import InvalidInput, MissingExtra, NumericalFailure, Unsupported

F64 = NDArray[np.float64]
KINDS = ("negative", "zero", "positive", "factor")


def problem(mean: Any, covariance: Any, **more: Any) -> cb.Problem:
    return cb.Problem(mean=mean, covariance=covariance, risk_aversion=1.0, **more)


def optimal(p: cb.Problem, rho: float) -> F64:
    return cb.maximize_utility(p.mean, p.covariance, rho).weights


def sd(p: cb.Problem, weights: F64) -> float:
    return float(np.sqrt(weights @ p.covariance @ weights))


def least_sd(p: cb.Problem) -> float:
    return sd(p, optimal(problem(np.zeros(p.n_options), p.covariance), 1.0))


def example_returns() -> F64:
    rng = np.random.default_rng(7)
    mixing = np.array([[0.01, 0.0, 0.0, 0.0], [0.006, 0.02, 0.0, 0.0], [-0.004, 0.0, 0.008, 0.0], [0, 0, 0, 0.03]])
    noise = rng.standard_normal((200, 4)) @ mixing.T
    return np.asarray(noise - noise.mean(axis=0) + [0.001, 0.002, 0.0005, 0.004])


# The landmarks --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(5))
def test_one_option_holds_everything_up_to_the_landmark_and_not_beyond(kind: Any, seed: int) -> None:
    p = cb.problems.random(6, kind, seed=seed)
    edge = cb.risk_path(p, points=2).single_option_below
    assert edge > 0
    if np.isinf(edge):
        assert np.count_nonzero(optimal(p, 1e6)) == 1
        return
    assert_array_equal(np.flatnonzero(optimal(p, edge * (1 - 1e-9))), [np.argmax(p.mean)])
    assert np.count_nonzero(optimal(p, edge * (1 + 1e-6))) == 2


def test_the_first_landmark_has_a_closed_form() -> None:
    # i = 0: against 1, (.3-.2)/(2(1-.5)) = .1; against 2, (.3-.1)/(2(1-(-.5))) = .0667; 3 saves no risk.
    covariance = [[1.0, 0.5, -0.5, 1.2], [0.5, 2, 0, 0], [-0.5, 0, 3, 0], [1.2, 0, 0, 4]]
    path = cb.risk_path(problem([0.3, 0.2, 0.1, 0.29], covariance))
    assert path.single_option_below == pytest.approx(0.2 / 3, rel=1e-14)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(5))
def test_the_sd_is_within_one_percent_of_its_minimum_exactly_from_the_landmark_on(kind: Any, seed: int) -> None:
    p = cb.problems.random(6, kind, seed=seed)
    path = cb.risk_path(p, points=2)
    edge = path.minimum_variance_above
    assert path.minimum_sd == pytest.approx(least_sd(p), rel=1e-12)
    if edge == 0:
        assert sd(p, optimal(p, 1e-9)) <= 1.01 * path.minimum_sd
        return
    assert sd(p, optimal(p, edge)) == pytest.approx(1.01 * path.minimum_sd, rel=1e-9)
    assert sd(p, optimal(p, edge * 0.99)) > 1.01 * path.minimum_sd
    for factor in (1.01, 2.0, 100.0):
        assert sd(p, optimal(p, edge * factor)) < 1.01 * path.minimum_sd


def test_options_tied_for_the_best_mean_are_mixed_from_the_start() -> None:
    p = problem([0.1, 0.1, 0.0], np.diag([1.0, 2.0, 0.5]))
    path = cb.risk_path(p)
    assert path.single_option_below == 0
    assert_allclose(path.weights[0], [2 / 3, 1 / 3, 0])
    assert "Several options share the best mean" in str(path)
    # The tied mixture is left at gap / (2 variance) = .1 / (2 · 2/3), which the grid encloses.
    assert path.risk_aversion[0] < 0.075 < path.risk_aversion[-1]


def test_means_that_differ_by_rounding_are_tied() -> None:
    path = cb.risk_path(problem([0.1 + 0.2, 0.3, 0.0], np.eye(3)))
    assert path.single_option_below == 0
    assert path.risk_aversion[0] > 1e-3


def test_a_tied_option_that_another_one_dominates_does_not_count() -> None:
    p = problem([0.1, 0.1, 0.0], [[4, 2, 0], [2, 1, 0], [0, 0, 1]])  # option 0 is twice the noise of option 1
    edge = cb.risk_path(p).single_option_below
    assert edge == pytest.approx(0.05)
    assert_array_equal(optimal(p, edge * 0.999), [0, 1, 0])
    assert np.count_nonzero(optimal(p, edge * 1.001)) == 2


def test_a_copy_of_the_best_option_is_no_diversification() -> None:
    returns = example_returns()
    once, twice = cb.risk_path(returns), cb.risk_path(np.column_stack([returns, returns[:, 3]]))
    assert twice.single_option_below == pytest.approx(once.single_option_below, rel=1e-12)
    assert twice.minimum_variance_above == pytest.approx(once.minimum_variance_above, rel=1e-9)
    assert_allclose(twice.sd, once.sd)


def test_one_option_with_the_best_mean_and_the_least_risk_always_wins() -> None:
    path = cb.risk_path(problem([0.1, 0.0], [[1, 1], [1, 2]]))
    assert path.single_option_below == np.inf
    assert path.minimum_variance_above == 0
    assert_array_equal(path.weights[:, 0], 1)
    assert "at any risk aversion" in str(path)


def test_a_riskless_option_is_only_approached() -> None:
    path = cb.risk_path(problem([0.1, 0.0], [[1, 0], [0, 0]]))
    assert path.single_option_below == pytest.approx(0.05)
    assert path.minimum_variance_above == np.inf
    assert path.minimum_sd == 0
    assert path.sd[-1] < 0.01 * path.sd[0]
    assert "no finite risk aversion reaches" in str(path)


def test_an_option_that_never_changes_has_no_risk_at_all() -> None:
    returns = example_returns()
    returns[:, 0] = 0.0001  # its mean, summed up, is not exactly that
    cash = cb.risk_path(returns)
    assert cash.minimum_sd == 0
    assert cash.minimum_variance_above == np.inf
    returns[:, 0] = 0.1
    best = cb.risk_path(returns)
    assert best.single_option_below == np.inf
    assert_array_equal(best.sd, 0)


@pytest.mark.parametrize("seed", range(30))
def test_options_of_very_different_risk(seed: int) -> None:
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 7))
    loadings = rng.standard_normal((d, int(rng.integers(1, d + 1)))) * 10 ** rng.uniform(-9, 3, (d, 1))
    p = problem(rng.standard_normal(d) * 10 ** rng.uniform(-9, 3), loadings @ loadings.T)
    path = cb.risk_path(p, points=25)
    assert np.isfinite(path.risk_aversion).all()
    assert (np.diff(path.sd) <= 1e-7 * path.sd[0]).all()
    if path.sd[0] > 1.1 * path.sd[-1] > 0:
        target = float(np.sqrt(path.sd[0] * path.sd[-1]))
        rho = cb.choose_risk_aversion(p, volatility=target)
        assert sd(p, optimal(p, rho)) == pytest.approx(target, rel=1e-6)


@pytest.mark.parametrize("covariance", [[[0.0]], [[2.0]]])
def test_a_single_option(covariance: list[list[float]]) -> None:
    path = cb.risk_path(problem([0.0], covariance))
    assert (path.single_option_below, path.minimum_variance_above) == (np.inf, 0)
    assert_array_equal(path.weights, 1)
    assert np.isfinite(path.risk_aversion).all()


# The path -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_the_path_runs_from_one_option_to_least_variance(kind: Any, seed: int) -> None:
    p = cb.problems.random(5, kind, seed=seed)
    path = cb.risk_path(p)
    assert_allclose(np.diff(np.log(path.risk_aversion)), np.log(path.risk_aversion[1] / path.risk_aversion[0]))
    assert np.count_nonzero(path.weights[0]) == 1
    assert path.sd[-1] <= 1.01 * least_sd(p)
    assert (np.diff(path.sd) <= 1e-12).all()
    assert (np.diff(path.mean) <= 1e-12).all()
    for k in (0, 20, 40, 60):
        w = optimal(p, path.risk_aversion[k])
        assert_allclose(path.weights[k], w, atol=1e-9)
        assert path.mean[k] == pytest.approx(float(w @ p.mean), rel=1e-9)
        assert path.sd[k] == pytest.approx(sd(p, w), rel=1e-9)


def test_moments_divide_by_n() -> None:
    returns = example_returns()
    p = problem(returns.mean(axis=0), np.cov(returns, rowvar=False, bias=True))
    assert_allclose(cb.risk_path(returns).risk_aversion, cb.risk_path(p).risk_aversion, rtol=1e-9)
    assert_allclose(cb.risk_path(returns).weights, cb.risk_path(p).weights, atol=1e-9)


def test_percent_instead_of_fractions_divides_risk_aversion_by_100() -> None:
    fractions = cb.risk_path(example_returns())
    percent = cb.risk_path(100 * example_returns())
    assert_allclose(percent.risk_aversion, fractions.risk_aversion / 100, rtol=1e-9)
    assert_allclose(percent.weights, fractions.weights, atol=1e-9)
    assert_allclose(percent.sd, 100 * fractions.sd, rtol=1e-9)


def test_column_names_become_option_names() -> None:
    frame = pd.DataFrame(example_returns(), columns=["a", "b", "c", "d"])
    assert cb.risk_path(frame).options == ("a", "b", "c", "d")
    assert cb.risk_path(frame.set_axis([10, 20, 30, 40], axis=1)).options == ("10", "20", "30", "40")
    assert cb.risk_path(frame.to_numpy()).options is None
    assert cb.risk_path(cb.problems.etf()).options == ("SPY", "EFA", "TLT", "VNQ", "XLE")
    assert_array_equal(cb.risk_path(frame).weights, cb.risk_path(frame.to_numpy()).weights)


def test_arrays_do_without_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)  # importing it fails
    assert "risk_aversion" in str(cb.risk_path(example_returns()))
    assert cb.choose_risk_aversion(example_returns(), volatility=0.01) > 0


@pytest.mark.parametrize(
    ("returns", "message"),
    [
        ([1.0, 2.0], r"returns must have 2 dimension"),
        ([[1.0, 2.0]], r"at least two rows .* got shape \(1, 2\)"),
        (np.empty((3, 0)), r"one column .* got shape \(3, 0\)"),
        ([["x", "y"], ["z", "u"]], r"returns must be numeric"),
        ([[1.0, 2.0], [1.0, np.nan]], r"option 1: the return in row 1 is nan.*drop or fill"),
        ([[1.0, 2.0], [np.inf, 1.0]], r"option 0: the return in row 1 is inf"),
        ([[1.0, 2.0], [1e200, 1.0]], r"option 0: the return in row 1 is 1e\+200.*beyond ±1e\+100"),
        (pd.DataFrame({"SPY": [1.0, np.nan]}), r"option 'SPY' \(index 0\): the return in row 1 is nan"),
        (
            pd.DataFrame({"SPY": [1.0, 2.0], "day": ["mon", "tue"]}),
            r"option 'day' \(index 1\): its returns are not all",
        ),
        (pd.DataFrame([[1.0, 2.0]] * 2, columns=["a", "a"]), r"option 'a' is named twice"),
        (pd.Series([1.0, 2.0]), r"2 dimension"),
        (None, r"returns must have 2 dimension"),
    ],
)
def test_returns_that_cannot_be_used(returns: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        cb.risk_path(returns)


def test_capped_problems_are_refused() -> None:
    with pytest.raises(Unsupported, match="Problem with max_weight is not supported"):
        cb.risk_path(problem([0.1, 0.2], np.eye(2), max_weight=0.7))


@pytest.mark.parametrize(("points", "message"), [(1, "at least 2"), (2.5, "whole number")])
def test_points_are_counted(points: int, message: str) -> None:
    with pytest.raises(InvalidInput, match=f"points must be .*{message}"):
        cb.risk_path(example_returns(), points=points)


# What a path shows ----------------------------------------------------------------------------------------------------


def test_the_table_is_aligned_and_short() -> None:
    lines = str(cb.risk_path(cb.problems.etf())).splitlines()
    table, landmarks = lines[:-3], lines[-2:]
    assert lines[-3] == ""
    assert table[0].split() == ["risk_aversion", "mean", "sd", "SPY", "EFA", "TLT", "VNQ", "XLE"]
    assert len(table) <= 15
    assert len({len(line) for line in table}) == 1
    assert all(float(line.split()[0]) > 0 for line in table[1:])
    assert landmarks[0].startswith("Up to 0.00678, one option")
    assert landmarks[1].startswith("From 1.19 on, the sd is within 1%")


def test_the_table_of_many_options_lists_the_largest_weights() -> None:
    text = str(cb.risk_path(cb.problems.random(12, "factor", seed=1)))
    assert "largest weights" in text
    assert " more" in text
    assert max(len(line) for line in text.splitlines()) < 100


@pytest.mark.parametrize("scale", [1e-12, 1e-3, 1e4, 1e9])
def test_tables_of_any_scale_are_aligned(scale: float) -> None:
    lines = str(cb.risk_path(scale * example_returns())).splitlines()[:-3]
    assert len({len(line) for line in lines}) == 1
    assert len(lines[0]) < 80


def test_repr_is_one_line() -> None:
    assert repr(cb.risk_path(cb.problems.etf())) == "RiskPath(5 options, 61 risk aversions from 0.00226 to 3.57)"


def test_to_frame_has_one_row_per_risk_aversion() -> None:
    path = cb.risk_path(cb.problems.etf(), points=9)
    frame = path.to_frame()
    assert list(frame) == ["risk_aversion", "mean", "sd", *(f"weight_{name}" for name in path.options or ())]
    assert_array_equal(frame["weight_TLT"], path.weights[:, 2])
    assert_array_equal(frame["sd"], path.sd)
    assert list(cb.risk_path([[1.0, 2.0], [3.0, 0.0]]).to_frame())[3:] == ["weight_0", "weight_1"]


def test_to_frame_without_pandas_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    path = cb.risk_path(cb.problems.etf(), points=2)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtra, match=r"pip install 'covbandit\[frame\]'"):
        path.to_frame()


def test_to_dict_is_plain() -> None:
    path = cb.risk_path(cb.problems.etf(), points=4)
    plain = json.loads(json.dumps(path.to_dict()))
    assert plain.keys() == {field.name for field in dataclasses.fields(path)}
    assert_array_equal(plain["weights"], path.weights)
    assert plain["options"] == ["SPY", "EFA", "TLT", "VNQ", "XLE"]
    assert plain["single_option_below"] == path.single_option_below


def test_a_path_cannot_be_changed() -> None:
    path = cb.risk_path(cb.problems.etf(), points=4)
    with pytest.raises(dataclasses.FrozenInstanceError):
        path.minimum_sd = 0.0  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        path.weights[0, 0] = 0.5


def test_plot_draws_the_curve_and_marks_risk_aversions() -> None:
    from matplotlib.figure import Figure

    path = cb.risk_path(cb.problems.etf())
    ax = Figure().subplots()
    assert path.plot(ax) is ax
    curve, marks = ax.lines
    assert_array_equal(curve.get_xydata(), np.column_stack([path.sd, path.mean]))
    assert 5 < len(marks.get_xydata()) < 20  # type: ignore[arg-type]
    labels = [text.get_text() for text in ax.texts]
    assert labels == sorted(labels, key=float)
    assert float(labels[-1]) == pytest.approx(path.risk_aversion[-1], rel=0.01)
    assert {line.get_color() for line in ax.lines} == {"black"}


def test_plot_makes_its_own_figure_and_copes_with_a_single_point() -> None:
    import matplotlib.pyplot as plt

    plt.switch_backend("agg")
    ax = cb.risk_path(problem([0.1, 0.0], [[1, 1], [1, 2]])).plot()
    assert len(ax.texts) == 1
    plt.close("all")


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
