"""Bootstrap: the history's rounds drawn again, singly or in blocks; its own mean and covariance are the truth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import covbandit as cb
from covbandit.environments import Bootstrap
from covbandit.errors import InvalidInput
from covbandit.simulation.plan import as_plan

ETF = cb.data.etf_returns()


def _history(n: int = 40, d: int = 3, seed: int = 0) -> cb.data.Returns:
    """Return a history whose first column counts the rounds, so that draws show where they come from."""
    values = np.random.default_rng(seed).standard_normal((n, d))
    values[:, 0] = np.arange(n)
    return cb.data.Returns(values, options=[f"o{k}" for k in range(d)])


@pytest.mark.parametrize("block", [None, 1, 5, 12.5])
def test_moments_are_the_historys(block: float | None) -> None:
    n = 200_000
    x = Bootstrap(ETF, block).sampler(ETF.problem(0.1), 1, 0).draw(n)
    spread = np.sqrt(ETF.covariance.diagonal())
    # Rounds of a block depend on each other: as if there were that many times fewer of them, twice over.
    effective = n / (2 * (block or 1))
    assert (np.abs(x.mean(axis=0) - ETF.mean) < 5 * spread / np.sqrt(effective)).all()
    away = np.abs(np.cov(x.T, bias=True) - ETF.covariance) / np.outer(spread, spread)
    assert away.max() < 10 / np.sqrt(effective)


@pytest.mark.parametrize("block", [None, 4.0])
def test_rounds_stay_whole_and_all_come_equally_often(block: float | None) -> None:
    history = _history()
    x = Bootstrap(history, block).sampler(history.problem(1.0), 3, 0).draw(80_000)
    rows = x[:, 0].astype(int)
    assert np.array_equal(x, history.values[rows])
    counts = np.bincount(rows, minlength=len(history))
    # A count has mean 2000, and its variance is at most twice the mean block length times that of independent draws.
    assert np.abs(counts - 2000).max() < 5 * np.sqrt(2000 * 2 * (block or 1))


@pytest.mark.parametrize("block", [2.0, 8.0, 30.0])
def test_blocks_run_on_through_the_history_and_have_the_mean_length(block: float) -> None:
    history = _history(n=1000)
    n = 100_000
    rows = Bootstrap(history, block).sampler(history.problem(1.0), 0, 0).draw(n)[:, 0].astype(int)
    follows = rows[1:] == (rows[:-1] + 1) % len(history)
    assert ((rows[:-1] == 999) & follows).any()  # the first follows the last
    chance = 1 - 1 / block + 1 / (block * len(history))  # a new block may begin there by chance
    assert follows.mean() == pytest.approx(chance, abs=5 * np.sqrt(chance * (1 - chance) / n))
    lengths = np.diff(np.flatnonzero(np.concatenate([[True], ~follows])))
    assert lengths.mean() == pytest.approx(block, rel=5 / np.sqrt(len(lengths)))
    assert lengths.std() == pytest.approx(np.sqrt(block * (block - 1)), rel=0.1)  # geometric


def test_without_blocks_rounds_are_independent() -> None:
    history = _history(n=1000)
    rows = Bootstrap(history).sampler(history.problem(1.0), 0, 0).draw(100_000)[:, 0]
    assert (np.diff(rows) == 1).mean() < 0.002
    assert abs(np.corrcoef(rows[1:], rows[:-1])[0, 1]) < 5 / np.sqrt(100_000)


@pytest.mark.parametrize("block", [None, 3.0, 100.0])
def test_draws_depend_on_the_seed_and_not_on_chunks(block: float | None) -> None:
    history, problem = _history(), _history().problem(1.0)
    environment = Bootstrap(history, block)
    whole = environment.sampler(problem, 7, 2).draw(1000)
    again = environment.sampler(problem, 7, 2)
    assert np.array_equal(np.concatenate([again.draw(k) for k in (1, 0, 7, 1, 991)]), whole)
    for seed, replication in ((7, 3), (8, 2)):
        assert not np.array_equal(environment.sampler(problem, seed, replication).draw(1000), whole)


def test_simulations_measure_regret_against_the_historys_moments() -> None:
    problem = ETF.problem(0.1)
    r = cb.simulate(problem, cb.FixedWeights(n_options=5), 50, 3, environment=Bootstrap(ETF, 2.0), workers=1)
    np.testing.assert_allclose(r.at("FixedWeights"), 50 * problem.gap(np.full(5, 0.2)))
    one, two = (
        cb.simulate(same, cb.LinearFI(n_options=5), 50, 3, workers=k, environment=Bootstrap(ETF))
        for k, same in ((1, problem), (2, cb.problems.etf()))
    )
    assert np.array_equal(one.regret, two.regret)


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (ETF.to_fraction().problem(0.1), r"option 'SPY' \(index 0\): the problem's mean is not the history's"),
        (ETF.select(["SPY", "TLT"]).problem(0.1), "the problem has 2 options, the history 5"),
        (ETF.select(["EFA", "SPY", "TLT", "VNQ", "XLE"]).problem(0.1), r"options \['EFA', 'SPY', .* not the history's"),
        (
            cb.Problem(mean=ETF.mean, covariance=ETF.covariance * 8 / 7, risk_aversion=0.1),
            r"option 'XLE' \(index 4\): the problem's covariance is not the history's.*returns.problem\(",
        ),
        (cb.problems.synthetic(), "the problem's mean is not the history's"),
    ],
)
def test_a_problem_with_other_moments_is_refused(problem: cb.Problem, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        cb.simulate(problem, cb.FixedWeights(n_options=problem.n_options), 10, 2, environment=Bootstrap(ETF))


def test_specifications_tell_histories_and_blocks_apart() -> None:
    def fingerprint(environment: Any) -> str:
        return as_plan(ETF.problem(0.1), cb.FixedWeights(n_options=5), 10, environment=environment).fingerprint()

    shuffled = cb.data.Returns(ETF.values[::-1], options=ETF.options, unit="percent")  # the same moments
    different = [Bootstrap(ETF), Bootstrap(ETF, 2), Bootstrap(ETF, 3), Bootstrap(shuffled), Bootstrap(shuffled, 2)]
    assert len({fingerprint(environment) for environment in different}) == 5
    assert fingerprint(Bootstrap(ETF, 2)) == fingerprint(Bootstrap(cb.data.etf_returns(), 2.0))
    described = Bootstrap(ETF, 2).to_dict()
    assert described["returns"]["shape"] == [8, 5]
    assert len(str(described)) < 400


def test_refusals() -> None:
    with pytest.raises(InvalidInput, match=r"block is the mean number of rounds in a block, at least 1, got 0.5"):
        Bootstrap(ETF, 0.5)
    with pytest.raises(InvalidInput, match="block must be finite, got nan"):
        Bootstrap(ETF, float("nan"))
    with pytest.raises(InvalidInput, match=r"a history must be covbandit.data.Returns, got ndarray; read one with"):
        Bootstrap(ETF.values)  # type: ignore[arg-type]
