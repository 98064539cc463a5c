"""Rounds in which not every option has a reward: new options have no past, retired ones no present."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import covbandit as cb
from covbandit.errors import InvalidInput, Unsupported
from covbandit.learners.full_information import missing_rewards
from covbandit.learners.protocol.serialization import describe
from example_learners import FollowTheLeader

NAMES = ["a", "b", "c", "d", "e"]
MAKERS: dict[str, Any] = {
    "mc-empirical": lambda: cb.MCEmpirical(n_options=5, risk_aversion=0.5, options=NAMES),
    "mc-empirical, capped": lambda: cb.MCEmpirical(n_options=5, risk_aversion=0.5, max_weight=0.4),
    "mc-empirical, least": lambda: cb.MCEmpirical(n_options=5, risk_aversion=2.0, min_weight=0.3),
    "mc-empirical, forgetting": lambda: cb.MCEmpirical(n_options=5, risk_aversion=0.5, half_life=30),
    "mc-empirical, linear": lambda: cb.MCEmpirical(n_options=5, risk_aversion=0.0),
    "shrunk-empirical": lambda: cb.ShrunkEmpirical(n_options=5, risk_aversion=0.5),
    "shrunk-empirical, least": lambda: cb.ShrunkEmpirical(n_options=5, risk_aversion=0.5, min_weight=0.25),
    "ogd": lambda: cb.OGD(n_options=5, risk_aversion=0.5),
    "ogd, strong": lambda: cb.OGD(n_options=5, risk_aversion=0.5, step="strong", curvature=0.1),
    "ogd, plug-in": lambda: cb.OGD(n_options=5, risk_aversion=0.5, gradient="plugin"),
    "linear-fi": lambda: cb.LinearFI(n_options=5, options=NAMES),
    "fixed": lambda: cb.FixedWeights(weights=[0.5, 0.1, 0.2, 0.1, 0.1]),
}
MEAN = np.array([0.3, 0.2, 0.4, 0.1, 1.0])  # the fifth option, which is new, is best
LEARNING = [name for name in MAKERS if name != "fixed"]


def rewards(n: int, seed: int = 0, mean: Any = MEAN) -> Any:
    rng = np.random.default_rng(seed)
    return mean + 0.3 * rng.standard_normal((n, 5)) + 0.2 * rng.standard_normal((n, 1))


def with_gaps(n: int, seed: int = 0, share: float = 0.3) -> Any:
    """Return rewards of which the first option's are complete, and some of the others' are missing."""
    rows = rewards(n, seed)
    gaps = np.random.default_rng(seed + 100).random(rows.shape) < share
    gaps[:, 0] = False
    return np.where(gaps, np.nan, rows)


def tell_all(learner: cb.Learner, rows: Any) -> None:
    for row in rows:
        known = ~np.isnan(row)
        learner.tell_partly(known / known.sum(), row)


def pairwise(rows: Any) -> tuple[Any, Any]:
    """Return means and covariances straight from the history, pair by pair."""
    mean = np.nanmean(rows, axis=0)
    d = rows.shape[1]
    sigma = np.empty((d, d))
    for i in range(d):
        for j in range(d):
            both = ~np.isnan(rows[:, i]) & ~np.isnan(rows[:, j])
            x, y = rows[both, i], rows[both, j]
            scatter = ((x - x.mean()) * (y - y.mean())).sum()
            sigma[i, j] = scatter / both.sum() + (x.mean() - mean[i]) * (y.mean() - mean[j])
    return mean, sigma


def nearest_semidefinite(sigma: Any) -> Any:
    values, vectors = np.linalg.eigh(sigma)
    return (vectors * np.maximum(values, 0)) @ vectors.T


# Complete histories ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(MAKERS))
def test_without_gaps_it_is_tell_to_the_last_bit(name: str) -> None:
    one, other = MAKERS[name](), MAKERS[name]()
    for row in rewards(120):
        weights = one.ask()
        assert np.array_equal(weights, other.ask())
        one.tell(weights, row)
        other.tell_partly(weights, row)
    assert describe(one) == describe(other)
    assert not other.statistics


@pytest.mark.parametrize("name", list(MAKERS))
def test_going_over_to_pairs_loses_nothing(name: str) -> None:
    """After a gap in an option that is retired, the others are decided as if it had never been there."""
    whole, small = MAKERS[name](), MAKERS[name]()
    rows = rewards(80)
    for row in rows:
        weights = whole.ask()
        whole.tell(weights, row)
        small.tell(weights, row)
    mean, sigma = whole._estimates().mean, whole._estimates().covariance
    small._switch_to_pairwise()
    small._recompute()
    assert np.allclose(small._estimates().mean, mean, rtol=1e-13)
    assert np.allclose(small._estimates().covariance, sigma, rtol=1e-12)
    assert np.allclose(small._estimates().width, whole._estimates().width, rtol=1e-12)
    assert np.allclose(small.counts, whole.counts, rtol=1e-15)
    assert np.allclose(small.ask(), whole.ask(), atol=1e-9)
    for row in rewards(50, seed=1):  # and so it goes on
        weights = whole.ask()
        whole.tell(weights, row)
        small.tell(weights, row)
        assert np.allclose(small.ask(), whole.ask(), atol=1e-8)
    assert small.statistics


# Moments --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("complete", [0, 1, 2, 50])
@pytest.mark.parametrize("name", ["mc-empirical", "linear-fi", "fixed", "ogd", "ogd, plug-in"])
def test_moments_are_those_of_the_pairs(name: str, complete: int) -> None:
    rows = np.concatenate([rewards(complete, seed=3), with_gaps(200, seed=4)])
    learner = MAKERS[name]()
    tell_all(learner, rows)
    mean, sigma = pairwise(rows)
    assert np.linalg.eigvalsh(sigma)[0] > 0
    known = learner._estimates()
    assert np.abs(np.asarray(known.mean) - mean).max() <= 1e-12
    assert np.abs(np.asarray(known.covariance) - sigma).max() <= 1e-12
    n = (~np.isnan(rows)).sum(axis=0)
    assert learner.counts.tolist() == n.tolist()
    assert np.allclose(known.width, np.nanstd(rows, axis=0, ddof=1) / np.sqrt(n), rtol=1e-12)
    explanation = learner.explain()
    assert explanation.counts == tuple(n.tolist())
    assert np.allclose(explanation.widths, known.width)


def test_plug_in_gradient_with_gaps_by_hand() -> None:
    """Steps along θ̂ - 2ρΣ̂x of the options that take part, projected; none of them ends at a corner."""
    rho, rows = 1.5, with_gaps(120, seed=8)
    rows[:, 4] -= 0.7  # no option is far better than the others
    learner = cb.OGD(n_options=5, risk_aversion=rho, gradient="plugin")
    rows[:2] = rewards(2, seed=9)  # two complete rounds, after which all options take part
    x = np.full(5, 0.2)
    inside = 0
    for t, row in enumerate(rows, 1):
        known = ~np.isnan(row)
        learner.tell_partly(known / known.sum(), row)
        past = rows[:t]
        mean, sigma = pairwise(past) if t > 1 else (row, np.zeros((5, 5)))
        slope = mean - 2 * rho * nearest_semidefinite(sigma) @ x
        x = projected(x + slope / np.sqrt(t))
        inside += bool(((x > 0) & (x < 1)).sum() >= 3)
        assert np.abs(learner.ask() - x).max() < 1e-9, t
    assert learner.statistics
    assert inside > 60


def projected(x: Any) -> Any:
    """Return the nearest weights, by bisection."""
    low, high = x.min() - 1, x.max()
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(x - middle, 0).sum() > 1 else (low, middle)
    return np.maximum(x - high, 0)


def test_large_means_lose_no_digits() -> None:
    rows = with_gaps(300, seed=5)
    learner = MAKERS["mc-empirical"]()
    tell_all(learner, rows + 2.0**27)
    assert np.abs(np.asarray(learner._estimates().covariance) - pairwise(rows + 2.0**27)[1]).max() <= 1e-7
    plain = MAKERS["mc-empirical"]()
    tell_all(plain, rows)
    assert np.allclose(learner.ask(), plain.ask(), atol=1e-6)


def test_forgetting_counts_rounds_not_observations() -> None:
    rows = np.concatenate([rewards(20, seed=3), with_gaps(60, seed=4)])
    learner = MAKERS["mc-empirical, forgetting"]()
    tell_all(learner, rows)
    ages = np.arange(len(rows))[::-1]
    weight = 0.5 ** (ages / 30)
    seen = ~np.isnan(rows)
    filled = np.where(seen, rows, 0.0)
    n = (weight[:, None] * seen).sum(axis=0)
    mean = (weight[:, None] * filled).sum(axis=0) / n
    assert np.allclose(learner.counts, n, rtol=1e-12)
    known = learner._estimates()
    assert np.abs(np.asarray(known.mean) - mean).max() <= 1e-12
    both = seen[:, 1] & seen[:, 2]
    u = weight[both]
    expected = (u * (rows[both, 1] - mean[1]) * (rows[both, 2] - mean[2])).sum() / u.sum()
    assert abs(np.asarray(known.covariance)[1, 2] - expected) <= 1e-12
    squares = (weight[:, None] ** 2 * seen).sum(axis=0)
    variance = (weight[:, None] * seen * (filled - mean) ** 2).sum(axis=0) / (n - squares / n)
    assert np.allclose(known.width, np.sqrt(variance * squares / n**2), rtol=1e-10)


def test_an_indefinite_patchwork_is_replaced_by_the_nearest_semidefinite_matrix() -> None:
    for seed in range(200):
        rows = with_gaps(9, seed=seed, share=0.5)
        learner = MAKERS["mc-empirical"]()
        tell_all(learner, rows)
        if len(learner._members()) < 5:
            continue
        mean, sigma = pairwise(rows)
        if np.linalg.eigvalsh(sigma)[0] < -1e-3:
            used = np.asarray(learner._estimates().covariance)
            assert np.abs(used - nearest_semidefinite(sigma)).max() <= 1e-12
            best = cb.maximize_utility(mean, used + 1e-15 * np.eye(5), 0.5)
            assert best.utility <= mean @ learner.ask() - 0.5 * learner.ask() @ used @ learner.ask() + 1e-10
            return
    raise AssertionError("no indefinite example was met")


def test_the_rule_decides_by_these_moments() -> None:
    rows = np.concatenate([rewards(30, seed=3), with_gaps(100, seed=4)])
    mean, sigma = pairwise(rows)
    for name, problem in {
        "mc-empirical": {},
        "mc-empirical, capped": {"max_weight": 0.4},
        "mc-empirical, least": {"min_weight": 0.3},
    }.items():
        learner = MAKERS[name]()
        tell_all(learner, rows)
        best = cb.maximize_utility(mean, sigma, learner.risk_aversion, **problem)
        assert np.allclose(learner.ask(), best.weights, atol=1e-8)
    leader = MAKERS["linear-fi"]()
    tell_all(leader, rows)
    assert leader.ask().argmax() == mean.argmax()


def test_shrinkage_goes_by_the_shortest_common_history() -> None:
    """With one option seen in the last rounds only, as with a learner told moments of so many rounds."""
    rows = rewards(60)
    rows[:48, 4] = np.nan
    learner = cb.ShrunkEmpirical(n_options=5, risk_aversion=0.5)
    tell_all(learner, rows)
    mean, sigma = pairwise(rows)
    n = 12.0
    direct = cb.ShrunkEmpirical(n_options=5, risk_aversion=0.5)
    direct.statistics = missing_rewards.from_moments(mean, n * nearest_semidefinite(sigma), n, 12, n)
    direct._recompute()
    assert np.allclose(learner.ask(), direct.ask(), atol=1e-9)


# Options that come and go ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("old", [1, 2, 40])
@pytest.mark.parametrize("name", LEARNING)
def test_a_new_option_waits_until_it_was_seen_and_then_is_found(name: str, old: int) -> None:
    learner = MAKERS[name]()
    rows = rewards(old + 200)
    for t, row in enumerate(rows):
        weights = learner.ask()
        if 0 < t < old + 2:
            assert weights[4] == 0.0  # never seen, or once; before the first round nothing is known of any option
        if t < old:
            row[4] = np.nan
            weights = np.append(weights[:4] / weights[:4].sum(), 0.0)
        learner.tell_partly(weights, row)
    assert learner.counts[4] == pytest.approx(learner._keep() ** np.arange(200) @ np.ones(200))
    limit = 0.3 if learner.max_weight is not None or "shrunk" in name or "ogd" in name else 0.5
    assert learner.ask()[4] > limit


def test_it_enters_once_seen_twice_with_each_of_the_others() -> None:
    learner = cb.LinearFI(n_options=3)
    told = [[0.1, 0.2, np.nan]] * 3
    for rewards_ in told:
        learner.tell_partly([0.5, 0.5, 0.0], rewards_)
    learner.tell_partly([1.0, 0.0, 0.0], [0.1, np.nan, 9.0])
    learner.tell_partly([1.0, 0.0, 0.0], [0.1, np.nan, 9.0])
    assert learner.ask().tolist() == [0.0, 1.0, 0.0]  # never seen together with the second
    learner.tell_partly([0.0, 1.0, 0.0], [np.nan, 0.2, 9.0])
    assert learner.ask().tolist() == [0.0, 1.0, 0.0]
    learner.tell_partly([0.0, 1.0, 0.0], [np.nan, 0.2, 9.0])
    assert learner.ask().tolist() == [0.0, 0.0, 1.0]


def test_a_retired_option_does_not_keep_others_waiting() -> None:
    learner = cb.LinearFI(n_options=3)
    for _ in range(3):
        learner.tell_partly([1.0, 0.0, 0.0], [0.1, 0.2, np.nan])
    learner.set_retired([1])
    for _ in range(2):
        learner.tell_partly([1.0, 0.0, 0.0], [0.1, np.nan, 9.0])
    assert learner.ask().tolist() == [0.0, 0.0, 1.0]
    learner.set_retired([])
    assert learner.ask().tolist() == [0.0, 1.0, 0.0]  # with the second it was never seen
    learner.set_retired([1, 0])
    assert learner.ask().tolist() == [0.0, 0.0, 1.0]


def test_caps_that_leave_no_room_to_wait_give_the_start_weights() -> None:
    learner = cb.MCEmpirical(n_options=3, risk_aversion=0.5, max_weight=0.6)
    for row in ([0.1, 0.3, np.nan], [0.2, 0.2, np.nan], [0.1, 0.4, np.nan]):
        learner.tell_partly([0.5, 0.5, 0.0], row)
    assert learner.ask()[2] == 0.0
    learner.set_retired([0])
    assert learner.ask().tolist() == [0.0, 0.5, 0.5]
    for row in ([np.nan, 0.3, 0.9], [np.nan, 0.2, 0.8]):
        learner.tell_partly([0.0, 0.5, 0.5], row)
    assert np.allclose(learner.ask(), [0.0, 0.4, 0.6])


@pytest.mark.parametrize("name", list(MAKERS))
def test_options_come_and_go_for_long(name: str, tmp_path: Path) -> None:
    """Retired options have no rewards, new ones no past; weights stay on the decision set, and copies agree."""
    learner = MAKERS[name]()
    rng = np.random.default_rng(0)
    out: list[int] = [3, 4]
    learner.set_retired(out)
    for t, row in enumerate(rewards(400)):
        if t % 37 == 36:
            out = rng.choice(5, size=int(rng.integers(0, 3)), replace=False).tolist()
            learner.set_retired(out)
        weights = learner.ask()
        assert (weights[out] == 0.0).all()
        assert abs(weights.sum() - 1) <= 1e-12
        assert weights.min() >= 0
        if learner.max_weight is not None:
            assert (weights <= learner.max_weight + 1e-12).all()
        if learner.min_weight is not None:
            assert ((weights == 0) | (weights >= learner.min_weight - 1e-12)).all()
        row[out] = np.nan
        learner.tell_partly(weights, row)
        if t % 100 == 50:
            learner.save(tmp_path / "learner.json")
            for copy in (
                cb.load_learner(tmp_path / "learner.json"),
                learner.clone(),
                pickle.loads(pickle.dumps(learner)),
            ):
                assert describe(copy) == describe(learner)
                assert np.array_equal(copy.ask(), learner.ask())
                copy.tell_partly(weights, row)
            again = learner.clone()
            again.tell_partly(weights, row)
            assert describe(again) == describe(copy)
            assert np.array_equal(again.ask(), copy.ask())


def test_many_rounds_at_once_are_all_told_or_none() -> None:
    one, many = MAKERS["mc-empirical"](), MAKERS["mc-empirical"]()
    tell_all(one, with_gaps(20))
    tell_all(many, with_gaps(20))
    rows, weights = rewards(10, seed=1), np.full((10, 5), 0.2)
    for row in rows:
        one.tell(weights[0], row)
    many.tell_many(weights, rows)
    assert describe(one) == describe(many)
    rows[7, 2] = np.nan
    with pytest.raises(InvalidInput, match="row 7"):
        many.tell_many(weights, rows)
    assert describe(one) == describe(many)


def test_reset_forgets_gaps_too() -> None:
    for name, make in MAKERS.items():
        learner = make()
        tell_all(learner, with_gaps(30))
        learner.reset()
        assert describe(learner) == describe(make()), name


def test_gradient_of_a_sample_leaves_unseen_options_where_they_are() -> None:
    """Whatever the level of the rewards: a gap is not a reward of zero."""
    asked = []
    for level in (0.0, 1000.0):
        learner = cb.OGD(n_options=3, risk_aversion=0.0)
        for _ in range(3):
            learner.tell([0.5, 0.5, 0.0], [level, level, level])
        learner.tell_partly([0.5, 0.5, 0.0], [level + 0.1, level - 0.1, np.nan])
        asked.append(learner.ask())
    assert np.allclose(asked[0], [1 / 3 + 0.05, 1 / 3 - 0.05, 1 / 3], atol=1e-12)
    assert np.allclose(asked[0], asked[1], atol=1e-10)


# Refusals -------------------------------------------------------------------------------------------------------------


def test_what_cannot_be_used_is_refused_and_nothing_changes() -> None:
    learner = MAKERS["mc-empirical"]()
    tell_all(learner, with_gaps(5))
    before = describe(learner)
    level = np.full(5, 0.2)
    first = np.eye(5)[0]
    gap = np.array([0.1, np.nan, 0.2, 0.3, 0.1])
    for weights, row, message in (
        (level, gap, r"option 'b' \(index 1\): reward is missing although its weight is 0.2"),
        (level, np.full(5, np.nan), "no option has a reward"),
        (first, np.where(np.isnan(gap), np.inf, gap), "not finite"),
        (first, gap[:4], "must have 5 entries"),
        (first, 0.5, "one per option"),
        (first, np.where(np.isnan(gap), 1e200, gap), "use larger units"),
        (2 * first, gap, "sum to 2"),
        (first, "rewards", "one per option"),
        (first, ["x"] * 5, "numeric"),
    ):
        with pytest.raises(InvalidInput, match=message):
            learner.tell_partly(weights, row)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="not finite"):
        learner.tell(first, gap)  # tell wants every reward, as ever
    assert describe(learner) == before


def test_other_feedback_and_plain_learners_say_what_to_do() -> None:
    for learner, message in (
        (cb.PairUCB(n_options=2, risk_aversion=0.5), "tell weight 0 .* and NaN"),
        (cb.MCETE(n_options=2, risk_aversion=0.5), "tell weight 0"),
    ):
        with pytest.raises(Unsupported, match=message):
            learner.tell_partly([1.0, 0.0], [0.1, np.nan])
    plain = FollowTheLeader(n_options=2)
    plain.tell_partly([1.0, 0.0], [0.1, 0.3])
    before = describe(plain)
    with pytest.raises(Unsupported, match="override _absorb_partly"):
        plain.tell_partly([1.0, 0.0], [0.1, np.nan])
    assert describe(plain) == before


def test_plain_learners_may_learn_from_gaps() -> None:
    class Patient(FollowTheLeader):
        def _absorb_partly(self, weights: Any, rewards: Any) -> None:
            self.statistics["total"] += np.nan_to_num(rewards)

    learner = Patient(n_options=2)
    learner.tell_partly([1.0, 0.0], [0.1, np.nan])
    learner.tell_partly([1.0, 0.0], [0.1, 0.5])
    assert learner.counts.tolist() == [2.0, 1.0]
    assert learner.ask().tolist() == [0.0, 1.0]


def test_learners_told_gaps_are_not_merged() -> None:
    one, other = MAKERS["mc-empirical"](), MAKERS["mc-empirical"]()
    tell_all(other, with_gaps(5))
    with pytest.raises(Unsupported, match="missing rewards"):
        one.merge(other)


# Where less than every option is seen, a new option needs no method of its own ----------------------------------------


SHORT_SIGHTED: dict[str, Any] = {
    "mc-ucb": lambda d: cb.MCUCB(n_options=d, risk_aversion=0.5, variance_bound=0.2),
    "mc-ucb-gamma": lambda d: cb.MCUCBGamma(n_options=d, risk_aversion=0.5, variance_bound=0.2),
    "ols-ucb-c": lambda d: cb.OLSUCBC(n_options=d, variance_bound=0.2),
    "pair-ucb": lambda d: cb.PairUCB(n_options=d, risk_aversion=0.5),
    "pair-ucb, two fit": lambda d: cb.PairUCB(n_options=d, risk_aversion=0.5, min_weight=0.4),
    "mc-ete": lambda d: cb.MCETE(n_options=d, risk_aversion=0.5),
    "ogd-ete": lambda d: cb.OGDETE(n_options=d, risk_aversion=0.5),
    "linear-fb": lambda d: cb.LinearFB(n_options=d),
    "gradient-ts": lambda d: cb.GradientTS(n_options=d, risk_aversion=0.5, seed=1),
}


def observe(learner: cb.Learner, weights: Any, row: Any) -> Any:
    return float(weights @ row) if learner.feedback == "total" else np.where(weights > 0, row, np.nan)


@pytest.mark.parametrize("old", [10, 60, 400])
@pytest.mark.parametrize("name", list(SHORT_SIGHTED))
def test_a_new_option_is_explored_by_the_learners_own_rule(name: str, old: int) -> None:
    """The history of four options, padded with weight 0, is told to a learner of five."""
    before, after = SHORT_SIGHTED[name](4), SHORT_SIGHTED[name](5)
    for row in rewards(old):
        weights = before.ask()
        before.tell(weights, observe(before, weights, row[:4]))
        padded = np.append(weights, 0.0)
        after.tell(padded, observe(after, padded, row))
    assert after.counts[4] == 0
    asked = []
    for row in rewards(400, seed=1):
        asked.append(after.ask())
        after.tell(asked[-1], observe(after, asked[-1], row))
    first = int(np.argmax(np.array(asked)[:, 4] > 0))
    assert asked[first][4] > 0
    assert first < (60 if name == "gradient-ts" else 15)
    if name.startswith(("pair", "mc-ucb", "ols")):  # every pair that fits was shown early
        pairs = np.array([np.outer(w > 0, w > 0)[4] for w in asked[:30]]).sum(axis=0)
        assert (pairs > 0).all()
    if "ete" in name or "-fb" in name:
        counts = after._view.action_count
        new = counts[[4, 8, 11, 13, 14]]  # the new option alone, and with each of the others
        assert (new > 0).all()
        if old < 400:  # then the new ones have caught up
            assert counts[:15].max() - counts[:15].min() <= 1
    assert np.array(asked)[-50:, 4].mean() > 0.15  # it is the best one
