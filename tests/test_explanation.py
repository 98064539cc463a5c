"""Explanations: numbers worked out by hand, and what is unknown stays unknown."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import covbandit as cb
import semi_bandit_reference as naive
from covbandit.errors import InvalidInput
from covbandit.learners import Estimates
from example_learners import FollowTheLeader
from semi_bandit_play import play, seen

# Means (2, 1); deviations (-1, 0, 1) and (1, 0, -1) or, of the third option, none.
REWARDS = np.array([[1.0, 2.0, 0.5], [2.0, 1.0, 0.5], [3.0, 0.0, 0.5]])
EQUAL = np.full((3, 3), 1 / 3)


def told(learner: Any, rewards: Any = REWARDS[:, :2]) -> Any:
    for reward in rewards:
        learner.tell(np.full(learner.n_options, 1 / learner.n_options), reward)
    return learner


def believing(estimates: Estimates, weights: Any) -> cb.Explanation:
    """Return the explanation of a learner that plays these weights and believes in these estimates."""

    class Believer(FollowTheLeader):
        def _decide(self, t: int) -> Any:
            return weights

        def _estimates(self) -> Estimates:
            return estimates

    return Believer(n_options=len(weights)).explain()


# Numbers by hand ------------------------------------------------------------------------------------------------------


def test_mc_empirical_by_hand() -> None:
    # θ̂ = (2, 1) and Σ̂ = 2/3 (1, -1; -1, 1), so that f(w) = 1 + w_1 - ρ 2/3 (2 w_1 - 1)²: at ρ = 3/4, w_1 = 3/4.
    e = told(cb.MCEmpirical(n_options=2, risk_aversion=0.75)).explain()
    assert e.learner == "MCEmpirical"
    assert e.rounds == 3
    assert e.weights == pytest.approx([3 / 4, 1 / 4])
    assert e.mean == pytest.approx(7 / 4)
    assert e.mean_contributions == pytest.approx((6 / 4, 1 / 4))
    assert e.variance == pytest.approx(1 / 6)
    assert e.standard_deviation == pytest.approx(np.sqrt(1 / 6))
    assert e.risk_contributions == pytest.approx((1 / 4, -1 / 12))
    assert e.counts == (3, 3)
    assert e.widths == pytest.approx((np.sqrt(1 / 3), np.sqrt(1 / 3)))  # the unbiased variance is 1
    assert e.width_kind == "standard error of the mean"


@pytest.mark.parametrize(
    "learner",
    [
        cb.OGD(n_options=3, risk_aversion=0.5),
        cb.OGD(n_options=3, risk_aversion=0.5, gradient="plugin"),
        cb.LinearFI(n_options=3),
        cb.FixedWeights(weights=[0.5, 0.2, 0.3]),
        cb.MCEmpirical(n_options=3, risk_aversion=0.5, max_weight=0.5),
    ],
    ids=repr,
)
def test_empirical_moments(learner: cb.Learner) -> None:
    rewards = np.random.default_rng(1).standard_normal((50, 3)) + 100.0
    e = told(learner, rewards).explain()
    mean, covariance = rewards.mean(axis=0), np.cov(rewards.T, bias=True)
    assert e.mean == pytest.approx(e.weights @ mean)
    assert e.mean_contributions == pytest.approx(tuple(e.weights * mean))
    assert e.variance == pytest.approx(e.weights @ covariance @ e.weights)
    assert e.risk_contributions == pytest.approx(tuple(e.weights * (covariance @ e.weights)))
    assert e.widths == pytest.approx(tuple(rewards.std(axis=0, ddof=1) / np.sqrt(50)))
    assert e.counts == (50, 50, 50)


def test_shrunk_empirical_shows_what_it_believes_in() -> None:
    rewards = np.random.default_rng(2).standard_normal((30, 6)) * [1, 1.1, 1.2, 1.3, 1.4, 1.5]
    learner = told(cb.ShrunkEmpirical(n_options=6, risk_aversion=0.5), rewards)
    e = learner.explain()
    # The weights are the best ones for the moments that the explanation adds up.
    estimates = learner._estimates()
    best = cb.maximize_utility(estimates.mean, estimates.covariance, 0.5)
    assert best.weights == pytest.approx(e.weights, abs=1e-9)
    assert best.utility == pytest.approx(e.mean - 0.5 * e.variance)
    assert e.widths == pytest.approx(tuple(np.sqrt(np.diag(estimates.covariance) / 30)))
    assert np.ptp(e.widths) < np.ptp(rewards.std(axis=0, ddof=1) / np.sqrt(30))
    assert e.width_kind == "standard error of the mean, from shrunk variances"


@pytest.mark.parametrize("half_life", [0.5, 7.0, 1e9])
def test_forgetting(half_life: float) -> None:
    rewards = np.random.default_rng(3).standard_normal((40, 2))
    e = told(cb.MCEmpirical(n_options=2, risk_aversion=0.5, half_life=half_life), rewards).explain()
    share = 0.5 ** (np.arange(40)[::-1] / half_life)
    mean = share @ rewards / share.sum()
    covariance = np.cov(rewards.T, aweights=share, bias=True)
    assert e.mean == pytest.approx(e.weights @ mean)
    assert e.variance == pytest.approx(e.weights @ covariance @ e.weights)
    assert e.counts == pytest.approx((share.sum(), share.sum()))
    unbiased = np.diag(np.cov(rewards.T, aweights=share))
    assert e.widths == pytest.approx(tuple(np.sqrt(unbiased * (share**2).sum()) / share.sum()))
    assert e.width_kind == "standard error of the mean, old observations counting less"


def test_standard_errors_of_a_forgetting_mean_are_calibrated() -> None:
    rng = np.random.default_rng(4)
    learner = cb.MCEmpirical(n_options=400, risk_aversion=0.0, half_life=10.0)
    rewards = rng.standard_normal((60, 400))
    learner.tell_many(np.full((60, 400), 1 / 400), rewards)
    widths = np.array(learner.explain().widths)
    off = learner._estimates().mean / widths
    assert 0.9 < np.sqrt((off**2).mean()) < 1.15


def test_keeping_moments_does_not_change_how_linear_fi_breaks_ties() -> None:
    for seed in range(20):
        learner, mean = cb.LinearFI(n_options=5), np.zeros(5)
        for n, reward in enumerate(np.random.default_rng(seed).integers(0, 2, (100, 5)).astype(float), 1):
            learner.tell(np.full(5, 0.2), reward)
            mean += (reward - mean) / n
            assert learner.ask().argmax() == mean.argmax()


def test_held_weights_are_explained() -> None:
    e = told(cb.MCEmpirical(n_options=2, risk_aversion=0.75, hold=([0.5, 0.5], 10))).explain()
    assert e.weights.tolist() == [0.5, 0.5]
    assert e.mean == pytest.approx(1.5)
    assert e.variance == pytest.approx(0.0, abs=1e-15)


# Semi-bandit learners -------------------------------------------------------------------------------------------------


def played(learner: Any, n: int, seed: int = 5) -> list[Any]:
    """Let a learner ask and tell; return the history."""
    rewards = 0.5 * np.random.default_rng(seed).standard_normal((n, learner.n_options))
    return [(w, seen(w, reward)) for w, reward in zip(play(learner, rewards), rewards, strict=True)]


SEMI_BANDIT = [
    cb.MCUCB(n_options=4, risk_aversion=0.5, regularization=0.2, radius_scale=(0.1, 0.2)),
    cb.MCUCBGamma(n_options=4, risk_aversion=0.5, gamma=np.diag([1.0, 2.0, 3.0, 4.0]) + 1.0),
    cb.OLSUCBC(n_options=4, min_weight=0.3, variance_bound=2.0),
]


@pytest.mark.parametrize("learner", SEMI_BANDIT, ids=lambda learner: type(learner).__name__)
def test_semi_bandit_learners_show_their_radii(learner: Any) -> None:
    learner = learner.clone()
    history = played(learner, 60)
    arguments = {"min_weight", "regularization", "variance_bound", "radius_scale", "gamma"} & learner.config().keys()
    settings = {name: getattr(learner, name) for name in arguments}
    if "gamma" in settings and settings["gamma"] is None:
        settings["gamma"] = learner.variance_bound
    expected = naive.confidence_round(history, **settings)
    e = learner.explain()
    assert e.width_kind == "radius of the confidence region E of the option alone"
    assert e.widths == pytest.approx(tuple(np.sqrt(expected.bonus.diagonal())), rel=1e-12)
    assert e.counts == tuple(expected.counts.diagonal())
    w = e.weights
    assert e.mean_contributions == pytest.approx(tuple(w * expected.mean), rel=1e-9)
    assert e.risk_contributions == pytest.approx(tuple(w * (expected.covariance @ w)), rel=1e-9)
    assert e.variance == pytest.approx(w @ expected.covariance @ w, rel=1e-9)


def test_a_radius_by_hand() -> None:
    # After d² = 4 pulls N_ii = 3, and with Γ = 2 everywhere E_t(e_i)² = 2β · 2(1 + λ)/3 at t = 5.
    learner = cb.MCUCBGamma(n_options=2, risk_aversion=0.1, gamma=2.0, regularization=0.25)
    played(learner, 4)
    beta = np.log(5 * np.log(5) ** 2) + 2 * np.log(np.log(5)) + np.log(1 + 4 * np.e)
    assert learner.explain().widths == pytest.approx([np.sqrt(2 * beta * 2.5 / 3)] * 2, rel=1e-12)


@pytest.mark.parametrize("kind", [cb.MCUCB, cb.MCUCBGamma, cb.OLSUCBC, cb.PairUCB])
def test_start_up_of_semi_bandit_learners(kind: Any) -> None:
    risk = {} if kind is cb.OLSUCBC else {"risk_aversion": 0.5}
    learner = kind(n_options=3, min_weight=0.5, options=["a", "b", "c"], **risk)
    e = learner.explain()
    assert e.mean is e.variance is None
    assert e.mean_contributions == e.risk_contributions == e.widths == (None, None, None)
    learner.tell([0.0, 1.0, 0.0], [None, 0.75, None])
    e = learner.explain()
    assert e.counts == (0, 1, 0)
    assert e.widths == (None, None, None)
    assert e.mean_contributions[0] is e.mean_contributions[2] is None
    assert e.mean is None  # what is asked for next was not seen yet
    assert "unknown" not in e.width_kind


@pytest.mark.filterwarnings("ignore:min_weight=.* is above one half:covbandit.errors.SetupWarning")
@pytest.mark.parametrize("kind", [cb.MCUCB, cb.MCUCBGamma, cb.OLSUCBC])
def test_one_option_at_a_time_needs_no_pairs(kind: Any) -> None:
    risk = {} if kind is cb.OLSUCBC else {"risk_aversion": 0.5}
    learner = kind(n_options=3, min_weight=0.6, **risk)
    history = played(learner, 40)
    e = learner.explain()
    (chosen,) = np.flatnonzero(e.weights)
    rewards = np.array([y[chosen] for w, y in history if w[chosen] > 0])
    assert e.mean == pytest.approx(rewards.mean())
    assert e.variance == pytest.approx(rewards.var())
    assert None not in e.widths


# What is unknown ------------------------------------------------------------------------------------------------------

LEARNERS = [
    cb.MCEmpirical(n_options=2, risk_aversion=0.5),
    cb.MCEmpirical(n_options=2, risk_aversion=0.5, half_life=5.0),
    cb.ShrunkEmpirical(n_options=2, risk_aversion=0.5),
    cb.OGD(n_options=2, risk_aversion=0.5),
    cb.LinearFI(n_options=2),
    cb.FixedWeights(n_options=2),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_before_anything_is_told(learner: cb.Learner) -> None:
    e = learner.clone().explain()
    assert e.rounds == 0
    assert e.weights.tolist() == [0.5, 0.5]
    assert e.counts == (0, 0)
    assert e.mean is e.variance is e.standard_deviation is None
    assert e.mean_contributions == e.risk_contributions == e.widths == (None, None)


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_one_observation_says_nothing_of_risk(learner: cb.Learner) -> None:
    e = told(learner.clone(), REWARDS[:1, :2]).explain()
    assert e.mean == pytest.approx(e.weights @ REWARDS[0, :2])
    assert e.variance is e.standard_deviation is None
    assert e.risk_contributions == e.widths == (None, None)


def test_rewards_without_variance_are_known_to_have_none() -> None:
    e = told(cb.MCEmpirical(n_options=2, risk_aversion=0.5), [[0.5, 0.25]] * 3).explain()
    assert e.variance == e.standard_deviation == 0
    assert e.widths == (0, 0)


def test_learners_without_estimates_explain_weights_and_counts() -> None:
    e = told(FollowTheLeader(n_options=3), REWARDS).explain()
    assert e.weights.tolist() == [1, 0, 0]
    assert e.counts == (3, 3, 3)
    assert e.mean is e.variance is None
    assert e.width_kind == "unknown"


def test_an_unseen_option_without_weight_leaves_the_totals_known() -> None:
    nan = np.nan
    covariance = [[2.0, 0.5, nan], [0.5, 1.0, nan], [nan, nan, nan]]
    estimates = Estimates([0.4, -0.2, nan], covariance, [0.1, 0.2, np.inf], "radius")
    e = believing(estimates, [0.5, 0.5, 0.0])
    assert e.mean == pytest.approx(0.1)
    assert e.mean_contributions == (pytest.approx(0.2), pytest.approx(-0.1), None)
    assert e.variance == pytest.approx(1.0)
    assert e.risk_contributions == (pytest.approx(0.625), pytest.approx(0.375), None)
    assert e.widths == (0.1, 0.2, None)
    with_weight = believing(estimates, [0.5, 0.0, 0.5])
    assert with_weight.mean is with_weight.variance is None
    assert with_weight.mean_contributions == (pytest.approx(0.2), 0, None)
    assert with_weight.risk_contributions == (None, 0, None)


def test_a_pair_never_seen_together() -> None:
    covariance = [[2.0, np.nan], [np.nan, 1.0]]
    assert believing(Estimates(covariance=covariance), [1.0, 0.0]).risk_contributions == (2, 0)
    together = believing(Estimates(covariance=covariance), [0.5, 0.5])
    assert together.variance is None
    assert together.risk_contributions == (None, None)


def test_a_variance_below_zero_has_no_root_unless_it_is_rounding() -> None:
    indefinite = believing(Estimates(covariance=[[1.0, -2.0], [-2.0, 1.0]]), [0.5, 0.5])
    assert indefinite.variance == -0.5
    assert indefinite.standard_deviation is None
    hedge = believing(Estimates(covariance=[[1.0, -1.0 - 1e-15], [-1.0 - 1e-15, 1.0]]), [0.5, 0.5])
    assert hedge.variance == hedge.standard_deviation == 0


def test_weightless_options_contribute_zero_without_a_sign() -> None:
    e = believing(Estimates(mean=[1.0, -1.0]), [1.0, 0.0])
    assert str(e.mean_contributions[1]) == "0.0"


@pytest.mark.parametrize(
    ("estimates", "message"),
    [
        (Estimates(mean=[1.0]), r"estimated mean must be of shape \(2,\), got \(1,\)"),
        (Estimates(covariance=np.eye(3)), r"estimated covariance must be of shape \(2, 2\), got \(3, 3\)"),
        (Estimates(width=0.5), "width must have 1 dimension"),
    ],
)
def test_estimates_of_the_wrong_shape(estimates: Estimates, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        believing(estimates, [0.5, 0.5])


# What it looks like ---------------------------------------------------------------------------------------------------


def test_printed_with_names() -> None:
    a = cb.allocator(["search", "social", "tv"], risk_aversion=0.75, max_weight={"tv": 0.25})
    a.learner.tell_many(EQUAL, REWARDS)
    assert (
        str(a.explain())
        == repr(a.explain())
        == "\n".join(
            [
                "MCEmpirical, 3 rounds told",
                "estimated mean 1.75, variance 0.1667, standard deviation 0.4082",
                "width: standard error of the mean",
                "option  weight  mean contribution  risk contribution  count   width",
                "search    0.75                1.5               0.25      3  0.5774",
                "social    0.25               0.25           -0.08333      3  0.5774",
                "tv           0                  0                  0      3       0",
            ]
        )
    )


def test_printed_without_names_or_knowledge() -> None:
    assert str(FollowTheLeader(n_options=2).explain()) == "\n".join(
        [
            "FollowTheLeader, 0 rounds told",
            "estimated mean -, variance -, standard deviation -",
            "width: unknown",
            "option  weight  mean contribution  risk contribution  count  width",
            "     0       1                  -                  -      0      -",
            "     1       0                  -                  -      0      -",
        ]
    )
    assert str(told(cb.LinearFI(n_options=2), REWARDS[:1, :2]).explain()).startswith("LinearFI, 1 round told\n")


def test_to_dict_is_json() -> None:
    learner = cb.FixedWeights(options=["a", "b"])
    assert json.loads(json.dumps(learner.explain().to_dict(), allow_nan=False)) == {
        "learner": "FixedWeights",
        "rounds": 0,
        "mean": None,
        "variance": None,
        "standard_deviation": None,
        "width_kind": "standard error of the mean",
        "by_option": {
            "option": ["a", "b"],
            "weight": [0.5, 0.5],
            "mean_contribution": [None, None],
            "risk_contribution": [None, None],
            "count": [0, 0],
            "width": [None, None],
        },
    }
    known = told(learner).explain()
    as_data = known.to_dict()
    assert as_data["mean"] == known.mean
    assert as_data["by_option"]["risk_contribution"] == list(known.risk_contributions)
    assert [type(value) for column in as_data["by_option"].values() for value in column[:1]] == [
        str,
        float,
        float,
        float,
        int,
        float,
    ]


def test_to_frame() -> None:
    learner = cb.FixedWeights(n_options=2)
    unknown = learner.explain().to_frame()
    assert list(unknown) == ["option", "weight", "mean_contribution", "risk_contribution", "count", "width"]
    assert unknown["option"].tolist() == [0, 1]
    assert unknown[["mean_contribution", "risk_contribution", "width"]].isna().all(axis=None)
    e = told(learner).explain()
    known = e.to_frame()
    assert known["mean_contribution"].sum() == pytest.approx(e.mean)
    assert known.dtypes["count"].kind == "i"
    assert known.dtypes["width"].kind == unknown.dtypes["width"].kind == "f"


def test_to_markdown_and_latex() -> None:
    e = cb.FixedWeights(options=["a", "b"]).explain()
    assert e.to_markdown().splitlines()[2] == "| a | 0.5 | - | - | 0 | - |"
    assert r"a & 0.5 & - & - & 0 & - \\" in e.to_latex()


def test_an_explanation_stays_what_it_was() -> None:
    learner = told(cb.MCEmpirical(n_options=2, risk_aversion=0.75))
    e = learner.explain()
    before = e.to_dict()
    told(learner, REWARDS[:, 1:])
    assert e.to_dict() == before
    with pytest.raises(ValueError, match="read-only"):
        e.weights[0] = 1.0
    with pytest.raises(AttributeError):
        e.mean = 0.0  # type: ignore[misc]
