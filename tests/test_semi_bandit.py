"""The semi-bandit learners against naive recomputation, their radii against the truth, and what must not upset them."""

from __future__ import annotations

import warnings
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from typing import Any

import numba
import numpy as np
import pytest

import covbandit as cb
import semi_bandit_reference as naive
from covbandit.errors import AssumptionWarning, InvalidInput, Unsupported
from covbandit.kernels.compilation import ready
from covbandit.learners.files import describe
from covbandit.learners.pairwise import BONUS, MEAN, PAIRS, PENALTY, READY
from covbandit.learners.state import TOLD

KINDS = (cb.MCUCB, cb.MCUCBGamma, cb.OLSUCBC, cb.PairUCB)
PAPER = KINDS[:3]
RISK_AVERSION = 0.4


def make(kind: type[cb.Learner], d: int, min_weight: float | None = 0.1, **arguments: Any) -> Any:
    if kind is not cb.OLSUCBC:
        arguments = {"risk_aversion": RISK_AVERSION, **arguments}
    return kind(n_options=d, min_weight=min_weight, **arguments)


def draw(d: int, n: int, seed: int = 0, scale: float = 0.5) -> Any:
    """Return correlated Gaussian rewards with variances below one."""
    rng = np.random.default_rng(seed)
    mixing = rng.standard_normal((d, d))
    mixing /= np.linalg.norm(mixing, axis=1, keepdims=True)
    return 0.2 * rng.standard_normal(d) + scale * rng.standard_normal((n, d)) @ mixing.T


def seen(weights: Any, reward: Any) -> Any:
    return np.where(weights > 0, reward, np.nan)


def play(learner: Any, rewards: Any) -> Any:
    """Let a learner ask and tell; return what it asked for."""
    asked = []
    for reward in rewards:
        asked.append(learner.ask())
        learner.tell(asked[-1], seen(asked[-1], reward))
    return np.array(asked).reshape(len(rewards), learner.n_options)


def past_start_up(learner: Any, seed: int = 0, more: int = 20) -> Any:
    d = learner.n_options
    rewards = iter(draw(d, d * d + 2 * d + more, seed))
    while not is_over(learner):
        play(learner, [next(rewards)])
    play(learner, [next(rewards) for _ in range(more)])
    return learner


def is_over(learner: Any) -> bool:
    """Tell whether start-up is over."""
    return bool(learner._state.v[READY, 0])


def some_weights(rng: Any, d: int, least: float | None, n: int) -> Any:
    """Return random feasible weights on random supports."""
    c = least or 0.0
    largest = d if c * d <= 1 else int((1 + 1e-12) / c)
    weights = np.zeros((n, d))
    for row in weights:
        k = rng.integers(1, largest + 1)
        row[rng.choice(d, k, replace=False)] = c + max(1 - k * c, 0.0) * rng.dirichlet(np.ones(k))
    return weights / weights.sum(axis=1, keepdims=True)


def assert_feasible(weights: Any, least: float | None) -> None:
    weights = np.atleast_2d(weights)
    assert np.isfinite(weights).all()
    assert np.abs(weights.sum(axis=1) - 1).max() <= 1e-12
    assert ((weights == 0) | (weights >= (least or 0.0) - 1e-12)).all()


def value(learner: Any, weights: Any) -> Any:
    """Return the optimistic utility that the last decision maximised."""
    s = learner._state
    square = np.einsum("...i,ij,...j", weights, s.m[BONUS], weights)
    penalty = np.einsum("...i,ij,...j", weights, s.m[PENALTY], weights)
    return weights @ s.v[learner._means] + np.sqrt(np.maximum(square, 0)) - penalty


# Algorithm 2 from the raw history -------------------------------------------------------------------------------------

