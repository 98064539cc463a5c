"""Changes of a study: ρ, options retired, restored and added. Its state is its configuration and its log."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import covbandit as cb
from covbandit.errors import InvalidInput, NotFound, Unsupported

OPTIONS = ["SPY", "TLT", "GLD"]

LEARNERS: dict[str, Any] = {
    "MCEmpirical": cb.MCEmpirical(n_options=3, risk_aversion=0.5),
    "forgetting": cb.MCEmpirical(n_options=3, risk_aversion=0.5, half_life=20),
    "capped": cb.MCEmpirical(n_options=3, risk_aversion=0.5, max_weight=0.8),
    "ShrunkEmpirical": cb.ShrunkEmpirical(n_options=3, risk_aversion=0.5),
    "OGD": cb.OGD(n_options=3, risk_aversion=0.5),
    "OGD, plug-in": cb.OGD(n_options=3, risk_aversion=0.5, gradient="plugin"),
    "LinearFI": cb.LinearFI(n_options=3),
    "FixedWeights": cb.FixedWeights(n_options=3),
    "PairUCB": cb.PairUCB(n_options=3, risk_aversion=0.5, min_weight=0.2),
    "MCUCB": cb.MCUCB(n_options=3, risk_aversion=0.5, min_weight=0.2),
    "MCUCBGamma": cb.MCUCBGamma(n_options=3, risk_aversion=0.5, min_weight=0.2),
    "OLSUCBC": cb.OLSUCBC(n_options=3, min_weight=0.2),
    "MCETE": cb.MCETE(n_options=3, risk_aversion=0.5),
    "OGDETE": cb.OGDETE(n_options=3, risk_aversion=0.5),
    "LinearFB": cb.LinearFB(n_options=3),
    "GradientTS": cb.GradientTS(n_options=3, risk_aversion=0.5, seed=2),
}

MEANS = {"SPY": 0.3, "TLT": 0.2, "GLD": 0.1, "NEW": 2.0}


def play(study: cb.Study, rounds: int, seed: int) -> list[cb.Round]:
    """Ask and tell; every option in use has its own mean."""
    generator = np.random.default_rng(seed)
    played = []
    for _ in range(rounds):
        asked = study.ask()
        reward = {name: float(MEANS[name] + 0.5 * generator.normal()) for name in study.options}
        outcome: Any = reward
        if study.feedback == "chosen":
            outcome = {name: value for name, value in reward.items() if asked.weights[name] > 0}
        elif study.feedback == "total":
            outcome = sum(asked.weights[name] * value for name, value in reward.items())
        played.append(study.tell(asked.id, outcome))
    return played


def started(store: str, learner: str, rounds: int = 25) -> cb.Study:
    study = cb.Study.create("funds", OPTIONS, LEARNERS[learner], "per_unit", store)
    play(study, rounds, seed=1)
    return study


@pytest.fixture
def store(tmp_path: Any) -> str:
    return f"sqlite:///{tmp_path / 's.db'}"


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_retired_option_gets_nothing_and_keeps_its_statistics(store: str, learner: str) -> None:
    study = started(store, learner)
    counts = study.learner.counts
    change = study.retire("TLT")
    assert (change.kind, change.detail) == ("retired", {"option": "TLT"})
    assert study.options == ("SPY", "GLD")
    assert study.retired == ("TLT",)
    assert all(each.weights["TLT"] == 0.0 for each in play(study, 25, seed=2))
    if learner != "forgetting":
        assert study.learner.counts[1] == counts[1]
    assert study.verify().exact
    again = cb.Study.open("funds", store)
    assert again.ask(client="x").weights == study.ask(client="x").weights
    assert study.explain().weights[1] == 0.0
    study.restore("TLT")
    assert study.options == tuple(OPTIONS)
    play(study, 10, seed=3)
    assert study.verify().exact


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_new_option_starts_unseen_and_is_found(store: str, learner: str) -> None:
    study = started(store, learner)
    study.add_option("NEW")
    assert study.options == (*OPTIONS, "NEW")
    assert study.learner.counts[3] == 0
    assert study.verify().exact
    found = play(study, 150, seed=4)
    assert study.verify().exact
    if learner == "FixedWeights":
        return
    seen = [each for each in found if each.weights["NEW"] > 0]
    assert seen  # by the learner's own rule
    if study.feedback != "total":  # by far the best option is soon known to be so
        assert np.mean([each.weights["NEW"] for each in found[-20:]]) > 0.5


@pytest.mark.parametrize("learner", ["MCEmpirical", "PairUCB", "GradientTS", "MCETE"])
def test_another_risk_aversion_is_as_if_it_had_been_so_from_the_beginning(store: str, learner: str) -> None:
    study = started(store, learner)
    change = study.set_risk_aversion(3.0)
    assert change.detail == {"risk_aversion": 3.0, "before": 0.5}
    fresh = type(LEARNERS[learner])(**{**LEARNERS[learner].config(), "risk_aversion": 3.0})
    for told in study.rounds():
        weights = np.array(list((told.played or {}).values()))
        seen: Any = told.outcome
        if study.feedback != "total":
            seen = [seen.get(name, np.nan) for name in OPTIONS]
        fresh.tell(weights, seen)
    assert list(study.ask().weights.values()) == fresh.ask().tolist()
    assert study.risk_aversion == 3.0
    assert study.verify().exact


def test_changes_are_logged_in_order(store_url: str) -> None:
    study = cb.Study.create("funds", OPTIONS, LEARNERS["PairUCB"], "per_unit", store_url)
    play(study, 5, seed=1)
    study.set_risk_aversion(1.0)
    study.retire("GLD")
    study.add_option("NEW")
    play(study, 5, seed=1)
    study.restore("GLD")
    play(study, 5, seed=1)
    assert [each.kind for each in study.changes()] == ["created", "risk_aversion", "retired", "added", "restored"]
    assert study.verify().exact
    assert study.options == ("SPY", "TLT", "GLD", "NEW")


def test_others_see_a_change_at_once(store_url: str) -> None:
    study = cb.Study.create("funds", OPTIONS, LEARNERS["MCEmpirical"], "per_unit", store_url)
    play(study, 5, seed=1)
    other = cb.Study.open("funds", store_url)
    assert len(other.explain().options) == 3
    study.add_option("NEW")
    for each in (study, other):
        assert each.explain().options == each.estimates().options == (*OPTIONS, "NEW")
        assert each.frontier().known
    study.retire("SPY")
    for each in (study, other):
        assert each.estimates().in_use == (False, True, True, True)
        assert each.explain().weights[0] == 0.0


@pytest.mark.parametrize("learner", ["MCEmpirical", "PairUCB", "GradientTS"])
def test_rounds_asked_before_a_change_are_told_as_they_were_played(store: str, learner: str) -> None:
    study = started(store, learner, rounds=4)
    asked = study.ask(client="slow")
    study.retire("TLT")
    study.add_option("NEW")
    assert "NEW" not in study.round(asked.id).weights
    outcome: Any = {name: 0.5 for name, weight in asked.weights.items() if weight > 0}
    if study.feedback == "all":
        outcome = {"SPY": 0.5, "GLD": 0.1, **outcome}
    elif study.feedback == "total":
        outcome = 0.5
    told = study.tell(asked.id, outcome)
    assert told.status == "told"
    play(study, 10, seed=5)
    study.amend(asked.id, 0.25 if study.feedback == "total" else dict.fromkeys(outcome, 0.25))
    assert study.verify().exact


def test_full_information_history_of_before_an_option_was_known(store: str) -> None:
    study = cb.Study.create("funds", OPTIONS, LEARNERS["MCEmpirical"], "per_unit", store)
    told = study.tell_outside({"SPY": 0.5, "TLT": 0.5}, {"SPY": 0.1, "TLT": 0.2, "GLD": None})
    assert told.outcome == {"SPY": 0.1, "TLT": 0.2}
    with pytest.raises(InvalidInput, match="missing for option 'GLD'"):
        study.tell_outside({"SPY": 0.5, "TLT": 0.5}, {"SPY": 0.1, "TLT": 0.2})
    with pytest.raises(InvalidInput, match="outcome of option 'TLT' must be a number"):
        study.tell_outside({"SPY": 0.5, "TLT": 0.5}, {"SPY": 0.1, "TLT": None, "GLD": 0.1})
    play(study, 10, seed=1)
    assert study.verify().exact


def test_changes_that_cannot_be(store_url: str) -> None:
    study = cb.Study.create("funds", OPTIONS, LEARNERS["MCEmpirical"], "per_unit", store_url)
    before = study.summary()
    with pytest.raises(NotFound, match="no option 'XLE'; in use are 'SPY', 'TLT', 'GLD'"):
        study.retire("XLE")
    with pytest.raises(InvalidInput, match="is in use"):
        study.restore("SPY")
    with pytest.raises(InvalidInput, match="there is an option 'SPY' already"):
        study.add_option("SPY")
    for name in ("", 7, " x", "line\nbreak"):
        with pytest.raises(InvalidInput):
            study.add_option(name)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="must not be negative"):
        study.set_risk_aversion(-1.0)
    assert study.summary() == before
    study.retire("SPY")
    with pytest.raises(InvalidInput, match="retired already"):
        study.retire("SPY")
    with pytest.raises(InvalidInput, match="there, but retired; restore it"):
        study.add_option("SPY")
    study.retire("TLT")
    with pytest.raises(InvalidInput, match="the only one in use"):
        study.retire("GLD")
    linear = cb.Study.create("linear", OPTIONS, LEARNERS["LinearFI"], "per_unit", store_url)
    with pytest.raises(Unsupported, match="has no risk_aversion"):
        linear.set_risk_aversion(1.0)


def test_arguments_given_per_option_are_extended(store: str) -> None:
    caps = cb.MCEmpirical(n_options=3, risk_aversion=0.5, max_weight=[0.5, 0.6, 0.7], hold=([1 / 3] * 3, 5))
    study = cb.Study.create("funds", OPTIONS, caps, "per_unit", store)
    study.add_option("NEW")
    assert study.learner.max_weight is not None
    assert study.learner.max_weight.tolist() == [0.5, 0.6, 0.7, 1.0]
    assert study.ask().weights["NEW"] == 0.0  # still held
    same = cb.Study.create("same", OPTIONS, LEARNERS["capped"], "per_unit", store)
    same.add_option("NEW")
    assert same.learner.max_weight is not None
    assert same.learner.max_weight.tolist() == [0.8] * 4
    design = np.vstack([np.eye(3), (np.eye(3) + np.roll(np.eye(3), 1, axis=1)) / 2])
    own = cb.Study.create("own", OPTIONS, cb.MCETE(n_options=3, risk_aversion=0.5, design=design), "per_unit", store)
    with pytest.raises(Unsupported, match="design is given option by option"):
        own.add_option("NEW")
