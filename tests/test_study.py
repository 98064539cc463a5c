"""Studies: the life of a round, on both kinds of stores."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import time
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import text

import covbandit as cb
from covbandit.errors import Conflict, InvalidInput, NotFound, StateFileError, StoreSchemaError
from covbandit.studies import Store, configuration, list_studies, transactions

OPTIONS = ["SPY", "TLT", "GLD"]


def empirical(**more: Any) -> cb.Learner:
    return cb.MCEmpirical(n_options=3, risk_aversion=0.5, **more)


def funds(url: str, learner: Any = None, **more: Any) -> cb.Study:
    return cb.Study.create("funds", OPTIONS, learner or empirical(), "per_unit", url, **more)


def rewards(n: int, d: int = 3, seed: int = 5) -> Any:
    return np.random.default_rng(seed).normal(0.2, 1.0, (n, d))


# Making and finding ---------------------------------------------------------------------------------------------------


def test_a_study_is_found_again_with_everything_told(store_url: str) -> None:
    study = funds(store_url)
    study.tell(study.ask().id, [1.0, 0.5, 0.0])
    again = cb.Study.open("funds", store_url)
    assert again.ask(client="later").weights == study.ask(client="later").weights
    assert again.options == tuple(OPTIONS)
    assert (again.feedback, again.outcome, again.risk_aversion) == ("all", "per_unit", 0.5)
    assert again.lease == timedelta(days=30)
    assert [each.name for each in list_studies(store_url)] == ["funds"]
    assert again.summary().told == 1


def test_a_name_is_given_once(store_url: str) -> None:
    funds(store_url)
    with pytest.raises(Conflict, match="there is a study 'funds' already"):
        funds(store_url)


def test_what_is_not_there_is_named_with_what_is(store_url: str) -> None:
    funds(store_url)
    with pytest.raises(NotFound, match=r"no study 'bonds' in .*; there are: 'funds'"):
        cb.Study.open("bonds", store_url)
    with pytest.raises(NotFound, match="has no round 7"):
        cb.Study.open("funds", store_url).tell(7, [0.0, 0.0, 0.0])


def test_names_that_nothing_can_have_are_not_found(store_url: str) -> None:
    funds(store_url)
    for name in ("a\x00b", "\ud800", "", 7, None):
        with pytest.raises(NotFound, match="there is no study"):
            cb.Study.open(name, store_url)  # type: ignore[arg-type]


def test_opening_makes_no_store(tmp_path: Path) -> None:
    missing = tmp_path / "none.db"
    with pytest.raises(NotFound, match="there is no store"):
        cb.Study.open("funds", f"sqlite:///{missing}")
    assert not missing.exists()


@pytest.mark.parametrize("name", ["", " funds", "a/b", "..", "tab\there", "x" * 201, 7])
def test_names_fit_to_be_shown_and_addressed(tmp_path: Path, name: Any) -> None:
    with pytest.raises(InvalidInput, match="study name"):
        cb.Study.create(name, OPTIONS, empirical(), "per_unit", tmp_path / "s.db")
    assert not (tmp_path / "s.db").exists()


@pytest.mark.parametrize(
    ("store", "said"),
    [
        ("sqlite://", "in memory"),
        ("sqlite:///:memory:", "in memory"),
        ("mysql://localhost/x", "not supported"),
        ("", "must be a URL"),
        (7, "must be a URL"),
        ("sqlite:////nowhere/at/all/s.db", "does not exist"),
        ("sqlite:///nul\0.db", "cannot contain a null byte"),
        ("half \ud800.db", "cannot contain a character that cannot be encoded"),
    ],
)
def test_stores_that_cannot_be(store: Any, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        cb.Study.create("funds", OPTIONS, empirical(), "per_unit", store)


def test_what_a_study_needs_to_know(tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    told = empirical()
    told.tell([1.0, 0.0, 0.0], [1.0, 2.0, 3.0])
    named = cb.MCEmpirical(n_options=3, risk_aversion=0.5, options=["a", "b", "c"])
    refused: list[tuple[Any, Any, Any, str]] = [
        (OPTIONS, empirical(), "dollars", 'outcome must be "per_unit"'),
        (OPTIONS[:2], empirical(), "per_unit", "has 3 options, but 2 are named"),
        (OPTIONS, told, "per_unit", "told 1 rounds already"),
        (OPTIONS, named, "per_unit", "the learner's options are"),
        (["SPY", "SPY", "GLD"], empirical(), "per_unit", "named twice"),
        (OPTIONS, "PairUCB", "per_unit", "learner must be"),
        (OPTIONS, {"class": "Nothing"}, "per_unit", "unknown learner class"),
        (OPTIONS, {"class": "SemiBanditLearner"}, "per_unit", "unknown learner class"),
        (OPTIONS, {"class": "PairUCB", "rho": 1}, "per_unit", "PairUCB has no argument 'rho'; it takes bonus, hold"),
        (OPTIONS, {"class": "PairUCB"}, "per_unit", "PairUCB needs 'risk_aversion'"),
        (OPTIONS, {"feedback": "all", "risk": 1}, "per_unit", "the default learner has no argument 'risk'"),
        (OPTIONS, {"class": "OGD", "risk_aversion": 1, "n_options": 3}, "per_unit", "leave n_options out"),
        (OPTIONS, {"risk_aversion": 1}, "per_unit", "either"),
        (OPTIONS, {"class": "PairUCB", "risk_aversion": -1}, "per_unit", "must not be negative"),
    ]
    for options, learner, outcome, said in refused:
        with pytest.raises(InvalidInput, match=said):
            cb.Study.create("funds", options, learner, outcome, store)
    assert not store.exists()


def test_learners_may_be_described(store_url: str) -> None:
    recommended = {"feedback": "chosen", "risk_aversion": 0.4, "min_weight": 0.2}
    study = cb.Study.create("bets", OPTIONS, recommended, "amount", store_url)
    assert study.summary().learner_class == "PairUCB"
    assert study.learner.min_weight == 0.2


# Ask ------------------------------------------------------------------------------------------------------------------


def test_a_clients_round_is_returned_until_it_is_told(store_url: str) -> None:
    study = funds(store_url)
    first = study.ask(client="desk")
    assert first.status == "open"
    assert sum(first.weights.values()) == pytest.approx(1)
    assert study.ask(client="desk") == first
    assert study.ask(client="other").id != first.id
    study.tell(first.id, [0.1, 0.2, 0.3])
    assert study.ask(client="desk").id not in (first.id, 2)


def test_a_key_names_one_round_for_ever(store_url: str) -> None:
    study = funds(store_url)
    week = study.ask(key="2026-W46")
    assert study.ask(key="2026-W46") == week
    following = study.ask(key="2026-W47")
    assert following.id != week.id
    assert following.outstanding == 1
    study.tell(week.id, [0.1, 0.2, 0.3])
    assert study.ask(key="2026-W46").status == "told"


def test_clients_never_share_a_round(store_url: str) -> None:
    study = funds(store_url)
    study.ask(client="a", key="2026-W46")
    with pytest.raises(Conflict, match="belongs to round 1 of client 'a'"):
        study.ask(client="b", key="2026-W46")
    assert study.ask(client="a").id != study.ask(client="b").id
    assert study.ask().id != study.ask().id


def test_the_first_client_of_a_key_keeps_it(store_url: str) -> None:
    study = funds(store_url)
    opened = study.ask(key="2026-W46")
    assert study.ask(client="a", key="2026-W46").client == "a"
    with pytest.raises(Conflict, match="of client 'a'"):
        study.ask(client="b", key="2026-W46")
    assert study.ask(key="2026-W46").id == opened.id
    assert [each.client for each in study.rounds()] == ["a"]


def test_schedules_advance_by_the_rounds_outstanding(store_url: str) -> None:
    learner = cb.MCETE(n_options=3, risk_aversion=0.5)
    study = cb.Study.create("mix", OPTIONS, learner, "per_unit", store_url)
    asked = [study.ask() for _ in range(6)]
    assert [each.outstanding for each in asked] == list(range(6))
    assert len({tuple(each.weights.values()) for each in asked}) == 6  # the six actions of the design


def test_leases_end(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    study = funds(store_url, lease=timedelta(hours=1))
    first = study.ask(client="desk")
    assert first.expires is not None
    assert first.expires - first.asked_at == timedelta(hours=1)
    begun = time.time()
    monkeypatch.setattr(time, "time", lambda: begun + 3601)
    assert study.round(first.id).status == "expired"
    assert [each.id for each in study.rounds(status="expired")] == [first.id]
    second = study.ask(client="desk")
    assert (second.id, second.outstanding) == (2, 0)  # an ended lease is not outstanding
    assert study.summary().expired == 1
    late = study.tell(first.id, [0.1, 0.2, 0.3])
    assert (late.status, late.late) == ("told", True)
    assert study.verify().ok
    assert study.summary().expired == 0


def test_rounds_that_expire_together_are_read_in_pieces(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    study = funds(store_url, lease=60)
    for _ in range(6):
        study.ask()
    begun = time.time()
    monkeypatch.setattr(time, "time", lambda: begun + 61)
    study.ask()
    seen: list[int] = []
    after = 0
    while page := study.rounds(after=after, limit=2):
        seen += [each.id for each in page]
        after = page[-1].revision
    assert seen == [1, 2, 3, 4, 5, 6, 7]
    assert study.verify().ok


def test_leases_of_single_rounds_and_of_none(store_url: str) -> None:
    study = funds(store_url, lease=None)
    assert study.ask().expires is None
    soon = study.ask(lease=timedelta(minutes=1))
    assert soon.expires is not None
    assert soon.expires < datetime.now(UTC) + timedelta(minutes=2)
    with pytest.raises(InvalidInput, match="lease must be positive"):
        study.ask(lease=0)


# Tell -----------------------------------------------------------------------------------------------------------------


def test_a_study_is_the_learner_bit_for_bit(store_url: str) -> None:
    learner = empirical()
    study = funds(store_url)
    for reward in rewards(30):
        proposed = study.ask()
        weights = learner.ask()
        assert list(proposed.weights.values()) == weights.tolist()
        learner.tell(weights, reward)
        study.tell(proposed.id, dict(zip(OPTIONS, reward.tolist(), strict=True)))
    assert study.learner.ask().tobytes() == learner.ask().tobytes()
    assert study.verify().exact


def test_telling_again_changes_nothing(store_url: str) -> None:
    study = funds(store_url)
    asked = study.ask()
    told = study.tell(asked.id, {"SPY": 1, "TLT": 0.5, "GLD": 0})
    before = study.summary()
    assert study.tell(asked.id, [1.0, 0.5, 0.0]) == told
    assert study.tell(asked.id, [1.0, 0.5, 0.0], weights=asked.weights) == told
    assert study.summary() == before


def test_telling_otherwise_is_a_conflict_that_points_to_amend(store_url: str) -> None:
    study = funds(store_url)
    asked = study.ask()
    study.tell(asked.id, [1.0, 0.5, 0.0])
    before = study.summary()
    with pytest.raises(Conflict, match=r"told otherwise .* correct it with amend"):
        study.tell(asked.id, [1.0, 0.5, 0.1])
    with pytest.raises(Conflict, match="told otherwise"):
        study.tell(asked.id, [1.0, 0.5, 0.0], weights=[1.0, 0.0, 0.0])
    assert study.summary() == before


def test_what_was_played_may_differ_from_what_was_asked(store_url: str) -> None:
    study = funds(store_url)
    told = study.tell(study.ask().id, [1.0, 0.5, 0.0], weights={"SPY": 0.75, "GLD": 0.25})
    assert told.played == {"SPY": 0.75, "TLT": 0.0, "GLD": 0.25}
    assert told.reward == pytest.approx(0.75)
    with pytest.raises(InvalidInput, match="sum to"):
        study.tell(study.ask().id, [1.0, 0.5, 0.0], weights={"SPY": 0.75})


def test_missing_is_not_zero(store_url: str) -> None:
    study = funds(store_url)
    asked = study.ask()
    refused: list[tuple[Any, str]] = [
        ({"SPY": 1.0, "TLT": 0.5}, "missing for option 'GLD'"),
        ({"SPY": 1.0, "TLT": 0.5, "GLD": None}, "outcome of option 'GLD' must be a number"),
        ({"SPY": 1.0, "TLT": 0.5, "GLD": float("nan")}, "outcome of option 'GLD' must be finite"),
        ([1.0, 0.5, float("nan")], "missing for option 'GLD'"),
        ({"SPY": 1.0, "TLT": 0.5, "GLD": 0.0, "XLE": 1.0}, "unknown option 'XLE'"),
        ([1.0, 0.5], "must have 3 entries"),
        (1.0, "by option name"),
        ("much", "by option name"),
        ([1.0, 0.5, 1e200], "beyond"),
    ]
    before = study.summary()
    for outcome, said in refused:
        with pytest.raises(InvalidInput, match=said):
            study.tell(asked.id, outcome)
    for round_id in ("1", 1.0, True, None):
        with pytest.raises(InvalidInput, match="round_id"):
            study.tell(round_id, [1.0, 0.5, 0.0])  # type: ignore[arg-type]
    assert study.summary() == before
    assert study.tell(asked.id, [1.0, 0.5, 0.0]).status == "told"


def test_late_batched_and_out_of_order(store_url: str) -> None:
    study = funds(store_url)
    first, second, third = (study.ask() for _ in range(3))
    told = study.tell_many([(third.id, [0.3, 0.2, 0.1]), (first.id, [0.1, 0.2, 0.3], [0.5, 0.5, 0.0])])
    assert [each.id for each in told] == [third.id, first.id]
    study.tell(second.id, [0.0, 0.0, 1.0])
    again = empirical()
    again.tell(list(third.weights.values()), [0.3, 0.2, 0.1])
    again.tell([0.5, 0.5, 0.0], [0.1, 0.2, 0.3])
    again.tell(list(second.weights.values()), [0.0, 0.0, 1.0])
    assert study.learner.ask().tobytes() == again.ask().tobytes()
    assert study.verify().exact


def test_batches_are_told_whole_or_not_at_all(store_url: str) -> None:
    study = funds(store_url)
    first, second = study.ask(), study.ask()
    before = study.summary()
    with pytest.raises(InvalidInput, match=r"round 2: outcome is missing for option 'TLT'.*nothing was told"):
        study.tell_many([(first.id, [0.1, 0.2, 0.3]), (second.id, {"SPY": 1.0})])
    with pytest.raises(InvalidInput, match="entry 0"):
        study.tell_many([(first.id,)])
    assert study.summary() == before
    study.tell_many([(first.id, [0.1, 0.2, 0.3]), (first.id, [0.1, 0.2, 0.3])])
    assert study.summary().told == 1
    assert study.verify().exact


def test_chosen_options_only(store_url: str) -> None:
    learner = cb.PairUCB(n_options=3, risk_aversion=0.5, min_weight=0.5)
    study = cb.Study.create("bets", OPTIONS, learner, "per_unit", store_url)
    asked = study.ask()
    chosen = [name for name, weight in asked.weights.items() if weight > 0]
    other = next(name for name in OPTIONS if name not in chosen)
    with pytest.raises(InvalidInput, match="weight 0"):
        study.tell(asked.id, dict.fromkeys(OPTIONS, 1.0))
    with pytest.raises(InvalidInput, match="missing"):
        study.tell(asked.id, {chosen[0]: 1.0})
    told = study.tell(asked.id, dict.fromkeys(chosen, 1.0))
    assert told.outcome == dict.fromkeys(chosen, 1.0)
    assert other not in (told.rewards or {})


def test_totals(store_url: str) -> None:
    learner = cb.GradientTS(n_options=3, risk_aversion=0.5, seed=4)
    study = cb.Study.create("mix", OPTIONS, learner, "per_unit", store_url)
    asked = study.ask()
    with pytest.raises(InvalidInput, match="one number"):
        study.tell(asked.id, [1.0, 2.0, 3.0])
    with pytest.raises(InvalidInput, match="must be finite"):
        study.tell(asked.id, float("inf"))
    told = study.tell(asked.id, 1.25)
    assert (told.outcome, told.reward, told.rewards) == (1.25, 1.25, None)
    assert study.verify().exact


def test_amounts_are_divided_by_the_weight(store_url: str) -> None:
    learner = cb.PairUCB(n_options=3, risk_aversion=0.5, min_weight=0.2)
    study = cb.Study.create("bets", OPTIONS, learner, "amount", store_url)
    told = study.tell(study.ask().id, {"SPY": 3.0, "TLT": 1.0}, weights={"SPY": 0.75, "TLT": 0.25})
    assert told.outcome == {"SPY": 3.0, "TLT": 1.0}
    assert told.rewards == {"SPY": 4.0, "TLT": 4.0}
    assert told.reward == pytest.approx(4.0)
    with pytest.raises(InvalidInput, match="option 'GLD' had weight 0, so it earned no amount"):
        study.tell(study.ask().id, {"SPY": 3.0, "GLD": 1.0}, weights={"SPY": 1.0})
    assert study.verify().exact


def test_amounts_of_all_options_need_weights(store_url: str) -> None:
    study = cb.Study.create("funds", OPTIONS, empirical(), "amount", store_url)
    study.tell(study.ask().id, [1.0, 2.0, 3.0])
    with pytest.raises(InvalidInput, match="option 'GLD' had weight 0, so it earned no amount to divide; leave it out"):
        study.tell(study.ask().id, [1.0, 2.0, 3.0], weights=[0.5, 0.5, 0.0])
    with pytest.raises(InvalidInput, match="missing for option 'TLT'"):
        study.tell(study.ask().id, {"SPY": 1.0}, weights=[0.5, 0.5, 0.0])
    told = study.tell(study.ask().id, {"SPY": 1.0, "TLT": 2.0}, weights=[0.5, 0.5, 0.0])  # gold was not seen
    assert told.rewards == {"SPY": 2.0, "TLT": 4.0}
    assert study.learner.counts.tolist() == [2, 2, 1]
    assert study.history().equal_weights_cumulative_reward is None  # nobody knows what gold would have earned
    assert study.verify().exact


def test_history_from_outside(store_url: str) -> None:
    study = funds(store_url)
    learner = empirical()
    for k, reward in enumerate(rewards(5)):
        told = study.tell_outside([1 / 3] * 3, reward, key=f"2025-{k}")
        assert (told.source, told.status, told.key) == ("outside", "told", f"2025-{k}")
        learner.tell([1 / 3] * 3, reward)
    assert study.learner.ask().tobytes() == learner.ask().tobytes()
    assert study.tell_outside([1 / 3] * 3, rewards(5)[0], key="2025-0").id == 1
    assert study.summary().told == 5
    with pytest.raises(Conflict, match="told otherwise"):
        study.tell_outside([1 / 3] * 3, [0.0, 0.0, 0.0], key="2025-0")
    with pytest.raises(Conflict, match="told from outside"):
        study.ask(key="2025-0")
    asked = study.ask(key="2026-1")
    with pytest.raises(Conflict, match="was asked for"):
        study.tell_outside([1 / 3] * 3, [0.0, 0.0, 0.0], key="2026-1")
    assert study.tell(asked.id, [0.0, 0.1, 0.2]).status == "told"
    assert study.verify().exact


# Amend ----------------------------------------------------------------------------------------------------------------


def test_a_correction_is_as_if_it_had_been_told_so(store_url: str) -> None:
    study, learner = funds(store_url), empirical()
    for k, reward in enumerate(rewards(12)):
        asked = study.ask()
        study.tell(asked.id, reward + (5 if k == 3 else 0))
        learner.tell(list(asked.weights.values()), reward)
    amended = study.amend(4, rewards(12)[3])
    assert (amended.amendments, amended.status) == (1, "told")
    assert study.learner.ask().tobytes() == learner.ask().tobytes()
    assert study.verify().exact
    assert study.summary().amended == 1


def test_corrections_repeat_and_their_originals_stay(store_url: str) -> None:
    study = funds(store_url)
    asked = study.ask()
    with pytest.raises(Conflict, match="has not been told yet"):
        study.amend(asked.id, [0.0, 0.0, 0.0])
    study.tell(asked.id, [1.0, 0.5, 0.0])
    study.amend(asked.id, [0.9, 0.5, 0.0])
    before = study.summary()
    study.amend(asked.id, [0.9, 0.5, 0.0])  # the same again
    study.tell(asked.id, [1.0, 0.5, 0.0])  # a late repetition of the first tell
    study.tell(asked.id, [0.9, 0.5, 0.0])
    assert study.summary() == before
    with pytest.raises(Conflict, match="told otherwise"):
        study.tell(asked.id, [0.8, 0.5, 0.0])
    with pytest.raises(InvalidInput, match="beyond"):
        study.amend(asked.id, [1e200, 0.5, 0.0])
    assert study.summary() == before
    study.amend(asked.id, [0.9, 0.5, 0.0], weights=[0.0, 0.5, 0.5])
    assert study.round(asked.id).played == {"SPY": 0.0, "TLT": 0.5, "GLD": 0.5}
    assert study.round(asked.id).amendments == 2
    assert study.verify().exact


def test_a_refused_correction_is_named_by_itself_and_before_the_log_is_told_again(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = funds(store_url)
    for reward in rewards(5):
        study.tell(study.ask().id, reward)
    before = study.summary()
    with monkeypatch.context() as patched:
        patched.setattr(transactions, "replay", lambda *_: 1 / 0)
        with pytest.raises(InvalidInput) as refused:
            study.amend(3, [0.1, 1e101, 0.2])
    assert str(refused.value).startswith("option 'TLT' (index 1): reward 1e+101 is beyond")  # not "row 2: ..."
    assert study.summary() == before
    assert study.verify().exact


# Several at once ------------------------------------------------------------------------------------------------------


def test_two_objects_work_on_one_study(store_url: str) -> None:
    one, learner = funds(store_url), empirical()
    two = cb.Study.open("funds", store_url)
    for k, reward in enumerate(rewards(10)):
        study = (one, two)[k % 2]
        asked = study.ask()
        (two, one)[k % 2].tell(asked.id, reward)
        learner.tell(learner.ask(), reward)
    assert one.learner.ask().tobytes() == two.learner.ask().tobytes() == learner.ask().tobytes()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")
@pytest.mark.usefixtures("shared_by_processes")
def test_a_study_goes_to_other_processes(store_url: str) -> None:
    study = funds(store_url)
    study.tell(study.ask().id, [0.1, 0.2, 0.3])
    again = pickle.loads(pickle.dumps(study))
    assert again.ask(client="x").id == study.ask(client="x").id == 2
    # A forked process inherits open connections, which it must not use.
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as processes:
        asked = [each.result() for each in [processes.submit(study.ask, client=f"c{k}") for k in range(6)]]
    assert sorted(each.id for each in asked) == [3, 4, 5, 6, 7, 8]
    study.tell(3, [0.1, 0.2, 0.3])
    assert study.verify().exact


def test_a_store_of_another_program_is_left_alone(store_url: str) -> None:
    funds(store_url)
    with Store(store_url) as store, store.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = 'v3.2.0.a'"))
    with pytest.raises(StoreSchemaError, match="tables of another program"):
        cb.Study.open("funds", store_url)
    with Store.of_any_schema(store_url) as store:
        with store.write() as connection:
            connection.execute(text("DROP TABLE alembic_version"))
        with pytest.raises(StoreSchemaError, match="tables of another program"):
            store.upgrade()


class Own(cb.MCEmpirical):
    """A learner of a user's own."""