MATRIX = np.array([[2.0, -0.3, 0.6, 0.1], [-0.3, 1.5, 0.2, 0.4], [0.6, 0.2, 3.0, -0.5], [0.1, 0.4, -0.5, 1.0]])
TIGHT = {"radius_scale": (0.02, 0.3), "variance_bound": 0.5, "regularization": 0.9}
NAIVE: dict[str, tuple[Any, dict[str, Any]]] = {
    "mc-ucb": (cb.MCUCB, {}),
    "mc-ucb, capped": (cb.MCUCB, {"cap_upper": True}),
    "mc-ucb, capped where the radii are small": (cb.MCUCB, {"cap_upper": True, **TIGHT}),
    "mc-ucb, other radii": (cb.MCUCB, {"variance_bound": 2.5, "radius_scale": (0.1, 2.0), "regularization": 0.2}),
    "mc-ucb, one at a time": (cb.MCUCB, {"min_weight": 0.6}),
    "mc-ucb, any weights": (cb.MCUCB, {"min_weight": None, **TIGHT}),
    "mc-ucb-gamma": (cb.MCUCBGamma, {}),
    "mc-ucb-gamma, number": (cb.MCUCBGamma, {"gamma": 5.0, "variance_bound": 2.0}),
    "mc-ucb-gamma, matrix": (cb.MCUCBGamma, {"gamma": MATRIX, **TIGHT}),
    "mc-ucb-gamma, one at a time": (cb.MCUCBGamma, {"min_weight": 0.7, "gamma": MATRIX}),
    "ols-ucb-c": (cb.OLSUCBC, {"variance_bound": 2.0}),
    "ols-ucb-c, matrix": (cb.OLSUCBC, {"gamma": MATRIX, "min_weight": 0.25, "radius_scale": (1.0, 0.2)}),
    "ols-ucb-c, one at a time": (cb.OLSUCBC, {"min_weight": 0.51}),
}


def assert_close(ours: Any, theirs: Any, what: str) -> None:
    """Compare to 1e-12 of the largest entry."""
    assert np.abs(ours - theirs).max() <= 1e-12 * max(1.0, np.abs(theirs).max()), what


@pytest.mark.parametrize("told", ["as asked", "otherwise"])
@pytest.mark.parametrize("name", list(NAIVE))
def test_equals_a_naive_recomputation(name: str, told: str) -> None:
    """400 rounds; where told otherwise, history comes before start-up and a third of the rounds plays other weights."""
    kind, arguments = NAIVE[name]
    d, rounds = 4, 400
    learner = make(kind, d, **arguments)
    c = learner.min_weight
    together = ~np.eye(d, dtype=bool) if c is None or c <= 0.5 else np.zeros((d, d), dtype=bool)
    used = together | np.eye(d, dtype=bool)
    rng = np.random.default_rng(len(name))
    other = some_weights(rng, d, min(c or 0.1, 0.3), rounds)
    history: list[tuple[Any, Any]] = []
    settings = {k: v for k, v in arguments.items() if k != "gamma"}
    if kind is not cb.MCUCB:
        settings["gamma"] = arguments.get("gamma", learner.variance_bound)
    first = None
    for k, reward in enumerate(draw(d, rounds, seed=1)):
        asked = learner.ask()
        assert_feasible(asked, c)
        over = bool(history) and naive.start_up_is_over(naive.moments(history).counts, c)
        assert is_over(learner) == over
        if over:
            first = k if first is None else first
            s = learner._state
            counts, mean, covariance = naive.moments(history)
            assert np.array_equal(s.m[PAIRS], counts)
            assert np.array_equal(learner.counts, counts.diagonal())
            assert_close(s.v[MEAN], mean, "mean")
            known = (counts > 0) & ~(np.eye(len(counts), dtype=bool) & (counts < 2))  # one observation has no variance
            if known.any():
                assert_close(learner._covariance()[known], covariance[known], "covariance")
            if kind is cb.OLSUCBC:
                assert (s.m[PENALTY] == 0).all()
            else:
                radius = learner.radius_scale[0] * learner.variance_bound * naive.covariance_radius(counts, k + 1)
                lower = np.where(used, RISK_AVERSION * (covariance - radius), 0.0)
                assert_close(s.m[PENALTY], lower, "penalty")
            # The sum over the rounds is slow to recompute: not every time.
            if k < first + 2 or k % 80 == 79:
                expected = naive.confidence_round(history, **settings)
                assert expected.t == k + 1
                assert_close(s.m[BONUS], np.where(used, expected.bonus, 0.0), "bonus")
                if kind is not cb.OLSUCBC:
                    assert_close(s.m[PENALTY], np.where(used, RISK_AVERSION * expected.lower, 0.0), "lower covariance")
                assert value(learner, asked) >= value(learner, some_weights(rng, d, c, 200)).max() - 1e-12
        played = other[k] if told == "otherwise" and (k < 5 or k % 3 == 0) else asked
        history.append((played, seen(played, reward)))
        learner.tell(*history[-1])
    assert first is not None
    assert first < 30


