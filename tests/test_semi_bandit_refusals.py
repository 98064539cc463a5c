"""What the semi-bandit learners refuse, and how they name it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import covbandit as cb
from covbandit.errors import InvalidInput, Unsupported
from covbandit.learners.protocol.serialization import describe
from semi_bandit_play import KINDS, PAPER, RISK_AVERSION, draw, make, play


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
