"""The paper's upper bounds in figures of regret."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest

import covbandit as cb
from covbandit import theory

matplotlib.use("Agg")


@pytest.fixture
def figure():
    from matplotlib import pyplot

    made, ax = pyplot.subplots()
    yield ax
    pyplot.close(made)


def labels(ax) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_each_kind_of_feedback_brings_its_theorem(figure) -> None:
    problem = cb.problems.synthetic(10)
    learners = {
        "MC-Empirical": cb.MCEmpirical(n_options=5, risk_aversion=10),
        "MC-ETE": cb.MCETE(n_options=5, risk_aversion=10),
        "equal weights": cb.FixedWeights(n_options=5),
    }
    result = cb.simulate(problem, learners, horizon=300, replications=2)
    assert result.plot(figure, bounds=True) is figure
    expected = ["Theorem 1's bound, constant 1", "Theorem 5's bound, constant 1"]
    assert labels(figure) == [*learners, *expected]
    drawn = {line.get_label(): line for line in figure.get_lines()}
    for bound in (theory.full_information_bound(problem), theory.full_bandit_bound(problem)):
        line = drawn[bound.label]
        np.testing.assert_allclose(line.get_ydata(), bound.at(line.get_xdata()))
        assert line.get_xdata()[-1] == 300


def test_without_asking_and_for_weights_that_never_learn_there_is_no_bound(figure) -> None:
    problem = cb.problems.synthetic(min_weight=0.1)
    fixed = cb.FixedWeights(n_options=5)
    result = cb.simulate(problem, {"equal weights": fixed}, horizon=100, replications=2)
    result.plot(figure, bounds=True)
    assert labels(figure) == ["equal weights"]
    both = {"PairUCB": cb.PairUCB(n_options=5, risk_aversion=0.1, min_weight=0.1), "equal weights": fixed}
    result = cb.simulate(problem, both, horizon=100, replications=2)
    figure.clear()
    result.plot(figure)
    assert labels(figure) == ["PairUCB", "equal weights"]
    figure.clear()
    result.plot(figure, bounds=True)
    assert labels(figure)[2:] == ["Theorem 3's bound, constant 1"]


def test_a_bound_far_above_does_not_squeeze_the_regret(figure) -> None:
    problem = cb.Problem(mean=[0.2, 0.2001], covariance=1e6 * np.eye(2), risk_aversion=1e-9)
    learner = cb.MCEmpirical(n_options=2, risk_aversion=1e-9)
    result = cb.simulate(problem, learner, horizon=100, replications=2)
    result.plot(figure, bounds=True)
    low, high = figure.get_ylim()
    assert theory.full_information_bound(problem).at(100) > 1e4 * result.regret.max()
    assert high == pytest.approx(1000 * result.regret.max())
    assert low < result.regret.min(where=result.regret > 0, initial=1)


@pytest.mark.filterwarnings("ignore::covbandit.errors.AssumptionWarning")  # which is why the bound must not rest on it
def test_the_bounds_drawn_hold_also_where_a_learner_assumes_too_small_variances(figure) -> None:
    problem = cb.problems.etf(min_weight=0.1)
    for b, drawn_with in ((1.0, problem.variance_bound), (1000.0, 1000.0)):
        learners = {
            "MC-UCB": cb.MCUCB(n_options=5, risk_aversion=0.1, min_weight=0.1, variance_bound=b),
            "MC-Empirical": cb.MCEmpirical(n_options=5, risk_aversion=0.1, min_weight=0.1),
        }
        result = cb.simulate(problem, learners, horizon=40, replications=1)
        figure.clear()
        result.plot(figure, bounds=True)
        drawn = {line.get_label(): line for line in figure.get_lines()}
        bounds = theory.upper_bounds(problem, variance_bound=drawn_with)
        assert set(bounds) == {"all", "chosen"}
        for bound in bounds.values():
            assert bound.conditions()[0].holds
            line = drawn[bound.label]
            np.testing.assert_allclose(line.get_ydata(), bound.at(line.get_xdata()))


def test_names_with_dollars_and_underscores_are_in_the_legend_as_they_are(figure) -> None:
    learners = {"$a_{$": cb.FixedWeights(n_options=5), "_hidden": cb.FixedWeights(n_options=5, weights=np.eye(5)[0])}
    result = cb.simulate(cb.problems.synthetic(), learners, horizon=40, replications=1)
    result.plot(figure)
    figure.figure.draw_without_rendering()
    assert labels(figure) == [r"\$a_{\$", " _hidden"]