# Start-up -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", PAPER)
@pytest.mark.parametrize("d", [1, 2, 3, 5])
@pytest.mark.parametrize("least", [0.1, 0.5, 0.6, None])
def test_initial_pulls(kind: Any, d: int, least: float | None) -> None:
    learner = make(kind, d, least)
    schedule = naive.start_up_weights(d, least)
    assert len(schedule) == (d if least == 0.6 else d * d)
    assert np.array_equal(play(learner, draw(d, len(schedule))), schedule)
    assert is_over(learner)
    counts = learner._state.m[PAIRS]
    alone = least == 0.6
    assert (counts.diagonal() == (1 if alone else 2 * d - 1)).all()
    assert (counts[~np.eye(d, dtype=bool)] == (0 if alone else 2)).all()
    assert_feasible(learner.ask(), least)


@pytest.mark.parametrize("kind", PAPER)
def test_initial_pulls_go_on_while_rounds_are_outstanding(kind: Any) -> None:
    d = 4
    learner = make(kind, d)
    schedule = naive.start_up_weights(d, 0.1)
    for told, reward in enumerate(draw(d, d * d)):
        ahead = [learner.ask(outstanding=k) for k in range(2 * d * d)]
        assert np.array_equal(ahead[: d * d - told], schedule[told:])
        assert np.array_equal(ahead[d * d - told], schedule[told])  # all are played: what is left begins again
        learner.tell(schedule[told], seen(schedule[told], reward))
    # From now on a later round only has wider radii.
    bonus = []
    for k in range(3):
        assert_feasible(learner.ask(outstanding=k), 0.1)
        bonus.append(learner._state.m[BONUS].copy())
    factors = [naive.confidence_term(d, d * d + 1 + k, 0.5) for k in range(3)]
    if kind is not cb.MCUCB:  # whose regularisation has the radii of the round as well
        assert bonus[2] / bonus[0] == pytest.approx(np.full((d, d), factors[2] / factors[0]), rel=1e-12)
    assert (bonus[2].diagonal() > bonus[0].diagonal()).all()


@pytest.mark.parametrize("kind", PAPER)
def test_what_history_told_is_not_pulled_again(kind: Any) -> None:
    pair, third = np.array([0.7, 0.3, 0.0]), np.array([0.0, 0.0, 1.0])
    half = {(i, j): (np.eye(3)[i] + np.eye(3)[j]) / 2 for i in range(3) for j in range(3)}
    once = make(kind, 3)
    once.tell(pair, [0.1, 0.2, np.nan])
    left = [third, half[0, 2], half[1, 0], half[1, 2], half[2, 0], half[2, 1]]
    assert np.array_equal(play(once, draw(3, 6)), left)
    assert is_over(once)
    twice = make(kind, 3)
    twice.tell_many([pair, pair], [[0.1, 0.2, None], [0.3, 0.1, None]])
    left = [third, half[0, 2], half[1, 2], half[2, 0], half[2, 1]]
    assert np.array_equal(play(twice, draw(3, 5)), left)
    assert is_over(twice)
    everything = make(kind, 3)
    everything.tell_many(np.full((2, 3), 1 / 3), draw(3, 2))
    assert is_over(everything)
    assert_feasible(everything.ask(), 0.1)
    alone = make(kind, 3, 0.6)
    alone.tell(pair, [0.1, 0.2, np.nan])
    assert np.array_equal(play(alone, draw(3, 1)), [third])
    assert is_over(alone)


