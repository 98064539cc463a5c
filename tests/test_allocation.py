"""The allocator: weights and outcomes by name, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import covbandit as cb
from covbandit.errors import Infeasible, InvalidInput, StateFileError, Unsupported

NAMES = ("search", "social", "video")


def rounds(n: int = 12) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.random.default_rng(5).standard_normal((n, 3)) * [1.0, 0.5, 0.8] + [0.4, 0.2, 0.3]


def told(n: int = 12, **more: Any) -> cb.Allocator:
    a = cb.allocator(NAMES, risk_aversion=0.4, **more)
    for outcome in rounds(n):
        a.tell(a.ask(), dict(zip(NAMES, outcome, strict=True)))
    return a


# Which learner --------------------------------------------------------------------------------------------------------


def test_the_recommended_learner_is_chosen() -> None:
    a = cb.allocator(options=list(NAMES), feedback="all", risk_aversion=0.4, seed=3)
    assert type(a.learner) is cb.ShrunkEmpirical
    assert a.learner.risk_aversion == 0.4
    assert a.learner.seed == 3
    assert a.options == a.learner.options == NAMES
    assert a.rounds_told == 0


@pytest.mark.parametrize(
    ("max_weight", "caps"),
    [
        (0.5, [0.5, 0.5, 0.5]),
        ([0.5, 0.4, 2.0], [0.5, 0.4, 1.0]),
        ({"video": 0.2}, [1.0, 1.0, 0.2]),
        (pd.Series({"video": 0.2, "search": 0.7}), [0.7, 1.0, 0.2]),
    ],
)
def test_caps_need_the_learner_that_knows_them(max_weight: Any, caps: list[float]) -> None:
    a = told(max_weight=max_weight)
    assert type(a.learner) is cb.MCEmpirical
    assert_array_equal(a.learner.max_weight, caps)
    assert (np.array(list(a.ask().values())) <= np.array(caps) + 1e-12).all()


@pytest.mark.parametrize("max_weight", [1.0, {}, {"video": 1.0}, [1, 1, 1]])
def test_caps_that_cap_nothing_are_none(max_weight: Any) -> None:
    assert type(cb.allocator(NAMES, risk_aversion=0.4, max_weight=max_weight).learner) is cb.ShrunkEmpirical


@pytest.mark.parametrize(
    ("max_weight", "error", "message"),
    [
        (0.3, Infeasible, r"max_weight sums to 0\.9 over 3 options"),
        ({"video": -0.1}, InvalidInput, r"option 'video' \(index 2\): max_weight -0\.1 is negative"),
        ({"vidoe": 0.2}, InvalidInput, r"max_weight: unknown option 'vidoe'; known are 'search', 'social', 'video'"),
        ({"video": "low"}, InvalidInput, r"max_weight of option 'video' must be a number, got 'low'"),
        ([0.5, 0.5], InvalidInput, r"max_weight must have 3 entries"),
        ("low", InvalidInput, r"max_weight must be a number"),
    ],
)
def test_caps_that_cannot_be_used(max_weight: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        cb.allocator(NAMES, risk_aversion=0.4, max_weight=max_weight)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"feedback": "some"}, InvalidInput, 'feedback must be "all", "chosen" or "total", got \'some\''),
        ({"options": []}, InvalidInput, r"at least one option, got \[\]"),
        ({"options": None}, InvalidInput, "at least one option, got None"),
        ({"options": "search"}, InvalidInput, "got the single string 'search'"),
        ({"options": ["a", "a"]}, InvalidInput, "option 'a' is named twice"),
        ({"options": ["a", 1]}, InvalidInput, "non-empty strings, got 1"),
        ({"risk_aversion": -1}, InvalidInput, "risk_aversion must not be negative"),
        ({"min_weight": 0}, InvalidInput, r"min_weight must be above 0 and at most 1, got 0\.0"),
        ({"min_weight": "x"}, InvalidInput, "min_weight must be a number, got 'x'"),
        (
            {"min_weight": 0.1, "max_weight": {"video": 0.2}},
            Unsupported,
            r"min_weight=0\.1 together with max_weight=\{'video': 0\.2\} is not supported; leave one of them out",
        ),
        (
            {"feedback": "chosen", "max_weight": 0.6},
            Unsupported,
            r'max_weight=0\.6 is not supported with feedback="chosen"; leave it out',
        ),
        (
            {"feedback": "total", "max_weight": {"video": 0.2}},
            Unsupported,
            r"max_weight=\{'video': 0\.2\} is not supported with feedback=\"total\"; leave it out, or",
        ),
        (
            {"feedback": "total", "min_weight": 0.1},
            Unsupported,
            r'min_weight=0\.1 is not supported with feedback="total"; leave it out, or .* feedback="all"',
        ),
        ({"feedback": "total", "seed": -1}, InvalidInput, "seed must be at least 0"),
        ({"seed": -1}, InvalidInput, "seed must be at least 0"),
        ({"hold": 3}, InvalidInput, r"hold must be a pair \(weights, rounds\), got 3"),
        ({"hold": ({"search": 0.5}, 3)}, InvalidInput, r"held weights sum to 0\.5, not to one"),
        ({"hold": ({"TV": 1.0}, 3)}, InvalidInput, "held weight: unknown option 'TV'; known are 'search'"),
        ({"hold": ({"search": 1.0}, -1)}, InvalidInput, "rounds to hold must be at least 0"),
    ],
)
def test_arguments_that_cannot_be_used(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    make: Any = cb.allocator
    usual = {"options": NAMES, "risk_aversion": 0.4}
    with pytest.raises(error, match=message):
        make(**(usual | arguments))


def test_risk_aversion_is_required() -> None:
    with pytest.raises(TypeError, match="risk_aversion"):
        cb.allocator(NAMES)  # type: ignore[call-arg]


# Asking and telling ---------------------------------------------------------------------------------------------------


def test_ask_gives_weights_by_name() -> None:
    a = told()
    weights = a.ask()
    assert tuple(weights) == NAMES
    assert all(type(weight) is float for weight in weights.values())
    assert sum(weights.values()) == pytest.approx(1, abs=1e-12)
    assert a.ask() == weights
    assert_array_equal(list(weights.values()), a.learner.ask())


def test_names_and_order_teach_the_same_as_the_learner_itself() -> None:
    by_name, in_order = cb.allocator(NAMES, risk_aversion=0.4), cb.allocator(NAMES, risk_aversion=0.4)
    by_series: Any = cb.allocator(NAMES, risk_aversion=0.4)
    alone = cb.ShrunkEmpirical(n_options=3, risk_aversion=0.4)
    for y in rounds():
        w = alone.ask()
        alone.tell(w, y)
        in_order.tell(w.tolist(), y)
        played = {name: weight for name, weight in zip(NAMES[::-1], w[::-1], strict=True) if weight > 0}
        by_name.tell(played, dict(zip(NAMES, y, strict=True)))
        by_series.tell(pd.Series(w, NAMES)[::-1], pd.Series(y, NAMES)[::-1])
        for a in (in_order, by_name, by_series):
            assert_array_equal(list(a.ask().values()), alone.ask())
    assert by_name.rounds_told == len(rounds())


def test_hold_plays_the_status_quo_by_name() -> None:
    a = cb.allocator(NAMES, risk_aversion=0.4, hold=({"video": 0.7, "search": 0.3}, 2))
    status_quo = {"search": 0.3, "social": 0.0, "video": 0.7}
    assert a.ask() == a.ask(outstanding=1) == status_quo
    assert a.ask(outstanding=2) != status_quo
    for y in rounds(2):
        assert a.ask() == status_quo
        a.tell(a.ask(), y)
    assert a.ask() != status_quo
    assert cb.allocator(NAMES, risk_aversion=0.4, hold=([0.3, 0, 0.7], 2)).ask() == status_quo


def test_outstanding_rounds_are_counted() -> None:
    with pytest.raises(InvalidInput, match="outstanding must be at least 0"):
        told().ask(outstanding=-1)


FULL = {"search": 1.0, "social": 0.0, "video": 0.5}
ALL_IN = {"search": 1.0}


@pytest.mark.parametrize(
    ("weights", "outcome", "message"),
    [
        ({"serch": 1.0}, FULL, r"weight: unknown option 'serch'; known are 'search', 'social', 'video'"),
        ({"search": 0.5}, FULL, r"weights sum to 0\.5, not to one"),
        ({"search": 1.5, "video": -0.5}, FULL, r"option 'video' \(index 2\): weight -0\.5 is negative"),
        ({"search": None}, FULL, r"weight of option 'search' must be a number, got None"),
        ({}, FULL, r"weights sum to 0\.0"),
        ([1.0, 0.0], FULL, r"weight must have 3 entries, one per option, got 2"),
        (pd.Series([1.0, 0.0, 0.0]), FULL, r"weight: unknown option 0, 1, 2; known are 'search'"),
        (ALL_IN, {"search": 1.0}, r"outcome is missing for option 'social', 'video'; every option needs one"),
        (ALL_IN, {"search": 1.0, "social": 0.0, "vid": 1.0}, r"outcome: unknown option 'vid'; known are 'search', 'so"),
        (ALL_IN, FULL | {"TV": 1.0}, r"outcome: unknown option 'TV'"),
        (ALL_IN, FULL | {"video": np.nan}, r"outcome of option 'video' must be finite, got nan"),
        (ALL_IN, FULL | {"video": "ok"}, r"outcome of option 'video' must be a number, got 'ok'"),
        (ALL_IN, FULL | {"video": 1e200}, r"option 'video' \(index 2\): reward 1e\+200 is beyond"),
        (ALL_IN, [1.0, np.nan, 0.5], r"option 'social' \(index 1\): reward is nan"),
        (ALL_IN, [1.0, 0.5], r"reward must have 3 entries"),
        (ALL_IN, 1.0, r"observation must be 3 rewards, one per option"),
        (ALL_IN, pd.Series([1.0] * 3, ["search", "video", "video"]), r"outcome: an option is named twice"),
    ],
)
def test_a_refused_tell_changes_nothing(weights: Any, outcome: Any, message: str, tmp_path: Path) -> None:
    a = told()
    a.save(tmp_path / "before")
    with pytest.raises(InvalidInput, match=message):
        a.tell(weights, outcome)
    a.save(tmp_path / "after")
    assert (tmp_path / "before").read_text(encoding="utf-8") == (tmp_path / "after").read_text(encoding="utf-8")


# The chosen options only ----------------------------------------------------------------------------------------------


def told_chosen(n: int = 12, **more: Any) -> cb.Allocator:
    a = cb.allocator(NAMES, "chosen", risk_aversion=0.4, **({"min_weight": 0.4} | more))
    for y in rounds(n):
        outcome = dict(zip(NAMES, y, strict=True))
        weights = a.ask()
        a.tell(weights, {name: outcome[name] for name in NAMES if weights[name] > 0})
    return a


def test_the_recommended_learner_for_chosen_feedback() -> None:
    a = cb.allocator(NAMES, feedback="chosen", risk_aversion=0.4, min_weight=0.2, seed=3)
    assert type(a.learner) is cb.PairUCB
    assert (a.learner.risk_aversion, a.learner.min_weight, a.learner.seed) == (0.4, 0.2, 3)
    assert cb.allocator(NAMES, feedback="chosen", risk_aversion=0.4).learner.min_weight is None


def test_min_weight_with_full_feedback() -> None:
    a = told(min_weight=0.4)
    assert type(a.learner) is cb.ShrunkEmpirical
    assert a.learner.min_weight == 0.4
    assert all(weight == 0 or weight >= 0.4 - 1e-12 for weight in a.ask().values())


def test_weights_by_name_and_outcomes_of_the_chosen() -> None:
    a = told_chosen(40)
    weights = a.ask()
    assert tuple(weights) == NAMES
    assert sum(weights.values()) == pytest.approx(1, abs=1e-12)
    assert all(type(weight) is float and (weight == 0 or weight >= 0.4 - 1e-12) for weight in weights.values())
    assert a.rounds_told == 40
    assert 40 <= a.learner.counts.sum() <= 80  # one or two options a round
    assert a.learner.counts.min() >= 1


def test_chosen_by_name_in_order_and_by_the_learner_itself_teach_the_same() -> None:
    by_name = cb.allocator(NAMES, "chosen", risk_aversion=0.4, min_weight=0.4)
    in_order = cb.allocator(NAMES, "chosen", risk_aversion=0.4, min_weight=0.4)
    by_series: Any = cb.allocator(NAMES, "chosen", risk_aversion=0.4, min_weight=0.4)
    alone = cb.PairUCB(n_options=3, risk_aversion=0.4, min_weight=0.4)
    for y in rounds(30):
        w = alone.ask()
        seen = np.where(w > 0, y, np.nan)
        played = {name: weight for name, weight in zip(NAMES, w, strict=True) if weight > 0}
        alone.tell(w, seen)
        in_order.tell(w.tolist(), seen)
        by_name.tell(played, {name: y[NAMES.index(name)] for name in reversed(played)})
        by_series.tell(pd.Series(w, NAMES), pd.Series(y, NAMES)[w > 0])
        for a in (in_order, by_name, by_series):
            assert_array_equal(list(a.ask().values()), alone.ask())


PAIR = {"search": 0.5, "video": 0.5}
SEEN = {"search": 1.0, "video": 0.5}


@pytest.mark.parametrize(
    ("weights", "outcome", "message"),
    [
        (PAIR, {"search": 1.0}, r"option 'video' \(index 2\): reward is missing although its weight is 0\.5"),
        (PAIR, {}, r"option 'search' \(index 0\): reward is missing although its weight is 0\.5"),
        (PAIR, FULL, r"option 'social' \(index 1\): reward 0\.0 given although its weight is 0"),
        (ALL_IN, SEEN, r"option 'video' \(index 2\): reward 0\.5 given although its weight is 0"),
        (PAIR, SEEN | {"TV": 1.0}, r"outcome: unknown option 'TV'; known are 'search', 'social', 'video'"),
        (PAIR, SEEN | {"video": np.nan}, r"outcome of option 'video' must be finite, got nan"),
        (PAIR, SEEN | {"video": None}, r"outcome of option 'video' must be a number, got None"),
        (PAIR, SEEN | {"video": 1e200}, r"option 'video' \(index 2\): reward 1e\+200 is beyond"),
        (PAIR, [1.0, np.nan, np.nan], r"option 'video' \(index 2\): reward is missing"),
        (PAIR, [1.0, 0.0, 0.5], r"option 'social' \(index 1\): reward 0\.0 given although its weight is 0"),
        (PAIR, [1.0, 0.5], r"reward must have 3 entries"),
        (PAIR, 1.0, r"observation must be 3 rewards"),
        ({"search": 0.5}, {"search": 1.0}, r"weights sum to 0\.5, not to one"),
        ({"serch": 1.0}, {"search": 1.0}, r"weight: unknown option 'serch'"),
    ],
)
def test_a_refused_tell_of_the_chosen_changes_nothing(weights: Any, outcome: Any, message: str, tmp_path: Path) -> None:
    a = told_chosen()
    a.save(tmp_path / "before")
    proposal = a.ask()
    with pytest.raises(InvalidInput, match=message):
        a.tell(weights, outcome)
    a.save(tmp_path / "after")
    assert (tmp_path / "before").read_text(encoding="utf-8") == (tmp_path / "after").read_text(encoding="utf-8")
    assert a.ask() == proposal


def test_a_loaded_allocator_of_the_chosen_goes_on_bit_by_bit(tmp_path: Path) -> None:
    a = told_chosen()
    a.save(tmp_path / "a.json")
    b = cb.Allocator.load(tmp_path / "a.json")
    for y in rounds():
        weights = b.ask()
        assert weights == a.ask()
        outcome = {name: float(y[i]) for i, name in enumerate(NAMES) if weights[name] > 0}
        a.tell(weights, outcome)
        b.tell(weights, outcome)


# The total only -------------------------------------------------------------------------------------------------------


def told_total(n: int = 60, **more: Any) -> cb.Allocator:
    a = cb.allocator(NAMES, "total", risk_aversion=0.4, **more)
    for y in rounds(n):
        weights = a.ask()
        a.tell(weights, float(y @ list(weights.values())))
    return a


def test_the_recommended_learner_for_totals() -> None:
    a = cb.allocator(NAMES, feedback="total", risk_aversion=0.4, seed=3)
    assert type(a.learner) is cb.GradientTS
    assert (a.learner.risk_aversion, a.learner.seed, a.options) == (0.4, 3, NAMES)
    assert type(cb.allocator(NAMES, "total", risk_aversion=0.4, max_weight=1.0).learner) is cb.GradientTS


def test_many_options_with_totals_need_the_learner_that_takes_them() -> None:
    def learner(d: int) -> cb.Learner:
        return cb.allocator([f"fund {i}" for i in range(d)], "total", risk_aversion=0.4, seed=3).learner

    assert type(learner(64)) is cb.GradientTS
    more = learner(65)
    assert type(more) is cb.MCETE
    assert (more.n_options, more.risk_aversion, more.seed) == (65, 0.4, 3)
    with pytest.raises(Unsupported, match="at most 64 options"):
        cb.GradientTS(n_options=65, risk_aversion=0.4)


def test_totals_by_name_in_order_and_by_the_learner_itself_teach_the_same() -> None:
    by_name = cb.allocator(NAMES, "total", risk_aversion=0.4, seed=2)
    in_order = cb.allocator(NAMES, "total", risk_aversion=0.4, seed=2)
    alone = cb.GradientTS(n_options=3, risk_aversion=0.4, seed=2)
    for y in rounds(60):
        w = alone.ask()
        total = float(w @ y)
        alone.tell(w, total)
        in_order.tell(w.tolist(), total)
        by_name.tell({name: weight for name, weight in zip(NAMES[::-1], w[::-1], strict=True) if weight > 0}, total)
        for a in (in_order, by_name):
            weights = a.ask()
            assert tuple(weights) == NAMES
            assert_array_equal(list(weights.values()), alone.ask())
    assert by_name.rounds_told == 60


def test_the_seed_decides_the_weights_that_totals_teach() -> None:
    assert told_total(seed=1).ask() == told_total(seed=1).ask()
    assert told_total(seed=1).ask() != told_total(seed=2).ask()


def test_hold_with_totals() -> None:
    a = told_total(2, hold=({"video": 0.7, "search": 0.3}, 3))
    assert a.ask() == {"search": 0.3, "social": 0.0, "video": 0.7}
    assert a.ask(outstanding=1) != a.ask()


@pytest.mark.parametrize(
    ("weights", "outcome", "message"),
    [
        (PAIR, SEEN, r"outcome must be one total, not a number per option \(got dict\)"),
        (PAIR, {"total": 1.0}, r"not a number per option \(got dict\): tell what the weights earned together"),
        (PAIR, pd.Series(SEEN), r"one total, not a number per option \(got Series\)"),
        (PAIR, [1.0, 0.0, 0.5], r"one total, not a number per option \(got list\)"),
        (PAIR, [1.0, [0.5]], r"one total, not a number per option \(got list\)"),
        (PAIR, np.ones(3), r"one total, not a number per option \(got ndarray\)"),
        (PAIR, np.nan, r"observation must be finite, got nan"),
        (PAIR, None, r"observation must be a number, got None"),
        (PAIR, "high", r"observation must be a number, got 'high'"),
        (PAIR, 1e200, r"reward 1e\+200 is beyond"),
        ({"search": 0.5}, 1.0, r"weights sum to 0\.5, not to one"),
        ({"serch": 1.0}, 1.0, r"weight: unknown option 'serch'"),
    ],
)
def test_a_refused_tell_of_a_total_changes_nothing(weights: Any, outcome: Any, message: str, tmp_path: Path) -> None:
    a = told_total()
    a.save(tmp_path / "before")
    with pytest.raises(InvalidInput, match=message):
        a.tell(weights, outcome)
    a.save(tmp_path / "after")
    assert (tmp_path / "before").read_text(encoding="utf-8") == (tmp_path / "after").read_text(encoding="utf-8")


@pytest.mark.parametrize("total", [1, np.float64(1.0), np.array(1.0), True])
def test_a_total_is_any_number(total: Any) -> None:
    a = told_total(4)
    a.tell(PAIR, total)
    assert a.rounds_told == 5


def test_a_loaded_allocator_of_totals_goes_on_bit_by_bit(tmp_path: Path) -> None:
    a = told_total(seed=5)
    a.save(tmp_path / "a.json")
    b = cb.Allocator.load(tmp_path / "a.json")
    for total in (0.3, -1.0, 0.7):
        weights = b.ask()
        assert weights == a.ask()
        a.tell(weights, total)
        b.tell(weights, total)
    assert b.ask() == a.ask()


# Saving and wrapping --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("more", [{}, {"max_weight": {"video": 0.2}}, {"hold": ({"search": 1.0}, 20), "seed": 4}])
def test_a_loaded_allocator_goes_on_bit_by_bit(more: dict[str, Any], tmp_path: Path) -> None:
    a = told(**more)
    a.save(tmp_path / "a.json")
    b = cb.Allocator.load(tmp_path / "a.json")
    assert type(b) is cb.Allocator
    assert (b.options, b.rounds_told, type(b.learner)) == (a.options, a.rounds_told, type(a.learner))
    for y in rounds():
        assert b.ask() == a.ask()
        a.tell(a.ask(), y)
        b.tell(b.ask(), y)


def test_a_learner_without_names_is_refused(tmp_path: Path) -> None:
    learner = cb.MCEmpirical(n_options=3, risk_aversion=0.4)
    learner.save(tmp_path / "nameless.json")
    with pytest.raises(InvalidInput, match=r"this MCEmpirical has none: build it with options="):
        cb.Allocator(learner)
    with pytest.raises(InvalidInput, match=r"this MCEmpirical has none"):
        cb.Allocator.load(tmp_path / "nameless.json")


def test_files_that_are_not_there_or_not_ours(tmp_path: Path) -> None:
    with pytest.raises(StateFileError, match="cannot read"):
        cb.Allocator.load(tmp_path / "nothing.json")
    (tmp_path / "other.json").write_text("{}", encoding="utf-8")
    with pytest.raises(StateFileError, match="no learner saved by covbandit"):
        cb.Allocator.load(tmp_path / "other.json")


def test_any_learner_with_names_can_be_wrapped() -> None:
    a = cb.Allocator(cb.OGD(n_options=2, risk_aversion=0.1, options=["a", "b"]))
    a.tell({"a": 1.0}, {"b": 0.1, "a": 0.3})
    assert a.rounds_told == 1
    assert tuple(a.ask()) == ("a", "b")
    a = cb.Allocator(cb.MCUCB(n_options=2, risk_aversion=0.1, options=["a", "b"]))
    a.tell({"a": 1.0}, {"a": 0.3})
    assert a.learner.counts.tolist() == [1, 0]
    a = cb.Allocator(cb.MCETE(n_options=2, risk_aversion=0.1, options=["a", "b"]))
    a.tell({"a": 1.0}, 0.3)
    assert a.learner.counts.tolist() == [1, 0]


def test_repr_names_options_and_learner() -> None:
    text = repr(told(2))
    assert text.startswith("Allocator(['search', 'social', 'video'], ShrunkEmpirical(n_options=3, risk_aversion=0.4")
    assert text.endswith("rounds_told=2)")