def test_one_unknown_learner_does_not_hide_the_other_studies(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    funds(store_url)
    own = cb.Study.create("own", OPTIONS, Own(n_options=3, risk_aversion=0.25), "per_unit", store_url)
    assert own.ask().weights == dict.fromkeys(OPTIONS, 1 / 3)
    known = {name: kind for name, kind in configuration.known_classes().items() if kind is not Own}
    monkeypatch.setattr(configuration, "known_classes", lambda: known)
    found = {each.name: each for each in list_studies(store_url)}
    assert (found["own"].feedback, found["own"].risk_aversion) == ("unknown", 0.25)
    assert "not known here" in found["own"].learner
    assert found["funds"].feedback == "all"
    with pytest.raises(StateFileError, match="is not known here; import"):
        cb.Study.open("own", store_url)


def test_rounds_since_a_revision(store_url: str) -> None:
    study = funds(store_url)
    first, second = study.ask(), study.ask()
    seen = study.revision
    assert study.rounds(after=seen) == []
    study.tell(first.id, [0.1, 0.2, 0.3])
    third = study.ask()
    assert [each.id for each in study.rounds(after=seen)] == [first.id, third.id]
    assert [each.id for each in study.rounds(limit=1)] == [second.id]
    assert [each.id for each in study.rounds(status="open")] == [second.id, third.id]
    for bad in ({"after": -1}, {"limit": 0}, {"status": "lost"}):
        with pytest.raises(InvalidInput):
            study.rounds(**bad)  # type: ignore[arg-type]