def sets_needed(d: int, m: int) -> int:
    """Return Schönheim's bound: no fewer sets of m options show every pair."""
    return d * 2 if m == 1 else max(2, -(-d * -(-(d - 1) // (m - 1)) // m))


@pytest.mark.parametrize(
    ("d", "least", "m"),
    [
        (1, 0.1, 1),
        (2, 0.1, 2),
        (2, 0.6, 1),
        (5, 0.1, 5),
        (5, None, 5),
        (5, 0.2, 5),
        (3, 1 / 3, 3),
        (6, 0.2, 5),
        (5, 0.5, 2),
        (6, 0.3, 3),
        (4, 1.0, 1),
        (12, 0.2, 5),
        (20, 0.1, 10),
        (25, 0.25, 4),
    ],
)
def test_pair_ucb_shows_every_pair_in_few_rounds(d: int, least: float | None, m: int) -> None:
    learner = cb.PairUCB(n_options=d, risk_aversion=RISK_AVERSION, min_weight=least)
    ahead = [learner.ask(outstanding=k) for k in range(6)]
    rewards = draw(d, 1000)
    asked = []
    while not is_over(learner):
        asked.append(learner.ask())
        learner.tell(asked[-1], seen(asked[-1], rewards[len(asked)]))
    design = np.array(asked)
    assert_feasible(design, least)
    assert ((design > 0).sum(axis=1) == m).all()
    assert design.max() == pytest.approx(1 / m)
    n = min(len(ahead), len(design))
    assert np.array_equal(ahead[:n], design[:n])
    counts = (design > 0).T.astype(int) @ (design > 0)
    assert counts.diagonal().min() >= 2
    assert m == 1 or counts.min() >= 1
    if m == d:
        assert len(design) == 2
    assert sets_needed(d, m) <= len(design) <= 1.7 * sets_needed(d, m) + 1
    assert_feasible(learner.ask(), least)


def test_pair_ucb_counts_history() -> None:
    learner = cb.PairUCB(n_options=4, risk_aversion=1.0, min_weight=0.5)
    halves = [np.where(np.isin(range(4), pair), 0.5, 0.0) for pair in ((0, 1), (2, 3), (0, 2), (1, 3))]
    learner.tell_many(halves, [seen(w, r) for w, r in zip(halves, draw(4, 4), strict=True)])
    rest = play(learner, draw(4, 2, seed=1))
    assert {tuple(np.flatnonzero(w)) for w in rest} == {(0, 3), (1, 2)}
    assert is_over(learner)
    # Options that were seen together in many rounds at other weights are not shown again either.
    learner = cb.PairUCB(n_options=3, risk_aversion=1.0, min_weight=0.1)
    learner.tell_many(np.tile([0.8, 0.1, 0.1], (2, 1)), draw(3, 2))
    assert is_over(learner)


# Radii cover the truth ------------------------------------------------------------------------------------------------


def misses(learner: Any, problem: cb.Problem, seed: int, rounds: int) -> tuple[int, int, int]:
    """Return how often g and E missed the truth after start-up, and in how many comparisons."""
    rng = np.random.default_rng(seed)
    rewards = cb.environments.Gaussian().sampler(problem, seed, 0).draw(rounds)
    of_g = of_e = compared = 0
    for reward in rewards:
        w = learner.ask()
        if is_over(learner):
            s = learner._state
            some = np.vstack([w, some_weights(rng, learner.n_options, learner.min_weight, 3)])
            off = np.abs(some @ (s.v[MEAN] - problem.mean))
            of_e += int((off > np.sqrt(np.maximum(np.einsum("ki,ij,kj->k", some, s.m[BONUS], some), 0))).sum())
            if learner.risk_aversion is not None:
                lower = s.m[PENALTY] / learner.risk_aversion
                radius = learner._covariance() - lower
                of_g += int((np.abs(learner._covariance() - problem.covariance) > radius).sum())
            compared += 1
        learner.tell(w, seen(w, reward))
    return of_g, of_e, compared


def bounded_problem(d: int, correlation: Any, seed: int, variance: float = 1.0) -> cb.Problem:
    """Return a random problem whose largest variance is the bound."""
    p = cb.problems.random(d, correlation, seed, risk_aversion=RISK_AVERSION, min_weight=0.1)
    shrink = variance / p.covariance.diagonal().max()
    return cb.Problem(mean=p.mean, covariance=p.covariance * shrink, risk_aversion=RISK_AVERSION, min_weight=0.1)


@pytest.mark.parametrize("kind", PAPER)
def test_radii_with_the_constants_of_the_paper_never_miss(kind: Any) -> None:
    for seed, correlation in enumerate(("negative", "zero", "positive", "factor") * 2):
        bound = (1.0, 9.0)[seed % 2]
        problem = bounded_problem(4, correlation, seed, bound)
        of_g, of_e, compared = misses(make(kind, 4, variance_bound=bound), problem, seed, 400)
        assert (of_g, of_e) == (0, 0)
        assert compared == 400 - 16


def test_much_smaller_radii_miss() -> None:
    """The comparison above can fail."""
    learner = make(cb.MCUCB, 4, radius_scale=(0.02, 0.02))
    of_g, of_e, _ = misses(learner, bounded_problem(4, "factor", 1), 1, 400)
    assert of_g > 0
    assert of_e > 0


# Digits ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [cb.MCUCB, cb.MCUCBGamma, cb.PairUCB])
def test_no_cancellation_far_from_zero(kind: Any) -> None:
    """A million rounds with means a million times the standard deviation."""
    absorb = ready(kind._absorb_kernel)

    @numba.njit
    def feed(state: Any, weights: Any, rewards: Any) -> None:
        for k in range(len(weights)):
            absorb(state, weights[k], rewards[k])
            state.i[TOLD] += 1

    d, n, level = 3, 1_000_000, 1e6
    rng = np.random.default_rng(5)
    supports = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [1, 0, 1], [0, 1, 1], [1, 1, 1]]) * 1.0
    weights = supports[rng.integers(0, 7, n)]
    rewards = level + draw(d, n, seed=5, scale=1.0)
    learner = make(kind, d)
    feed(learner._state, weights / weights.sum(axis=1, keepdims=True), rewards)
    near = rewards - level  # without rounding
    mean = (weights * near).sum(axis=0) / weights.sum(axis=0)
    centred = weights * (near - mean)
    covariance = centred.T @ centred / (weights.T @ weights)
    assert np.array_equal(learner.counts, weights.sum(axis=0))
    assert np.abs(learner._state.v[MEAN] - level - mean).max() < 1e-7
    assert np.abs(learner._covariance() - covariance).max() < 1e-8
    assert_feasible(learner.ask(), 0.1)
    # Sums of products would have lost what matters.
    products = (weights * rewards).T @ (weights * rewards) / (weights.T @ weights)
    assert np.abs(products - np.outer(mean + level, mean + level) - covariance).max() > 1e-6


@pytest.mark.parametrize("least", [0.1, 0.25, 0.6, None])
@pytest.mark.parametrize("kind", KINDS)
def test_a_constant_added_to_all_rewards_does_not_change_the_weights(kind: Any, least: float | None) -> None:
    near, far = make(kind, 4, least), make(kind, 4, least)
    for reward in draw(4, 150, seed=2):
        weights = near.ask()
        assert np.abs(weights - far.ask()).max() < 1e-6
        near.tell(weights, seen(weights, reward))
        far.tell(weights, seen(weights, reward + 1e6))


# Degenerate inputs ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("d", "least"),
    [(1, 0.1), (1, 1.0), (1, None), (2, 0.5), (2, 0.1), (2, 0.7), (4, 0.25), (4, 0.5), (4, 0.51), (3, 1 / 3)],
)
@pytest.mark.parametrize("rewards", ["constant", "equal", "zero", "two values"])
def test_degenerate_inputs(kind: Any, d: int, least: float | None, rewards: str) -> None:
    learner = make(kind, d, least)
    rng = np.random.default_rng(0)
    drawn = {
        "constant": np.tile(0.1 * np.arange(d), (60, 1)),
        "equal": np.tile(0.3 * rng.standard_normal((60, 1)), (1, d)),
        "zero": np.zeros((60, d)),
        "two values": rng.integers(0, 2, (60, d)) * 1.0,
    }[rewards]
    asked = play(learner, drawn)
    assert_feasible(asked, least)
    assert is_over(learner)
    for array in learner._snapshot()[1].values():
        assert np.isfinite(array).all()
    if d == 1:
        assert (asked == 1).all()
    if rewards in ("constant", "zero"):
        covariance = learner._covariance()
        assert np.abs(covariance[learner._state.m[PAIRS] > 0]).max() <= 1e-30
    assert learner.certify().certified
    assert learner.explain().to_dict()["rounds"] == 60


