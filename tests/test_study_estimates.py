"""What studies show of what they learned: explanations, estimates, frontier, history, export, forks, verification."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest
from sqlalchemy import text

import covbandit as cb
from covbandit.errors import Conflict, InvalidInput, Unsupported
from covbandit.studies import Frontier, History, Round, Store, StudyEstimates, StudySummary
from covbandit.studies import history as history_module

OPTIONS = ["SPY", "TLT", "GLD"]
LEARNERS = {
    "all": cb.MCEmpirical(n_options=3, risk_aversion=0.5),
    "chosen": cb.PairUCB(n_options=3, risk_aversion=0.5, min_weight=0.3),
    "total": cb.GradientTS(n_options=3, risk_aversion=0.5, seed=3),
}


def played(store: Any, feedback: str, rounds: int = 60, outcome: str = "per_unit") -> tuple[cb.Study, Any, Any]:
    """Return a study with so many rounds, with the weights and rewards of each."""
    study = cb.Study.create(feedback, OPTIONS, LEARNERS[feedback], outcome, store)
    drawn = np.random.default_rng(8).multivariate_normal(
        [0.3, 0.2, 0.1], [[1, 0.3, 0], [0.3, 1, -0.2], [0, -0.2, 0.5]], rounds
    )
    weights = []
    for reward in drawn:
        asked = study.ask()
        w = np.array(list(asked.weights.values()))
        weights.append(w)
        seen: Any = reward
        if feedback == "chosen":
            seen = {name: reward[i] for i, name in enumerate(OPTIONS) if w[i] > 0}
        elif feedback == "total":
            seen = float(w @ reward)
        study.tell(asked.id, seen)
    return study, np.array(weights), drawn


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[cb.Study, Any, Any]]:
    store = Store(tmp_path_factory.mktemp("estimates") / "s.db", create=True)
    return {feedback: played(store, feedback) for feedback in LEARNERS}


def test_explanations_are_the_learners(studies: Any) -> None:
    for study, _, _ in studies.values():
        assert str(study.explain()) == str(study.learner.explain())


def test_estimates_are_the_moments(studies: Any) -> None:
    study, _, drawn = studies["all"]
    found = study.estimates()
    np.testing.assert_allclose(found.mean, drawn.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found.covariance, np.cov(drawn.T, bias=True), rtol=1e-10)
    np.testing.assert_allclose(found.correlation, np.corrcoef(drawn.T), rtol=1e-10)
    np.testing.assert_allclose(found.width, drawn.std(axis=0, ddof=1) / np.sqrt(60), rtol=1e-10)
    assert found.count == (60.0, 60.0, 60.0)
    assert StudyEstimates.from_dict(json.loads(json.dumps(found.to_dict()))) == found


def test_nothing_is_known_before_anything_is_told(tmp_path: Path) -> None:
    study = cb.Study.create("new", OPTIONS, LEARNERS["all"], "per_unit", tmp_path / "s.db")
    assert study.estimates().mean == (None, None, None)
    frontier = study.frontier()
    assert not frontier.known
    assert "not estimated yet" in str(frontier.reason)
    history = study.history()
    assert (history.round, history.cumulative_reward, history.told) == ((), (), 0)
    assert study.verify().ok
    for kind in ("csv", "json", "parquet"):
        assert study.export(format=kind)


@pytest.mark.parametrize("feedback", LEARNERS)
def test_the_frontier_is_efficient(studies: Any, feedback: str) -> None:
    study, _, _ = studies[feedback]
    found = study.frontier(points=12)
    assert found.known
    assert len(found.points) == 12
    mean = np.array(study.estimates().mean)
    means = [point["mean"] for point in found.points]
    risks = [point["sd"] for point in found.points]
    assert (np.diff(means) <= 1e-12).all()
    assert (np.diff(risks) <= 1e-12).all()
    for point in [*found.points, found.current, found.optimal]:
        w = np.array(list(point["weights"].values()))
        assert w.sum() == pytest.approx(1)
        assert point["mean"] == pytest.approx(w @ mean)
    # Nothing on the frontier is better at the study's own ρ than the optimal point.
    best = found.optimal["mean"] - 0.5 * found.optimal["sd"] ** 2
    assert all(point["mean"] - 0.5 * point["sd"] ** 2 <= best + 1e-9 for point in found.points)
    assert Frontier.from_dict(json.loads(json.dumps(found.to_dict()))) == found


def test_the_frontiers_errors_under_full_information(studies: Any) -> None:
    study, _, drawn = studies["all"]
    optimal = study.frontier().optimal
    w = np.array(list(optimal["weights"].values()))
    earned = drawn @ w
    assert optimal["mean_error"] == pytest.approx(earned.std(ddof=1) / np.sqrt(60))
    assert optimal["sd_error"] == pytest.approx(earned.std() / np.sqrt(2 * 59))


@pytest.mark.parametrize("feedback", LEARNERS)
def test_the_history_adds_up(studies: Any, feedback: str) -> None:
    study, weights, drawn = studies[feedback]
    found = study.history()
    earned = (weights * drawn).sum(axis=1)
    np.testing.assert_allclose(found.reward, earned, rtol=1e-12)
    np.testing.assert_allclose(found.cumulative_reward, np.cumsum(earned), rtol=1e-12)
    assert found.risk[0] is None
    assert found.risk[-1] == pytest.approx(earned.std(ddof=1))
    np.testing.assert_array_equal(np.array([found.weights[name] for name in OPTIONS]).T, weights)
    if feedback == "all":
        equal = drawn.mean(axis=1)
        np.testing.assert_allclose(found.equal_weights_cumulative_reward, np.cumsum(equal), rtol=1e-12)
        assert found.equal_weights_risk[-1] == pytest.approx(equal.std(ddof=1))
    else:
        assert found.equal_weights_cumulative_reward is None
        assert found.equal_weights_risk is None
    thin = study.history(points=7)
    assert thin.points == 7
    assert (thin.round[0], thin.round[-1], thin.told) == (1, 60, 60)
    assert thin.cumulative_reward[-1] == found.cumulative_reward[-1]
    assert thin.place == (1, 11, 21, 31, 40, 50, 60)
    assert (set(found.source), found.asked) == ({"asked"}, 60)
    assert found.asked_cumulative_reward == found.cumulative_reward
    assert found.asked_equal_weights_risk == found.equal_weights_risk
    assert History.from_dict(json.loads(json.dumps(found.to_dict()))) == found


def test_the_history_follows_tells_and_corrections(store_url: str) -> None:
    study, _, _ = played(store_url, "all", rounds=3)
    before = study.history().cumulative_reward[-1]
    asked = study.ask()
    study.tell(asked.id, [1.0, 1.0, 1.0])
    assert study.history().cumulative_reward[-1] == pytest.approx(before + 1)
    study.amend(asked.id, [2.0, 2.0, 2.0])
    assert study.history().cumulative_reward[-1] == pytest.approx(before + 2)
    cb.Study.open("all", store_url).amend(asked.id, [3.0, 3.0, 3.0])
    assert study.history().cumulative_reward[-1] == pytest.approx(before + 3)


def test_rounds_from_outside_are_told_apart_in_the_history(store_url: str) -> None:
    study, weights, drawn = played(store_url, "all", rounds=5)
    earned, equal = (weights * drawn).sum(axis=1), drawn.mean(axis=1)
    for _ in range(20):
        study.tell_outside({"SPY": 1.0}, [100.0, -100.0, 0.0])
    late = study.ask()
    study.tell_outside({"TLT": 1.0}, [100.0, -100.0, 0.0])
    study.tell(late.id, [1.0, 2.0, 6.0])
    earned, equal = np.append(earned, np.array(list(late.weights.values())) @ [1, 2, 6]), np.append(equal, 3.0)
    found = study.history()
    assert found.source == ("asked",) * 5 + ("outside",) * 21 + ("asked",)
    assert (found.told, found.asked) == (27, 6)
    assert (found.place, found.round[-2:]) == (tuple(range(1, 28)), (27, 26))
    assert study.history(points=4).place == (1, 6, 26, 27)
    assert study.history(points=10).source.count("asked") == 5
    for thin in (found, study.history(points=4)):
        assert thin.asked_cumulative_reward[-1] == pytest.approx(earned.sum())
        assert thin.asked_cumulative_reward[-2] == pytest.approx(earned[:5].sum())
        assert thin.asked_risk[-1] == pytest.approx(earned.std(ddof=1))
        assert thin.asked_equal_weights_cumulative_reward[-1] == pytest.approx(equal.sum())
        assert thin.asked_equal_weights_risk[-1] == pytest.approx(equal.std(ddof=1))
    assert History.from_dict(json.loads(json.dumps(found.to_dict()))) == found


# Export ---------------------------------------------------------------------------------------------------------------


def test_exports_hold_every_round_with_every_digit(store_url: str, tmp_path: Path) -> None:
    study, _, drawn = played(store_url, "all", rounds=4)
    open_round = study.ask(client="=cmd", key='a,"b"')
    study.amend(2, [9.0, 8.0, 7.0])
    rows = list(csv.DictReader(io.StringIO(study.export().decode())))
    assert [row["status"] for row in rows] == ["told"] * 4 + ["open"]
    assert float(rows[0]["outcome[SPY]"]) == drawn[0, 0]
    assert float(rows[1]["outcome[GLD]"]) == 7.0
    assert (rows[4]["client"], rows[4]["key"], rows[4]["outcome[SPY]"]) == ("'=cmd", 'a,"b"', "")  # no formula
    study.export(tmp_path / "rounds.parquet")
    frame = pyarrow.parquet.read_table(tmp_path / "rounds.parquet").to_pydict()
    assert frame["id"] == [1, 2, 3, 4, 5]
    assert frame["weight[TLT]"][4] == open_round.weights["TLT"]
    study.export(tmp_path / "study.json")
    whole = json.loads((tmp_path / "study.json").read_text(encoding="utf-8"))
    assert [tell["kind"] for tell in whole["tells"]] == ["told"] * 4 + ["amended"]
    assert whole["tells"][1]["outcome"] == drawn[1].tolist()  # what was corrected stays
    assert StudySummary.from_dict(whole["study"]) == study.summary()
    assert [Round.from_dict(each) for each in whole["rounds"]] == sorted(study.rounds(), key=lambda each: each.id)
    with pytest.raises(InvalidInput, match="format must be"):
        study.export(tmp_path / "rounds.xlsx")


def test_exports_of_totals(studies: Any) -> None:
    study, _, _ = studies["total"]
    rows = list(csv.DictReader(io.StringIO(study.export().decode())))
    assert float(rows[5]["outcome"]) == float(rows[5]["reward"]) == study.round(6).outcome


# Forks ----------------------------------------------------------------------------------------------------------------


def test_a_fork_is_what_another_learner_would_advise(studies: Any) -> None:
    study, weights, drawn = studies["all"]
    other = cb.ShrunkEmpirical(n_options=3, risk_aversion=0.5)
    fork = study.fork(other)
    other.tell_many(weights, drawn)
    assert list(fork.weights.values()) == other.ask().tolist()
    assert fork.rounds_replayed == 60
    assert "Not how it would have performed" in fork.note
    assert fork.study is None
    json.dumps(fork.to_dict())


@pytest.mark.parametrize(("seen", "wanted"), [("all", "chosen"), ("all", "total"), ("chosen", "total")])
@pytest.mark.parametrize("outcome", ["per_unit", "amount"])
def test_more_feedback_shows_less(store_url: str, seen: str, wanted: str, outcome: str) -> None:
    if outcome == "amount" and seen == "all":
        learner: Any = cb.FixedWeights(n_options=3)  # amounts of all options need weights on all of them
        study = cb.Study.create("all", OPTIONS, learner, "amount", store_url)
        for reward in np.random.default_rng(1).normal(size=(20, 3)):
            study.tell(study.ask().id, reward)
    else:
        study, _, _ = played(store_url, seen, rounds=20, outcome=outcome)
    fork = study.fork(LEARNERS[wanted], name="other")
    other = cb.Study.open("other", store_url)
    assert other.feedback == wanted
    assert other.verify().exact
    assert other.summary().told == 20
    assert [each.reward for each in other.rounds()] == pytest.approx([each.reward for each in study.rounds()])
    assert list(fork.weights.values()) == other.learner.ask().tolist()
    assert other.changes()[0].detail["forked_from"] == study.name
    other.tell(other.ask().id, 0.5 if wanted == "total" else {k: 0.1 for k, w in other.ask().weights.items() if w > 0})


def test_forks_that_cannot_be(studies: Any) -> None:
    study, _, _ = studies["total"]
    with pytest.raises(Unsupported, match="needs feedback 'all', but this study sees 'total' only"):
        study.fork(LEARNERS["all"])
    with pytest.raises(InvalidInput, match="has 2 options"):
        study.fork(cb.GradientTS(n_options=2, risk_aversion=1.0))
    with pytest.raises(Conflict, match="already"):
        study.fork(cb.LinearFB(n_options=3), name="total")


# Verification ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("feedback", LEARNERS)
def test_verification_is_exact(studies: Any, feedback: str) -> None:
    seen: list[int] = []
    found = studies[feedback][0].verify(seen.append)
    assert (found.ok, found.exact, found.rounds, seen[-1]) == (True, True, 60, 60)


@pytest.mark.parametrize(
    ("tampering", "said"),
    [
        ("UPDATE tells SET outcome = '[9.0, 9.0, 9.0]' WHERE number = 2", "differs from the log"),
        ("UPDATE studies SET n_told = 7", "n_told is 7, counted 4"),
        ("DELETE FROM tells WHERE number = 4", "n_tells is 4, counted 3"),
        ("UPDATE rounds SET status = 'open' WHERE number = 1", "n_open is 0, counted 1"),
    ],
)
def test_verification_finds_tampering(store_url: str, tampering: str, said: str) -> None:
    study, _, _ = played(store_url, "all", rounds=4)
    assert study.verify().ok
    with study.store.write() as connection:
        connection.execute(text(tampering))
    found = study.verify()
    assert not found.ok
    assert said in found.message


def test_other_versions_may_differ_in_rounding(store_url: str) -> None:
    study, _, _ = played(store_url, "all", rounds=4)
    with study.store.write() as connection:
        connection.execute(text('UPDATE states SET versions = \'[{"numpy": "1"}]\''))
    assert study.verify().ok
    study = cb.Study.open("all", store_url)
    study.tell(study.ask().id, [1.0, 2.0, 3.0])
    with study.store.read() as connection:
        kept = json.loads(connection.execute(text("SELECT versions FROM states")).scalar_one())
    assert [each["numpy"] for each in kept] == ["1", np.__version__]  # both have had a part in it


# What a frontier cannot know ------------------------------------------------------------------------------------------


def test_options_that_were_never_seen_together_have_no_frontier_together(tmp_path: Path) -> None:
    study = cb.Study.create("s", OPTIONS, LEARNERS["chosen"], "per_unit", tmp_path / "s.db")
    for k in range(3):  # the third is never seen together with the first
        study.tell_outside([0.5, 0.5, 0.0], {"SPY": 1.0 + k, "TLT": 0.5 * k})
        study.tell_outside([0.0, 0.5, 0.5], {"TLT": 0.5 * k, "GLD": 1.0 - k})
    found = study.frontier()
    assert found.known
    assert {name for point in found.points for name in point["weights"]} in ({"SPY", "TLT"}, {"TLT", "GLD"})
    assert found.optimal is not None
    study.close()


def test_caps_that_the_options_known_so_far_cannot_fill_are_the_reason(tmp_path: Path) -> None:
    learner = cb.MCEmpirical(n_options=3, risk_aversion=0.5, max_weight=[0.4, 0.4, 0.4])
    study = cb.Study.create("s", OPTIONS, learner, "per_unit", tmp_path / "s.db")
    for k in range(4):
        study.tell_outside({"SPY": 0.5, "TLT": 0.5}, {"SPY": 1.0 + k, "TLT": (-1.0) ** k, "GLD": None})
    found = study.frontier()
    assert not found.known
    assert "no frontier can be drawn for the options known so far" in str(found.reason)
    assert "max_weight sums to 0.8" in str(found.reason)
    study.close()


# What would have been -------------------------------------------------------------------------------------------------


def imported(store: Any, learner: Any, rows: Any, name: str = "imported", outcome: str = "per_unit") -> cb.Study:
    study = cb.Study.create(name, OPTIONS, learner, outcome, store)
    for row in rows:
        study.tell_outside([0.5, 0.3, 0.2], row)
    return study


def test_history_from_outside_shows_what_the_study_would_have_held_and_earned(tmp_path: Path) -> None:
    """A naive recomputation: ask before each round, then tell it as it was played."""
    rows = np.random.default_rng(3).normal([0.3, 0.2, 0.1], 0.5, (40, 3))
    study = imported(tmp_path / "s.db", cb.MCEmpirical(n_options=3, risk_aversion=0.5), rows[:25].tolist())
    study.history()  # the rest is added to what was worked out
    for row in rows[25:].tolist():
        study.tell_outside([0.5, 0.3, 0.2], row)
    learner = cb.MCEmpirical(n_options=3, risk_aversion=0.5)
    held, earned = [], []
    for row in rows:
        held.append(learner.ask())
        earned.append(float(held[-1] @ row))
        learner.tell([0.5, 0.3, 0.2], row)
    found = study.history()
    assert found.would_have_weights is not None
    assert found.would_have_weights["SPY"] == tuple(float(w[0]) for w in held)
    assert found.would_have_cumulative_reward == pytest.approx(np.cumsum(earned))
    assert found.would_have_risk is not None
    assert found.would_have_risk[-1] == pytest.approx(np.std(earned, ddof=1))
    assert History.from_dict(json.loads(json.dumps(found.to_dict()))) == found
    thinned = study.history(points=10)
    assert thinned.would_have_cumulative_reward is not None
    assert thinned.would_have_cumulative_reward[-1] == pytest.approx(sum(earned))
    old = {name: value for name, value in found.to_dict().items() if not name.startswith("would_have")}
    assert History.from_dict(old).would_have_risk is None  # from a service of an earlier version
    study.set_risk_aversion(50.0)
    other = study.history().would_have_cumulative_reward
    assert other is not None
    assert other != found.would_have_cumulative_reward
    study.tell(study.ask().id, [0.1, 0.2, 0.3])  # from now on the study has proposals of its own
    assert study.history().would_have_cumulative_reward is None


def test_what_cannot_be_known_is_not_made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(3).normal(size=(8, 3)).tolist()
    everything = {"class": "MCEmpirical", "risk_aversion": 0.5}
    assert imported(tmp_path / "s.db", everything, rows).history().would_have_risk is not None
    chosen = {"feedback": "chosen", "risk_aversion": 0.5}
    assert imported(tmp_path / "s.db", chosen, rows, "chosen").history().would_have_risk is None
    amounts = imported(tmp_path / "s.db", everything, rows, "amounts", "amount")
    assert amounts.history().would_have_risk is None
    retired = imported(tmp_path / "s.db", everything, rows, "retired")
    retired.retire("SPY")
    retired.restore("SPY")
    assert retired.history().would_have_risk is None
    gap = cb.Study.create("gap", OPTIONS, everything, "per_unit", tmp_path / "s.db")
    for row in rows:  # the study would have held what had no outcome yet
        gap.tell_outside({"SPY": 1.0}, {"SPY": row[0], "TLT": None, "GLD": None})
    assert gap.history().would_have_risk is None
    monkeypatch.setattr(history_module, "MOST_IMAGINED", 7)
    assert imported(tmp_path / "s.db", everything, rows, "long").history().would_have_risk is None
