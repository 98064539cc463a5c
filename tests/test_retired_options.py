"""Options go out of use and come back: no weight while they are out, nothing forgotten, learning goes on."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import covbandit as cb
from covbandit.errors import Infeasible, InvalidInput, NotIdentified, Unsupported
from covbandit.learners.protocol.serialization import describe
from covbandit.problems.designs import default_design
from example_learners import Exploring, FollowTheLeader, TotalChaser

# Learners that choose one option at a time say so when they are made; that is tested elsewhere.
pytestmark = pytest.mark.filterwarnings("ignore:min_weight=.* is above one half:covbandit.errors.SetupWarning")

NAMES = ["a", "b", "c", "d", "e"]
# Actions of one's own: more than the default ones, so that any options left in use are identified.
OWN = np.concatenate([default_design(5)[::-1], np.random.default_rng(1).dirichlet(np.ones(5), size=3)])

MAKERS: dict[str, Any] = {
    "mc-empirical": lambda: cb.MCEmpirical(n_options=5, risk_aversion=0.5, options=NAMES),
    "mc-empirical, capped": lambda: cb.MCEmpirical(n_options=5, risk_aversion=0.5, max_weight=0.4, options=NAMES),
    "mc-empirical, least": lambda: cb.MCEmpirical(n_options=5, risk_aversion=2.0, min_weight=0.3, options=NAMES),
    "mc-empirical, forgetting": lambda: cb.MCEmpirical(n_options=5, risk_aversion=0.5, half_life=300, options=NAMES),
    "mc-empirical, held": lambda: cb.MCEmpirical(
        n_options=5, risk_aversion=0.5, options=NAMES, hold=([0.4, 0.1, 0.2, 0.1, 0.2], 70)
    ),
    "shrunk-empirical": lambda: cb.ShrunkEmpirical(n_options=5, risk_aversion=0.5, options=NAMES),
    "ogd": lambda: cb.OGD(n_options=5, risk_aversion=0.5, options=NAMES),
    "ogd, least": lambda: cb.OGD(n_options=5, risk_aversion=0.5, min_weight=0.25, options=NAMES),
    "ogd, plug-in": lambda: cb.OGD(n_options=5, risk_aversion=0.5, gradient="plugin", options=NAMES),
    "linear-fi": lambda: cb.LinearFI(n_options=5, options=NAMES),
    "fixed": lambda: cb.FixedWeights(weights=[0.5, 0.1, 0.2, 0.1, 0.1], options=NAMES),
    "mc-ucb": lambda: cb.MCUCB(n_options=5, risk_aversion=0.5, variance_bound=0.1, options=NAMES),
    "mc-ucb, one at a time": lambda: cb.MCUCB(
        n_options=5, risk_aversion=0.5, min_weight=0.6, variance_bound=0.1, options=NAMES
    ),
    "mc-ucb-gamma": lambda: cb.MCUCBGamma(n_options=5, risk_aversion=0.5, variance_bound=0.1, options=NAMES),
    "ols-ucb-c": lambda: cb.OLSUCBC(n_options=5, variance_bound=0.1, min_weight=None, options=NAMES),
    "pair-ucb": lambda: cb.PairUCB(n_options=5, risk_aversion=0.5, options=NAMES),
    "pair-ucb, three fit": lambda: cb.PairUCB(n_options=5, risk_aversion=0.5, min_weight=0.3, options=NAMES),
    "pair-ucb, held": lambda: cb.PairUCB(
        n_options=5, risk_aversion=0.5, min_weight=0.1, options=NAMES, hold=([0.4, 0.1, 0.2, 0.1, 0.2], 70)
    ),
    "mc-ete": lambda: cb.MCETE(n_options=5, risk_aversion=0.5, options=NAMES),
    "mc-ete, exact": lambda: cb.MCETE(n_options=5, risk_aversion=0.5, indefinite="exact", options=NAMES),
    "mc-ete, own design": lambda: cb.MCETE(n_options=5, risk_aversion=0.5, design=OWN, options=NAMES),
    "ogd-ete": lambda: cb.OGDETE(n_options=5, risk_aversion=0.5, options=NAMES),
    "linear-fb": lambda: cb.LinearFB(n_options=5, options=NAMES),
    "linear-fb, own design": lambda: cb.LinearFB(n_options=5, design=OWN, options=NAMES),
    "gradient-ts": lambda: cb.GradientTS(n_options=5, risk_aversion=0.5, seed=4, options=NAMES),
    "gradient-ts, held": lambda: cb.GradientTS(
        n_options=5, risk_aversion=0.5, options=NAMES, hold=([0.4, 0.1, 0.2, 0.1, 0.2], 70)
    ),
    "plain Python": lambda: FollowTheLeader(n_options=5, options=NAMES),
    "plain Python, randomised": lambda: Exploring(n_options=5, seed=5, options=NAMES),
    "plain Python, total": lambda: TotalChaser(n_options=5, options=NAMES),
}
MEAN = np.array([1.0, 0.2, 0.5, 0.1, 0.9])  # without "a" and "e", the third option is best


def rewards(n: int, seed: int = 0) -> Any:
    return MEAN + 0.2 * np.random.default_rng(seed).standard_normal((n, 5))


def observe(learner: cb.Learner, weights: Any, reward: Any) -> Any:
    if learner.feedback == "total":
        return float(weights @ reward)
    return reward if learner.feedback == "all" else np.where(weights > 0, reward, np.nan)


def play(learner: cb.Learner, rows: Any) -> Any:
    asked = []
    for reward in rows:
        asked.append(learner.ask())
        learner.tell(asked[-1], observe(learner, asked[-1], reward))
    return np.array(asked)


def assert_in_decision_set(learner: cb.Learner, asked: Any, retired: list[int]) -> None:
    assert (asked[:, retired] == 0.0).all()
    assert np.abs(asked.sum(axis=1) - 1).max() <= 1e-12
    assert asked.min() >= 0
    if learner.max_weight is not None:
        assert (asked <= learner.max_weight + 1e-12).all()
    if learner.min_weight is not None:
        assert ((asked == 0) | (asked >= learner.min_weight - 1e-12)).all()


@pytest.mark.parametrize("told", [0, 7, 60, 200])
@pytest.mark.parametrize("name", list(MAKERS))
def test_no_weight_at_once_and_for_ever(name: str, told: int, tmp_path: Path) -> None:
    learner = MAKERS[name]()
    play(learner, rewards(told))
    known = learner.counts
    learner.set_retired(["a", 4])
    assert learner.retired == ("a", "e")
    assert np.array_equal(learner.counts, known)
    ahead = np.array([learner.ask(outstanding=k) for k in (*range(40), 500, 5_000)])
    assert_in_decision_set(learner, ahead, [0, 4])
    assert np.array_equal(learner.ask(), ahead[0])
    learner.explain()

    learner.save(tmp_path / "learner.json")
    copies = [cb.load_learner(tmp_path / "learner.json"), learner.clone(), pickle.loads(pickle.dumps(learner))]
    more = rewards(220, seed=1)
    asked = play(learner, more)
    assert_in_decision_set(learner, asked, [0, 4])
    for copy in copies:
        assert copy.retired == ("a", "e")
        assert np.array_equal(play(copy, more), asked)
        assert describe(copy) == describe(learner)

    explanation = learner.explain()
    assert explanation.weights[[0, 4]].tolist() == [0.0, 0.0]
    assert explanation.counts == tuple(learner.counts)

    learner.set_retired([])
    assert learner.retired == ()
    again = play(learner, rewards(250, seed=2))
    assert_in_decision_set(learner, again, [])
    # TotalChaser stays with what it plays, and projections on weights of at least c may keep an option at zero.
    assert (again[:, 0] > 0).any() or isinstance(learner, TotalChaser) or name == "ogd, least"


@pytest.mark.parametrize("name", [name for name in MAKERS if not name.startswith(("fixed", "plain"))])
def test_the_best_of_those_left_is_found(name: str) -> None:
    learner = MAKERS[name]()
    play(learner, rewards(30))
    learner.set_retired(["a", "e"])
    asked = play(learner, rewards(1200, seed=3))
    played = asked[-400:].mean(axis=0)
    assert played[2] >= played.max() - 1e-9  # under a cap, together with another
    assert played[2] > (0.35 if learner.max_weight is not None else 0.45)


@pytest.mark.parametrize("name", list(MAKERS))
def test_late_outcomes_of_retired_options_are_absorbed(name: str) -> None:
    learner = MAKERS[name]()
    play(learner, rewards(60))
    late = [learner.ask(outstanding=k) for k in range(20)]
    learner.set_retired(["a"])
    for weights, reward in zip(late, rewards(20, seed=6), strict=True):
        learner.tell(weights, observe(learner, weights, reward))
        assert learner.ask()[0] == 0.0
    assert learner.rounds_told == 80
    assert_in_decision_set(learner, play(learner, rewards(40, seed=7)), [0])


@pytest.mark.parametrize("name", list(MAKERS))
def test_told_a_history_from_which_options_were_retired_since(name: str) -> None:
    """A study builds a fresh learner, retires what is out of use now and tells the whole history."""
    first = MAKERS[name]()
    rows = rewards(150)
    asked = play(first, rows)
    again = MAKERS[name]()
    again.set_retired([0, 2])
    for weights, reward in zip(asked, rows, strict=True):
        again.tell(weights, observe(again, weights, reward))
        assert (again.ask()[[0, 2]] == 0.0).all()
    assert_in_decision_set(again, play(again, rewards(60, seed=9)), [0, 2])


@pytest.mark.parametrize("name", list(MAKERS))
def test_reset_forgets_what_was_told_but_not_what_is_out_of_use(name: str) -> None:
    learner, fresh = MAKERS[name](), MAKERS[name]()
    play(learner, rewards(50))
    learner.set_retired(["b"])
    learner.reset()
    fresh.set_retired(["b"])
    assert describe(learner) == describe(fresh)
    assert learner.ask()[1] == 0.0


@pytest.mark.parametrize("name", list(MAKERS))
def test_down_to_one_option_and_back(name: str) -> None:
    learner = MAKERS[name]()
    if learner.max_weight is not None:
        with pytest.raises(Infeasible, match=r"max_weight sums to 0\.4 over the 1 options left"):
            learner.set_retired([0, 1, 2, 3])
        assert learner.retired == ()
        return
    play(learner, rewards(40))
    learner.set_retired([0, 1, 2, 3])
    asked = play(learner, rewards(60, seed=1))
    assert np.abs(asked - np.eye(5)[4]).max() <= 1e-15
    learner.set_retired([4])
    assert_in_decision_set(learner, play(learner, rewards(150, seed=1)), [4])


@pytest.mark.parametrize("name", list(MAKERS))
def test_an_empty_set_changes_nothing(name: str) -> None:
    one, other = MAKERS[name](), MAKERS[name]()
    other.set_retired([])
    rows = rewards(80)
    assert np.array_equal(play(one, rows), play(other, rows))
    assert describe(one) == describe(other)


def test_what_cannot_be_retired_is_refused_and_nothing_changes() -> None:
    learner = cb.MCEmpirical(n_options=3, risk_aversion=0.5, options=["a", "b", "c"])
    learner.set_retired(["b"])
    for bad, message in (
        (["x"], "unknown option 'x'; known are 'a', 'b', 'c'"),
        ([3], "there is no option 3"),
        ([-1], "must be at least 0"),
        ([True], "whole number"),
        ("a", "the single string 'a'"),
        (7, "a list of options, got 7"),
        ([0, "b", 2], "at least one must stay in use"),
    ):
        with pytest.raises(InvalidInput, match=message):
            learner.set_retired(bad)  # type: ignore[arg-type]
        assert learner.retired == ("b",)
    unnamed = cb.LinearFI(n_options=2)
    with pytest.raises(InvalidInput, match="no names here"):
        unnamed.set_retired(["a"])
    unnamed.set_retired([1])
    assert unnamed.retired == (1,)


def test_a_simulation_refuses_retired_options() -> None:
    problem = cb.problems.synthetic()
    for learner in (cb.MCEmpirical(n_options=5, risk_aversion=0.1), cb.FixedWeights(n_options=5)):
        learner.set_retired([2])
        with pytest.raises(InvalidInput, match=r"\[2\] are retired.*set_retired\(\[\]\)"):
            cb.simulate(problem, {"it": learner}, horizon=10, replications=1)
        learner.set_retired([])
        assert learner.mismatch(problem) is None


def test_learners_with_other_options_in_use_are_not_merged() -> None:
    one, other = cb.LinearFB(n_options=3), cb.LinearFB(n_options=3)
    other.set_retired([1])
    with pytest.raises(InvalidInput, match="are retired here"):
        one.merge(other)


def test_fixed_weights_keep_their_proportions() -> None:
    learner = cb.FixedWeights(weights=[0.5, 0.3, 0.2, 0.0])
    learner.set_retired([0])
    assert np.allclose(learner.ask(), [0, 0.6, 0.4, 0], atol=1e-15)
    learner.set_retired([0, 1, 2])
    assert learner.ask().tolist() == [0.0, 0.0, 0.0, 1.0]
    learner.set_retired([])
    assert learner.ask().tolist() == [0.5, 0.3, 0.2, 0.0]


def test_held_weights_keep_their_proportions() -> None:
    learner = cb.MCEmpirical(n_options=3, risk_aversion=0.5, hold=([0.5, 0.5, 0.0], 5))
    learner.set_retired([0])
    assert learner.ask().tolist() == [0.0, 1.0, 0.0]
    learner.set_retired([0, 1])
    assert learner.ask().tolist() == [0.0, 0.0, 1.0]
    capped = cb.MCEmpirical(n_options=3, risk_aversion=0.5, max_weight=[0.6, 0.6, 1.0], hold=([0.5, 0.5, 0.0], 5))
    capped.set_retired([0])
    assert capped.ask().tolist() == [0.0, 0.5, 0.5]


@pytest.mark.parametrize("kind", [cb.MCETE, cb.OGDETE, cb.LinearFB])
@pytest.mark.parametrize("own", [False, True])
def test_estimates_from_totals_are_those_of_a_learner_of_the_options_in_use(kind: Any, own: bool) -> None:
    """The actions left, and the estimates from them, are those of a learner that never had the other options."""
    keep = [0, 2, 3]
    arguments = {} if kind is cb.LinearFB else {"risk_aversion": 0.5}
    design = OWN if own else None
    left = OWN[(OWN[:, [1, 4]] == 0).all(axis=1)][:, keep] if own else None
    whole = kind(n_options=5, design=design, **arguments)
    small = kind(n_options=3, design=left, **arguments)
    whole.set_retired([1, 4])
    for reward in rewards(300):
        weights = whole.ask()
        part = small.ask()
        assert np.allclose(weights[keep], part, atol=1e-12)
        whole.tell(weights, float(weights @ reward))
        small.tell(part, float(part @ reward[keep]))
        assert whole.rounds_completed == small.rounds_completed
    a, b = whole._estimates(), small._estimates()
    assert np.allclose(np.asarray(a.mean)[keep], b.mean, rtol=1e-12)
    assert np.allclose(np.asarray(a.covariance)[np.ix_(keep, keep)], b.covariance, atol=1e-13)
    assert np.allclose(np.asarray(a.width)[keep], b.width, rtol=1e-10)


def test_a_design_that_does_not_tell_the_options_left_is_refused() -> None:
    mixed = np.random.default_rng(0).dirichlet(np.ones(3), size=8)
    learner = cb.MCETE(n_options=3, risk_aversion=0.5, design=mixed)
    before = describe(learner)
    with pytest.raises(NotIdentified, match=r"0 of 8 actions .* leave design out"):
        learner.set_retired([1])
    assert describe(learner) == before


@pytest.mark.parametrize("name", ["mc-ucb", "mc-ucb, one at a time", "mc-ucb-gamma", "ols-ucb-c", "pair-ucb"])
def test_certified_weights_keep_to_the_options_in_use(name: str) -> None:
    learner = MAKERS[name]()
    learner.set_retired(["a"])
    play(learner, rewards(60))
    best = learner.certify()
    assert best.certified
    assert best.weights[0] == 0.0
    assert abs(best.weights.sum() - 1) <= 1e-9


def test_certified_exploitation_keeps_to_the_options_in_use() -> None:
    for name in ("mc-ete", "mc-ete, exact"):
        learner = MAKERS[name]()
        learner.set_retired(["a"])
        play(learner, rewards(100))
        ahead = 0
        while True:
            try:
                best = learner.certify(ahead)
                break
            except Unsupported:
                ahead += 1
        assert best.certified
        assert best.weights[0] == 0.0
        assert np.allclose(best.weights, learner.ask(ahead), atol=1e-6)


def test_start_up_goes_on_with_options_that_come_back_unseen() -> None:
    """Retired from the beginning, brought back later: initial pulls, covering design and design rounds show them."""
    for name in ("mc-ucb", "mc-ucb-gamma", "ols-ucb-c", "pair-ucb", "mc-ete", "linear-fb"):
        learner = MAKERS[name]()
        learner.set_retired(["e"])
        play(learner, rewards(100))
        assert learner.counts[4] == 0
        learner.set_retired([])
        asked = play(learner, rewards(40, seed=1))
        assert (asked[:, 4] > 0).any()
        assert learner.counts[4] >= 2


def test_retired_options_do_not_change_what_the_others_are_believed_to_be() -> None:
    """PairUCB's averages, and ShrunkEmpirical's, are those of a learner of the options in use."""
    keep = [0, 2, 3]
    rng = np.random.default_rng(5)
    for kind, arguments in ((cb.PairUCB, {"min_weight": 0.1}), (cb.ShrunkEmpirical, {})):
        whole, small = (
            kind(n_options=5, risk_aversion=0.5, **arguments),
            kind(n_options=3, risk_aversion=0.5, **arguments),
        )
        whole.set_retired([1, 4])
        for reward in rewards(80) * [1, 50, 1, 1, 3]:
            part = rng.dirichlet(np.ones(3))
            weights = np.zeros(5)
            weights[keep] = part
            whole.tell(weights, observe(whole, weights, reward))
            small.tell(part, observe(small, part, reward[keep]))
        assert np.allclose(whole.ask()[keep], small.ask(), atol=1e-9)