@pytest.mark.parametrize("kind", KINDS)
def test_ties_go_to_the_lowest_index(kind: Any) -> None:
    """Where only one option fits and all look the same, the first one is chosen."""
    learner = make(kind, 3, 0.6)
    learner.tell_many(np.full((4, 3), 1 / 3), np.tile([[0.5], [-0.5], [0.25], [-0.25]], (1, 3)))  # no rounding
    assert learner.ask().tolist() == [1, 0, 0]


@pytest.mark.parametrize("least", [0.1, 0.3, 0.6, None])
@pytest.mark.parametrize("kind", KINDS)
def test_an_option_never_seen_again(kind: Any, least: float | None) -> None:
    learner = past_start_up(make(kind, 4, least), more=0)
    before = learner.counts
    rng = np.random.default_rng(3)
    weights = np.zeros((3000, 4))
    weights[:, :3] = some_weights(rng, 3, least, 3000)
    rewards = draw(4, 3000, seed=4)
    for chunk, part in pairwise(range(0, 3001, 300)):
        learner.tell_many(
            weights[chunk:part], [seen(w, r) for w, r in zip(weights[chunk:part], rewards[chunk:part], strict=True)]
        )
        assert_feasible(learner.ask(), least)
        for k in (BONUS, PENALTY):
            assert np.isfinite(learner._state.m[k]).all()
        explanation = learner.explain()
        assert None not in explanation.mean_contributions
    assert learner.counts[3] == before[3]
    assert learner.counts[:3].min() > before[:3].max()
    if kind in PAPER:
        assert learner.ask()[3] > 0  # all that is not known speaks for it
        assert np.argmax(explanation.widths) == 3
    assert learner.certify().certified


