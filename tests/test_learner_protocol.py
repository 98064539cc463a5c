"""The learner protocol: messages, books, hold, forgetting, merging."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import covbandit as cb
from covbandit.errors import InvalidInput, Unsupported
from covbandit.learners.protocol.serialization import describe
from example_learners import FollowTheLeader


def _history(d: int, n: int, seed: int = 0, offset: float = 0.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return offset + rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) * 0.5 + rng.standard_normal(d) * 0.1


def _equal(d: int) -> np.ndarray:
    return np.full(d, 1 / d)


BAD_CONSTRUCTIONS: list[tuple[Any, str]] = [
    (lambda: cb.MCEmpirical(n_options=0, risk_aversion=1.0), "n_options must be at least 1, got 0"),
    (lambda: cb.MCEmpirical(n_options=2.5, risk_aversion=1.0), "n_options must be a whole number, got 2.5"),
    (lambda: cb.MCEmpirical(n_options=True, risk_aversion=1.0), "n_options must be a whole number"),
    (lambda: cb.MCEmpirical(n_options=2, risk_aversion=-1.0), "risk_aversion must not be negative, got -1.0"),
    (lambda: cb.MCEmpirical(n_options=2, risk_aversion=float("nan")), "risk_aversion must be finite"),
    (lambda: cb.MCEmpirical(n_options=2, risk_aversion="high"), "risk_aversion must be a number, got 'high'"),
    (lambda: cb.MCEmpirical(n_options=2, risk_aversion=1.0, half_life=0.0), "half_life must be a positive"),
    (lambda: cb.MCEmpirical(n_options=2, risk_aversion=1.0, min_weight=0), "min_weight must be above 0 and at most 1"),
    (
        lambda: cb.OGD(n_options=2, risk_aversion=1.0, min_weight=1.5),
        "min_weight must be above 0 and at most 1, got 1.5",
    ),
    (lambda: cb.LinearFI(n_options=2, min_weight=float("nan")), "min_weight must be finite, got nan"),
    (
        lambda: cb.ShrunkEmpirical(n_options=2, risk_aversion=1.0, min_weight="x"),
        "min_weight must be a number, got 'x'",
    ),
    (lambda: cb.MCUCB(n_options=2, risk_aversion=1.0, min_weight=-0.1), "above 0 and at most 1, got -0.1"),
    (
        lambda: cb.MCEmpirical(n_options=2, risk_aversion=1.0, min_weight=0.1, max_weight=0.8),
        "min_weight=0.1 together with max_weight=0.8 is not supported",
    ),
    (lambda: cb.MCEmpirical(n_options=2, risk_aversion=1.0, max_weight=0.4), "max_weight sums to 0.8"),
    (lambda: cb.MCEmpirical(n_options=2, risk_aversion=1.0, options=["a"]), "options must name 2 options, got 1"),
    (lambda: cb.MCEmpirical(n_options=2, risk_aversion=1.0, options=["a", "a"]), "option 'a' is named twice"),
    (lambda: cb.MCEmpirical(n_options=2, risk_aversion=1.0, options=["a", ""]), "non-empty strings, got ''"),
    (lambda: cb.MCEmpirical(n_options=2, risk_aversion=1.0, options="ab"), "single string 'ab'"),
    (lambda: cb.MCEmpirical(n_options=2, risk_aversion=1.0, hold=[0.5, 0.5, 3]), "hold must be a pair"),
    (lambda: cb.MCEmpirical(n_options=2, risk_aversion=1.0, hold=([0.5, 0.6], 3)), "held weights sum to 1.1"),
    (
        lambda: cb.MCEmpirical(n_options=2, risk_aversion=1.0, hold=([0.5, 0.5], -1)),
        "rounds to hold must be at least 0",
    ),
    (lambda: cb.MCEmpirical(n_options=2, risk_aversion=1.0, seed=-3), "seed must be at least 0, got -3"),
    (lambda: cb.OGD(n_options=2, risk_aversion=1.0, gradient="exact"), "gradient must be"),
    (lambda: cb.OGD(n_options=2, risk_aversion=1.0, step="big"), "step must be"),
    (lambda: cb.OGD(n_options=2, risk_aversion=1.0, step="strong"), "needs curvature > 0"),
    (lambda: cb.OGD(n_options=2, risk_aversion=0.0, step="strong", curvature=1.0), "needs risk_aversion > 0"),
    (lambda: cb.OGD(n_options=2, risk_aversion=1.0, curvature=1.0), 'used by step="strong" only'),
    (lambda: cb.OGD(n_options=2, risk_aversion=1.0, variance_bound=0.0), "variance_bound must be"),
    (lambda: cb.OGDETE(n_options=2, risk_aversion=1.0, variance_bound=-1.0), "variance_bound must be"),
    (lambda: cb.FixedWeights(), "needs n_options, weights or options"),
    (lambda: cb.FixedWeights(weights=[0.5, 0.4]), "weights sum to 0.9"),
]


@pytest.mark.parametrize(("make", "message"), BAD_CONSTRUCTIONS)
def test_constructors_refuse(make: Any, message: str) -> None:
    with pytest.raises((InvalidInput, Unsupported, cb.errors.Infeasible)) as caught:
        make()
    assert message in str(caught.value)


def test_messages_name_the_option() -> None:
    learner = cb.MCEmpirical(n_options=4, risk_aversion=1.0, options=["SPY", "EFA", "GLD", "TLT"])
    with pytest.raises(InvalidInput, match=r"option 'TLT' \(index 3\): reward is nan"):
        learner.tell(_equal(4), [0.1, 0.2, 0.3, np.nan])
    with pytest.raises(InvalidInput, match=r"option 'EFA' \(index 1\): weight -0.1 is negative"):
        learner.tell([0.6, -0.1, 0.25, 0.25], np.zeros(4))
    with pytest.raises(InvalidInput, match=r"option 'GLD' \(index 2\): reward 1e\+150 is beyond"):
        learner.tell(_equal(4), [0, 0, 1e150, 0])
    with pytest.raises(InvalidInput, match=r"row 1: option 'SPY' \(index 0\): reward is inf.*nothing was told"):
        learner.tell_many([_equal(4), _equal(4)], [[0, 0, 0, 0], [np.inf, 0, 0, 0]])
    assert learner.rounds_told == 0


def test_unnamed_options_are_named_by_index() -> None:
    with pytest.raises(InvalidInput, match="option 1: reward is nan"):
        cb.LinearFI(n_options=2).tell([0.5, 0.5], [0.0, np.nan])


def test_books() -> None:
    learner = cb.MCEmpirical(n_options=3, risk_aversion=1.0)
    for reward in _history(3, 4):
        learner.tell(_equal(3), reward)
    assert learner.rounds_told == 4
    assert learner.counts.tolist() == [4, 4, 4]
    content = describe(learner)
    assert content["arrays"]["count"] == [4, 4, 4]
    assert content["arrays"]["active"] == [1, 1, 1]
    assert repr(learner) == "MCEmpirical(n_options=3, risk_aversion=1.0)"


def test_hold_plays_the_status_quo_and_learns_from_it() -> None:
    held = [0.7, 0.2, 0.1]
    learner = cb.MCEmpirical(n_options=3, risk_aversion=1.0, hold=(held, 5))
    free = cb.MCEmpirical(n_options=3, risk_aversion=1.0)
    for k, reward in enumerate(_history(3, 8)):
        asked = learner.ask()
        assert (asked.tolist() == held) == (k < 5)
        assert learner.ask(outstanding=5 - min(k, 5)).tolist() != held
        learner.tell(asked, reward)
        free.tell(asked, reward)
    assert np.array_equal(learner.ask(), free.ask())


def test_told_weights_need_not_be_those_asked() -> None:
    learner = cb.MCEmpirical(n_options=3, risk_aversion=1.0)
    history = _history(3, 50)
    learner.tell_many(np.tile([1.0, 0.0, 0.0], (50, 1)), history)
    other = cb.MCEmpirical(n_options=3, risk_aversion=1.0)
    other.tell_many(np.tile(_equal(3), (50, 1)), history)
    assert np.abs(learner.ask() - other.ask()).max() < 1e-12


def test_forgetting_equals_weighted_moments() -> None:
    half_life, n, d = 7.0, 60, 4
    history = _history(d, n)
    learner = cb.MCEmpirical(n_options=d, risk_aversion=0.7, half_life=half_life)
    learner.tell_many(np.tile(_equal(d), (n, 1)), history)
    share = 0.5 ** (np.arange(n)[::-1] / half_life)
    share /= share.sum()
    mean = share @ history
    covariance = (history - mean).T * share @ (history - mean)
    best = cb.maximize_utility(mean, (covariance + covariance.T) / 2, 0.7)
    assert np.abs(learner.ask() - best.weights).max() < 1e-9


@pytest.mark.parametrize("split", [0, 1, 30, 60])
def test_merge_equals_telling_everything(split: int) -> None:
    history, d = _history(5, 60, offset=3.0), 5
    parts = [cb.MCEmpirical(n_options=d, risk_aversion=0.5) for _ in range(2)]
    for learner, part in zip(parts, (history[:split], history[split:]), strict=True):
        learner.tell_many(np.tile(_equal(d), (len(part), 1)), part)
    whole = cb.MCEmpirical(n_options=d, risk_aversion=0.5)
    whole.tell_many(np.tile(_equal(d), (60, 1)), history)
    untouched = describe(parts[1])
    merged = parts[0].merge(parts[1])
    assert merged is parts[0]
    assert describe(parts[1]) == untouched
    assert merged.rounds_told == 60
    assert np.abs(merged.ask() - whole.ask()).max() < 1e-9
    more = _history(5, 20, seed=9)
    for reward in more:
        merged.tell(merged.ask(), reward)
        whole.tell(whole.ask(), reward)
    assert np.abs(merged.ask() - whole.ask()).max() < 1e-9


def test_merge_takes_over_the_weights_told_last() -> None:
    """Maximisers start from them. Of a learner that was told nothing there are none."""
    history = _history(3, 6)
    last = np.array([[0.2, 0.3, 0.5], [0.6, 0.0, 0.4]])
    one, other = (cb.MCEmpirical(n_options=3, risk_aversion=0.5) for _ in range(2))
    one.tell_many(np.tile(last[0], (3, 1)), history[:3])
    other.tell_many(np.tile(last[1], (3, 1)), history[3:])
    assert describe(one.clone().merge(other))["arrays"]["last"] == last[1].tolist()
    assert describe(other.clone().merge(one))["arrays"]["last"] == last[0].tolist()
    nothing = cb.MCEmpirical(n_options=3, risk_aversion=0.5)
    assert describe(one.clone().merge(nothing))["arrays"]["last"] == last[0].tolist()


def test_merge_refuses_what_does_not_fit() -> None:
    learner = cb.MCEmpirical(n_options=2, risk_aversion=0.5)
    with pytest.raises(InvalidInput, match=r"risk_aversion is 0.5 here and 0.6 there"):
        learner.merge(cb.MCEmpirical(n_options=2, risk_aversion=0.6))
    with pytest.raises(InvalidInput, match="cannot merge LinearFI into MCEmpirical"):
        learner.merge(cb.LinearFI(n_options=2))  # type: ignore[arg-type]
    with pytest.raises(Unsupported, match="OGD cannot be merged"):
        cb.OGD(n_options=2, risk_aversion=0.5).merge(cb.OGD(n_options=2, risk_aversion=0.5))
    forgetting = [cb.MCEmpirical(n_options=2, risk_aversion=0.5, half_life=5) for _ in range(2)]
    with pytest.raises(Unsupported, match="half_life"):
        forgetting[0].merge(forgetting[1])


def test_a_plain_python_learner_that_fails_to_absorb_is_unchanged() -> None:
    class Fragile(FollowTheLeader):
        def _absorb(self, weights: Any, observation: Any) -> None:
            self.statistics["total"] += observation
            self.statistics["rounds"] = self.statistics.get("rounds", 0) + 1
            if self.statistics["rounds"] == 3:
                raise RuntimeError("out of luck")

    learner = Fragile(n_options=2)
    learner.tell([0.5, 0.5], [1.0, 2.0])
    before = describe(learner)
    with pytest.raises(RuntimeError, match="out of luck"):
        learner.tell_many(np.full((2, 2), 0.5), [[1.0, 2.0], [3.0, 4.0]])
    assert describe(learner) == before
    learner.tell([0.5, 0.5], [1.0, 2.0])
    with pytest.raises(RuntimeError, match="out of luck"):
        learner.tell([0.5, 0.5], [1.0, 2.0])
    assert learner.rounds_told == 2


def test_a_learner_without_kernels_or_methods_says_so() -> None:
    class Empty(cb.Learner):
        feedback = "all"

    learner = Empty(n_options=2)
    with pytest.raises(Unsupported, match="Empty defines neither kernels nor _decide"):
        learner.ask()
    with pytest.raises(Unsupported, match="Empty defines neither kernels nor _absorb"):
        learner.tell([0.5, 0.5], [0.0, 0.0])


def test_a_plain_python_learner_off_the_simplex_is_refused() -> None:
    class Greedy(FollowTheLeader):
        def _decide(self, t: int) -> Any:
            return np.ones(self.n_options)

    with pytest.raises(InvalidInput, match=r"decided weights sum to 2"):
        Greedy(n_options=2).ask()


def test_chosen_feedback_is_checked_by_name() -> None:
    class Chosen(FollowTheLeader):
        feedback = "chosen"

        def _absorb(self, weights: Any, observation: Any) -> None:
            self.statistics["total"] += np.nan_to_num(observation)

    learner = Chosen(n_options=3, options=["a", "b", "c"])
    learner.tell([0.5, 0.5, 0.0], [1.0, 2.0, np.nan])
    assert learner.counts.tolist() == [1, 1, 0]
    with pytest.raises(InvalidInput, match=r"option 'b' \(index 1\): reward is missing although its weight is 0.5"):
        learner.tell([0.5, 0.5, 0.0], [1.0, np.nan, np.nan])
    with pytest.raises(InvalidInput, match=r"option 'c' \(index 2\): reward 3.0 given although its weight is 0"):
        learner.tell([0.5, 0.5, 0.0], [1.0, 2.0, 3.0])
    with pytest.raises(InvalidInput, match="3 entries"):
        learner.tell([0.5, 0.5, 0.0], [1.0, 2.0])
    assert learner.rounds_told == 1


def test_a_retired_option_gets_no_weight_and_keeps_its_statistics() -> None:
    learner = cb.MCEmpirical(n_options=3, risk_aversion=1.0)
    learner.tell_many(np.tile(_equal(3), (30, 1)), _history(3, 30))
    assert learner.ask()[int(np.argmax(learner.ask()))] > 0
    best = int(np.argmax(learner.ask()))
    learner._view.active[best] = 0.0
    learner._view.cap[best] = 0.0
    assert learner.ask()[best] == 0
    assert learner.counts[best] == 30
