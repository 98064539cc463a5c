"""The path along ρ, its landmarks, and what it shows."""

from __future__ import annotations

import dataclasses
import json
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import covbandit as cb
from covbandit.errors import InvalidInput, MissingExtra, Unsupported
from risk_examples import KINDS, example_returns, least_sd, optimal, problem, sd

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