@pytest.mark.parametrize("kind", KINDS)
def test_very_large_and_very_small_rewards(kind: Any) -> None:
    for size in (1e-40, 1e40, 1e90):
        bound = {} if kind is cb.PairUCB else {"variance_bound": size**2}
        learner = make(kind, 3, **bound)
        assert_feasible(play(learner, size * draw(3, 60)), 0.1)


# What is refused ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_observations_must_be_of_the_chosen_options(kind: Any) -> None:
    learner = make(kind, 3, options=["search", "social", "tv"])
    play(learner, draw(3, 12))
    before = describe(learner)
    w = [0.5, 0.5, 0.0]
    missing = r"option 'social' \(index 1\): reward is missing although its weight is 0\.5"
    unasked = r"option 'tv' \(index 2\): reward 3\.0 given although its weight is 0; use NaN"
    good = [1.0, 2.0, None]
    for bad, message in (([1.0, None, None], missing), ([1.0, np.nan, np.nan], missing), ([1.0, 2.0, 3.0], unasked)):
        with pytest.raises(InvalidInput, match=message):
            learner.tell(w, bad)
        with pytest.raises(InvalidInput, match=f"row 1: {message}.*nothing was told"):
            learner.tell_many([w, w], [good, bad])
        assert describe(learner) == before
    with pytest.raises(InvalidInput, match="option 1: reward is missing"):
        make(kind, 2).tell([0.5, 0.5], [0.1, np.nan])
    learner.tell(w, good)
    assert learner.rounds_told == 13


BAD: list[tuple[dict[str, Any], str]] = [
    ({"regularization": 0}, r"regularization must be positive, got 0\.0"),
    ({"regularization": -0.5}, r"regularization must be positive, got -0\.5"),
    ({"regularization": np.nan}, "regularization must be finite, got nan"),
    ({"regularization": "weak"}, "regularization must be a number, got 'weak'"),
    ({"variance_bound": -1}, r"variance_bound must be positive, got -1\.0"),
    ({"variance_bound": 0}, r"variance_bound must be positive, got 0\.0"),
    ({"variance_bound": np.inf}, "variance_bound must be finite, got inf"),
    ({"radius_scale": 0.5}, r"radius_scale must be a pair \(on g, on E\), got 0\.5"),
    ({"radius_scale": (1, 1, 1)}, r"radius_scale must be a pair \(on g, on E\), got \(1, 1, 1\)"),
    ({"radius_scale": (-0.1, 1)}, r"radius_scale of g must not be negative, got -0\.1"),
    ({"radius_scale": (1, np.nan)}, "radius_scale of E must be finite, got nan"),
    ({"min_weight": 0}, r"min_weight must be above 0 and at most 1, got 0\.0"),
    ({"min_weight": 1.5}, r"min_weight must be above 0 and at most 1, got 1\.5"),
    ({"min_weight": "some"}, "min_weight must be a number, got 'some'"),
]
BAD_GAMMA: list[tuple[Any, str]] = [
    (-1.0, r"gamma must be positive, got -1\.0"),
    ("wide", "gamma must be a number, got 'wide'"),
    (np.ones((2, 2)), r"gamma must be 3 × 3, one row per option, got \(2, 2\)"),
    (np.ones((3, 2)), r"gamma must be square, got shape \(3, 2\)"),
    (np.ones(3), r"gamma must have 2 dimension\(s\), got an array of shape \(3,\)"),
    ([[1, 0.5, 0], [0.4, 1, 0], [0, 0, 1]], r"gamma is not symmetric: entry \(0, 1\) is 0\.5 but \(1, 0\) is 0\.4"),
    ([[1, 0, 0], [0, 1, np.nan], [0, np.nan, 1]], "gamma of option 1 and option 2 is nan, which is not finite"),
    (np.diag([1.0, -2.0, 1.0]), r"option 1: variance -2\.0 is negative"),
]


