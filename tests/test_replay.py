"""Replay: a history as it happened, reported by what was realised, without look-ahead and without intervals."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import covbandit as cb
from covbandit.environments import Replay
from covbandit.errors import InvalidInput, Unsupported
from covbandit.simulation.engine import fresh_player, total_reward
from covbandit.simulation.replay_result import max_drawdown, turnover
from test_learners_conform import MAKERS

ETF = cb.data.etf_returns()
RHO = 0.1


def _history(d: int, n: int, seed: int = 0) -> cb.data.Returns:
    values = 0.1 + 0.3 * np.random.default_rng(seed).standard_normal((n, d)) @ (np.eye(d) + 0.2)
    return cb.data.Returns(values, options=[chr(ord("a") + k) for k in range(d)])


def _learners(d: int = 5) -> dict[str, cb.Learner]:
    return {
        "MC-Empirical": cb.MCEmpirical(n_options=d, risk_aversion=RHO),
        "equal": cb.FixedWeights(n_options=d),
        "random": cb.GradientTS(n_options=d, risk_aversion=RHO),
    }


def _replay(history: cb.data.Returns = ETF, **changes: Any) -> cb.ReplayResult:
    arguments: dict[str, Any] = {"environment": Replay(history), "workers": 1, **changes}
    r = cb.simulate(history.problem(RHO), _learners(history.n_options), **arguments)
    assert isinstance(r, cb.ReplayResult)
    return r


# No look-ahead, and live use is the same ------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:min_weight=.* is above one half:covbandit.errors.SetupWarning")
@pytest.mark.parametrize("name", list(MAKERS))
def test_weights_do_not_depend_on_what_comes_later_and_are_those_of_live_use(name: str) -> None:
    learner = MAKERS[name]()
    d, rounds = learner.n_options, 120 if learner.n_options >= 10 else 60
    history = _history(d, rounds)
    later = _history(d, rounds // 2, seed=1)
    longer = cb.data.Returns(np.concatenate([history.values, later.values]), options=history.options)

    def played(returns: cb.data.Returns, horizon: int | None = None) -> Any:
        rho = 0.5 if learner.risk_aversion is None else learner.risk_aversion
        problem = returns.problem(rho, learner.min_weight, learner.max_weight)
        return cb.simulate(problem, {"it": learner}, horizon, seed=4, environment=Replay(returns), workers=1).weights

    weights = played(history)[0, 0]
    assert weights.shape == (rounds, d)
    assert np.array_equal(played(longer)[0, 0, :rounds], weights)
    assert np.array_equal(played(longer, rounds // 3)[0, 0], weights[: rounds // 3])

    live = fresh_player(learner, seed=4, replication=0, position=0)
    for asked, reward in zip(weights, history.values, strict=True):
        mine = live.ask()
        assert np.array_equal(mine, asked)
        seen = {"all": reward, "chosen": np.where(mine > 0, reward, np.nan), "total": total_reward(mine, reward)}
        live.tell(mine, seen[learner.feedback])


# What is reported -----------------------------------------------------------------------------------------------------


def test_realised_figures_are_those_of_the_rewards() -> None:
    r = _replay()
    assert r.weights.shape == (3, 1, 8, 5)
    assert r.checkpoints.tolist() == list(range(1, 9))
    by_column = r.summary().to_dict()
    assert by_column["learner"] == [*_learners(), "best constant, in hindsight"]
    for k in range(3):
        rewards = [float(w @ x) for w, x in zip(r.weights[k, 0], ETF.values, strict=True)]
        np.testing.assert_allclose(r.rewards[k, 0], rewards)
        assert by_column["mean"][k] == pytest.approx(np.mean(rewards))
        assert by_column["sd"][k] == pytest.approx(np.std(rewards))
        utility = np.mean(rewards) - RHO * np.var(rewards)
        assert by_column["utility"][k] == pytest.approx(utility)
        assert by_column["regret"][k] == pytest.approx(8 * (ETF.problem(RHO).optimum().utility - utility))
        sums = [0.0, *np.cumsum(rewards)]
        falls = [early - late for early, late in itertools.combinations(sums, 2)]
        assert by_column["max drawdown"][k] == pytest.approx(max(0.0, *falls))
        moves = [np.abs(a - b).sum() / 2 for a, b in itertools.pairwise(r.weights[k, 0])]
        assert by_column["turnover"][k] == pytest.approx(np.mean(moves), abs=1e-15)
    assert by_column["turnover"][1] == 0
    assert by_column["regret"][3] == 0


def test_the_comparator_is_the_best_of_all_constant_weights() -> None:
    history = _history(3, 30)
    problem = history.problem(2.0, max_weight=0.5)
    learner = cb.MCEmpirical(n_options=3, risk_aversion=2.0, max_weight=0.5)
    r = cb.simulate(problem, learner, 20, environment=Replay(history))
    assert isinstance(r, cb.ReplayResult)
    played = history.values[:20]  # of the rounds that were replayed only

    def utility(w: Any) -> float:
        return float((played @ w).mean() - 2.0 * (played @ w).var())

    best = r.best_constant
    assert best.certified
    assert best.weights.max() <= 0.5 + 1e-12
    steps = [w for w in itertools.product(np.linspace(0, 0.5, 26), repeat=3) if abs(sum(w) - 1) < 1e-9]
    assert len(steps) > 100
    assert best.utility >= max(utility(np.array(w)) for w in steps) - 1e-12
    assert best.utility == pytest.approx(utility(best.weights))
    assert r.at("MCEmpirical")[0] == pytest.approx(20 * (best.utility - utility_of(r.rewards[0, 0], 2.0)))


def utility_of(rewards: Any, rho: float) -> float:
    return float(np.mean(rewards) - rho * np.var(rewards))


def test_regret_at_every_round_is_to_the_best_constant_weights_of_the_whole() -> None:
    r = _replay()
    best = ETF.values @ r.best_constant.weights
    for t in range(1, 9):
        for k, name in enumerate(r.learners):
            expected = t * (utility_of(best[:t], RHO) - utility_of(r.rewards[k, 0, :t], RHO))
            assert r.at(name, t)[0] == pytest.approx(expected, abs=1e-9)
    five = r.summary(5).to_dict()
    assert five["mean"][1] == pytest.approx(ETF.values[:5].mean())
    assert five["regret"][0] == pytest.approx(r.at("MC-Empirical", 5)[0])


def test_the_problems_mean_and_covariance_play_no_part() -> None:
    other = cb.Problem(mean=np.arange(5.0), covariance=np.eye(5), risk_aversion=RHO)
    r = cb.simulate(other, _learners(), environment=Replay(ETF), workers=1)
    mine = _replay()
    assert np.array_equal(r.weights, mine.weights)
    np.testing.assert_allclose(r.regret, mine.regret)
    assert str(r.summary()) == str(mine.summary())


@pytest.mark.parametrize(("replayed", "other"), [(ETF, ETF.to_fraction()), (ETF.to_fraction(), ETF)])
def test_the_same_history_in_another_unit_is_refused(replayed: cb.data.Returns, other: cb.data.Returns) -> None:
    with pytest.raises(InvalidInput, match=rf"times the history's, which is in {replayed.unit}, so ρ would have anoth"):
        cb.simulate(other.problem(RHO), _learners(), environment=Replay(replayed))
    cb.simulate(replayed.problem(RHO), _learners(), environment=Replay(replayed), workers=1)


def test_drawdown_and_turnover_by_hand() -> None:
    assert max_drawdown(np.array([1.0, -3.0, 2.5, -1.0, 4.0])) == 3.0
    assert max_drawdown(np.array([-2.0, 1.0])) == 2.0  # the start is a peak
    assert max_drawdown(np.array([1.0, 0.0, 2.0])) == 0.0
    assert turnover(np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])) == 0.75
    assert turnover(np.array([[1.0, 0.0]])) == 0.0


# One path -------------------------------------------------------------------------------------------------------------


def test_a_history_is_replayed_once_and_whole_by_default() -> None:
    r = _replay()
    assert r.horizon == 8
    assert r.replications.tolist() == [0]
    assert r.summary().title == "Realised in 8 rounds, 2010 to 2017, one path (so no interval); percent"
    assert repr(r) == "ReplayResult(MC-Empirical, equal, random; 8 rounds, 2010 to 2017)"
    short = _replay(horizon=3)
    assert np.array_equal(short.weights, r.weights[:, :, :3])
    assert short.summary().title.startswith("Realised in 3 rounds, 2010 to 2012,")
    single = _replay(horizon=1).summary().to_dict()
    assert single["sd"] == single["turnover"] == single["max drawdown"] == [0.0] * 4
    assert single["regret"][1] == pytest.approx(28.44 - ETF.values[0].mean())  # the best fund of the year


def test_more_replications_are_other_seeds_on_the_same_path() -> None:
    history = _history(5, 200)  # the randomised learner starts by a design
    r = _replay(history, replications=3)
    assert np.ptp(r.rewards[0], axis=0).max() == 0
    assert np.ptp(r.rewards[2], axis=0).max() > 0
    assert "one path (so no interval), means over 3 seeds" in r.summary().title
    assert r.summary().to_dict()["mean"][2] == pytest.approx(r.rewards[2].mean())
    assert not any("95" in column for column in r.summary().columns)


def test_intervals_are_refused() -> None:
    r = _replay()
    for ask in (
        lambda: r.slope("equal", 1, 8),
        lambda: r.slopes(),
        lambda: r.ratio("equal", "random"),
        lambda: r.ratios(to="equal"),
    ):
        with pytest.raises(Unsupported, match="a replay is one path, so there is no confidence interval"):
            ask()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"horizon": 9}, "horizon must be at most 8, the rounds that there are, got 9"),
        ({"horizon": 0}, "horizon must be at least 1, got 0"),
        ({"checkpoints": [1, 8]}, "a Replay records every round, .*leave checkpoints out"),
        ({"replications": 0}, "replications must be at least 1"),
        ({"environment": None}, "horizon is missing: rewards of Gaussian have no end"),
        ({"environment": Replay(_history(4, 10))}, "the problem has 5 options, the history 4"),
        ({"environment": Replay(_history(5, 10))}, r"the problem's options \['SPY', .* are not the history's \['a'"),
    ],
)
def test_refusals(changes: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        _replay(**changes)


@pytest.mark.parametrize("environment", [Replay(ETF), cb.environments.Bootstrap(ETF)])
def test_a_history_belongs_to_one_problem(environment: cb.environments.Environment) -> None:
    drawn = cb.problems.full_information_lower_bound(horizon=100, n_options=5)
    with pytest.raises(InvalidInput, match="a history belongs to one problem, not to a distribution"):
        cb.simulate(drawn, cb.FixedWeights(n_options=5), 8, 1, environment=environment)


def test_the_stream_ends_with_the_history() -> None:
    sampler = Replay(ETF).sampler(ETF.problem(RHO), 0, 0)
    assert np.array_equal(np.concatenate([sampler.draw(3), sampler.draw(5)]), ETF.values)
    with pytest.raises(InvalidInput, match="the history has 8 rounds, 9 were asked for"):
        sampler.draw(1)


# Keeping and showing --------------------------------------------------------------------------------------------------


def test_save_load_merge_and_resume(tmp_path: Path) -> None:
    history = _history(5, 40)
    r = _replay(history, replications=3)
    r.save(tmp_path / "replay.npz")
    again = cb.SimulationResult.load(tmp_path / "replay.npz")
    assert isinstance(again, cb.ReplayResult)
    for name in ("regret", "weights", "rewards", "replications"):
        assert np.array_equal(getattr(again, name), getattr(r, name))
    assert str(again.summary()) == str(r.summary())
    assert again.returns.sha256 == history.sha256
    first = _replay(history, replications=2)
    continued = _replay(history, replications=3, resume=first)
    assert isinstance(continued, cb.ReplayResult)
    assert np.array_equal(continued.regret, r.regret)
    last = cb.ReplayResult(r.regret[:, 2:], r.weights[:, 2:], r.replications[2:], r.specification, r.versions)
    merged = first.merge(last)
    assert isinstance(merged, cb.ReplayResult)
    assert np.array_equal(merged.regret, r.regret)
    assert np.array_equal(r.select([2]).regret, last.regret)
    _replay(history, replications=2, journal=tmp_path / "replay.journal")
    assert np.array_equal(_replay(history, replications=3, journal=tmp_path / "replay.journal").regret, r.regret)
    other = Replay(_history(5, 40, seed=1))
    with pytest.raises(InvalidInput, match="another simulation: environment differs"):
        cb.simulate(history.problem(RHO), _learners(), environment=other, resume=first)


def test_same_numbers_on_any_number_of_workers() -> None:
    history = _history(5, 40)
    one = _replay(history, replications=4)
    assert np.array_equal(_replay(history, replications=4, workers=3).weights, one.weights)


def test_frame_and_figure() -> None:
    r = _replay()
    frame = r.to_frame()
    assert list(frame.columns) == ["learner", "replication", "round", "regret", "period", "reward"]
    assert len(frame) == 24
    assert frame["period"].tolist()[:3] == ["2010", "2011", "2012"]
    np.testing.assert_allclose(frame["reward"].to_numpy().reshape(3, 8), r.rewards[:, 0])
    ax = r.plot()
    lines = {line.get_label(): line for line in ax.get_lines()}
    np.testing.assert_allclose(lines["equal"].get_ydata(), ETF.values.mean(axis=1).cumsum())
    assert {*r.learners, "best constant weights, in hindsight"} <= set(lines)
    assert ax.get_ylabel() == "sum of realised rewards (percent)"
    assert [label.get_text() for label in ax.get_xticklabels()] == list(ETF.index)
    assert ax.get_yscale() == ax.get_xscale() == "linear"
    with pytest.raises(Unsupported, match="bounds are on regret to a known truth"):
        r.plot(bounds=True)
    from matplotlib import pyplot

    pyplot.close(ax.figure)  # type: ignore[arg-type]


def test_names_and_periods_of_users_are_drawn_letter_by_letter() -> None:
    history = cb.data.Returns([[1.0, 2.0], [2.0, 1.0], [1.5, 3.0]], options=["a", "b"], index=["$x_{$", "y", "z"])
    learners = {"cost $a_{$ b": cb.FixedWeights(n_options=2), "_hidden": cb.MCEmpirical(n_options=2, risk_aversion=RHO)}
    ax = cb.simulate(history.problem(RHO), learners, environment=Replay(history)).plot()
    ax.figure.draw_without_rendering()
    assert [text.get_text().strip() for text in ax.get_legend().get_texts()][:2] == [r"cost \$a_{\$ b", "_hidden"]