@pytest.mark.parametrize("kind", PAPER)
@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_constructors_refuse(kind: Any, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        make(kind, 3, **arguments)


@pytest.mark.parametrize("kind", [cb.MCUCBGamma, cb.OLSUCBC])
@pytest.mark.parametrize(("gamma", "message"), BAD_GAMMA)
def test_gamma_is_refused(kind: Any, gamma: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        make(kind, 3, gamma=gamma)


def test_other_refusals() -> None:
    with pytest.raises(InvalidInput, match="cap_upper must be True or False, got 1"):
        make(cb.MCUCB, 3, cap_upper=1)
    with pytest.raises(InvalidInput, match=r"risk_aversion must not be negative, got -1\.0"):
        make(cb.MCUCB, 3, risk_aversion=-1)
    with pytest.raises(InvalidInput, match=r"bonus must not be negative, got -0\.5"):
        make(cb.PairUCB, 3, bonus=-0.5)
    with pytest.raises(InvalidInput, match=r"min_weight must be above 0 and at most 1, got -0\.1"):
        make(cb.PairUCB, 3, -0.1)
    named = [[1, 0], [0, np.inf]]
    with pytest.raises(InvalidInput, match=r"gamma of option 'b' \(index 1\) and option 'b' \(index 1\) is inf"):
        make(cb.OLSUCBC, 2, gamma=named, options=["a", "b"])
    for kind in KINDS:
        with pytest.raises(Unsupported, match=f"{kind.__name__} cannot be merged"):
            make(kind, 2).merge(make(kind, 2))
        problem = cb.problems.synthetic(RISK_AVERSION, min_weight=0.1)
        with pytest.raises(InvalidInput, match=r"its min_weight is 0\.2, the problem's 0\.1"):
            cb.simulate(problem, make(kind, 5, 0.2), 10, 1)


def test_gamma_is_kept_apart_from_the_callers_array() -> None:
    gamma = np.eye(2) + 1.0
    learner = make(cb.MCUCBGamma, 2, gamma=gamma)
    gamma[:] = -5.0
    assert learner.gamma.tolist() == [[2, 1], [1, 2]]
    assert learner.clone().gamma.tolist() == [[2, 1], [1, 2]]


# Doubts ---------------------------------------------------------------------------------------------------------------

DOUBT = r"option 'b' \(index 1\): observed variance [\d.]+ after \d+ observations exceeds variance_bound=1, .*{}.*raise"


def doubted(action: Any) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        action()
    return list(caught)


def wide(n: int, seed: int = 0) -> Any:
    """Return rewards of which those of the second option have a variance of nine."""
    return np.random.default_rng(seed).standard_normal((n, 3)) * [0.5, 3.0, 0.5]


@pytest.mark.parametrize("kind", PAPER)
def test_a_variance_above_its_bound_is_doubted_once(kind: Any) -> None:
    learner = make(kind, 3, options=["a", "b", "c"])
    live = doubted(lambda: play(learner, wide(200)))
    assert [w.category for w in live] == [AssumptionWarning]
    assert live[0].filename == __file__
    with pytest.warns(AssumptionWarning, match=DOUBT.format(kind.__name__)):
        warnings.warn(live[0].message, stacklevel=1)
    weights = np.full((200, 3), 1 / 3)
    learner = make(kind, 3, options=["a", "b", "c"])
    at_once = doubted(lambda: [learner.tell_many(weights, wide(200)) for _ in range(3)])
    assert [w.category for w in at_once] == [AssumptionWarning]
    assert at_once[0].filename == __file__
    with pytest.warns(AssumptionWarning, match=DOUBT.format(kind.__name__)):
        warnings.warn(at_once[0].message, stacklevel=1)
    # A bound that holds, or units in which it does, leave no doubt.
    fits = make(kind, 3, variance_bound=12.0)
    fits.tell_many(weights, wide(200))
    make(kind, 3).tell_many(weights, wide(200) / 4)


@pytest.mark.parametrize("kind", KINDS)
def test_no_doubt_where_there_is_no_reason(kind: Any) -> None:
    """Neither of few observations nor of variances equal to their bound; warnings are errors here."""
    for seed in range(10):
        play(make(kind, 3), np.random.default_rng(seed).standard_normal((150, 3)))
    few = make(kind, 3)
    few.tell_many(np.full((9, 3), 1 / 3), wide(9))
    if kind is cb.PairUCB:  # which assumes no bound
        few.tell_many(np.full((200, 3), 1 / 3), wide(200))


@pytest.mark.parametrize("workers", ["threads", "processes"])
def test_a_simulation_doubts_once_per_learner(workers: str) -> None:
    truth = {"mean": [0.1, 0.2, 0.0], "risk_aversion": RISK_AVERSION, "min_weight": 0.1, "options": ["a", "b", "c"]}
    wild = cb.Problem(covariance=np.diag([0.3, 9.0, 0.3]), **truth)
    tame = cb.Problem(covariance=np.diag([0.3, 1.0, 0.3]), **truth)
    players = {kind.__name__: make(kind, 3, options=["a", "b", "c"]) for kind in KINDS}
    players["fits"] = make(cb.MCUCB, 3, variance_bound=9.0)

    def run(problem: cb.Problem) -> list[warnings.WarningMessage]:
        if workers == "threads":
            return doubted(lambda: cb.simulate(problem, players, 300, 6, seed=1, workers=2))
        with ProcessPoolExecutor(2) as pool:
            return doubted(lambda: cb.simulate(problem, players, 300, 6, seed=1, workers=pool))

    caught = run(wild)
    assert [w.category for w in caught] == [AssumptionWarning] * 3
    assert {w.filename for w in caught} == {__file__}
    for warning, kind in zip(caught, PAPER, strict=True):
        start = (
            f"learner '{kind.__name__}', in 6 of 6 replications, first in 0: option 'b' (index 1): observed variance"
        )
        assert str(warning.message).startswith(start)
    assert run(tame) == []


# Certified decisions --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("least", [0.1, 0.3, 0.6, None])
@pytest.mark.parametrize("kind", KINDS)
def test_certified_decisions(kind: Any, least: float | None) -> None:
    for seed in range(3):
        learner = past_start_up(make(kind, 5, least), seed, more=40 * seed)
        before = describe(learner)
        asked = learner.ask()
        best = learner.certify()
        assert describe(learner) == before
        assert best.certified
        assert best.method == "branch and bound"
        assert_feasible(best.weights, least)
        found, proven = value(learner, asked), value(learner, best.weights)
        assert proven == pytest.approx(best.utility, abs=1e-12)
        assert found - 1e-12 <= proven <= best.upper_bound
        rivals = some_weights(np.random.default_rng(seed), 5, least, 2000)
        assert value(learner, rivals).max() <= best.upper_bound + 1e-12
        learner.tell(best.weights, seen(best.weights, draw(5, 1)[0]))


@pytest.mark.parametrize("kind", KINDS)
def test_there_is_nothing_to_certify_before_start_up_is_over(kind: Any) -> None:
    learner = make(kind, 3)
    with pytest.raises(Unsupported, match="round 1 follows a schedule"):
        learner.certify()
    with pytest.raises(Unsupported, match="round 6 follows a schedule"):
        learner.certify(outstanding=5)
    held = make(kind, 3, hold=([1 / 3] * 3, 30))
    held.tell_many(np.full((29, 3), 1 / 3), draw(3, 29))
    with pytest.raises(Unsupported, match="round 30 follows a schedule"):
        held.certify()
    assert held.certify(outstanding=1).certified
    with pytest.raises(InvalidInput, match="tolerance must be positive"):
        past_start_up(make(kind, 3)).certify(tolerance=0.0)


def test_a_certified_decision_of_a_later_round_has_wider_radii() -> None:
    learner = past_start_up(make(cb.MCUCB, 4))
    assert learner.certify(outstanding=50).utility > learner.certify().utility


def test_a_node_limit_ends_with_an_honest_bound() -> None:
    learner = past_start_up(make(cb.MCUCB, 8), more=100)
    best = learner.certify()
    limited = learner.certify(node_limit=1)
    assert limited.utility <= best.upper_bound
    assert best.utility <= limited.upper_bound


# Units ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_units_do_not_matter_if_the_bound_has_them_too(kind: Any) -> None:
    """A whole run: rewards times s, ρ by s and the bound times s² give the same weights."""
    rewards = draw(4, 150, seed=6)
    plain = play(make(kind, 4), rewards)
    for s in (1e-3, 64.0):
        changes: dict[str, Any] = {} if kind is cb.PairUCB else {"variance_bound": s * s}
        if kind is not cb.OLSUCBC:
            changes["risk_aversion"] = RISK_AVERSION / s
        assert np.abs(play(make(kind, 4, **changes), s * rewards) - plain).max() < 1e-6
    if kind in PAPER:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AssumptionWarning)
            without = (
                play(make(kind, 4, risk_aversion=RISK_AVERSION / 8), 8 * rewards)
                if kind is not cb.OLSUCBC
                else play(make(kind, 4), 8 * rewards)
            )
        assert np.abs(without - plain).max() > 0.1
