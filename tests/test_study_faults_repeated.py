"""What is told again is known again, whatever was changed since it was told first."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import text

import covbandit as cb
from covbandit.errors import Conflict, InvalidInput
from covbandit.studies import Study

OPTIONS = ["SPY", "TLT", "GLD"]


@pytest.fixture
def study(tmp_path: Path) -> Study:
    found = Study.create("funds", ["SPY", "TLT", "GLD"], cb.LinearFI(n_options=3), "per_unit", tmp_path / "s.db")
    for k in range(4):
        found.tell(found.ask().id, [k % 2, 1.0, 2.0])
    return found


def test_a_tell_without_an_option_that_was_retired_then(study: Study) -> None:
    asked = study.ask("me")
    assert asked.weights["SPY"] == 0.0
    study.retire("SPY")
    told = study.tell(asked.id, {"TLT": 1.0, "GLD": 2.0})
    study.restore("SPY")
    revision = study.revision
    assert study.tell(asked.id, {"TLT": 1.0, "GLD": 2.0}) == told
    assert study.tell(asked.id, [None, 1.0, 2.0]) == told
    with pytest.raises(Conflict):
        study.tell(asked.id, {"SPY": 1.0, "TLT": 1.0, "GLD": 2.0})
    assert study.revision == revision
    assert study.amend(asked.id, {"TLT": 1.5, "GLD": 2.0}).amendments == 1
    assert study.amend(asked.id, {"SPY": 0.5, "TLT": 1.5, "GLD": 2.0}).amendments == 2
    with pytest.raises(InvalidInput, match="outcome is missing for option 'SPY'"):
        study.amend(asked.id, {"TLT": 1.25, "GLD": 2.0})  # what was known stays known
    assert study.tell(asked.id, {"TLT": 1.0, "GLD": 2.0}).amendments == 2  # as it was told first
    assert study.verify().exact
    study.close()


def test_lists_from_before_an_option_was_added(study: Study) -> None:
    asked = study.ask("me")
    study.tell_outside([0.5, 0.5, 0.0], [1.0, 2.0, 3.0], key="history")
    study.add_option("BTC")
    revision = study.revision
    assert study.tell(1, [0, 1.0, 2.0]).id == 1
    assert study.tell(1, (0, 1.0, 2.0), list(study.round(1).weights.values())).id == 1
    assert study.tell_outside([0.5, 0.5, 0.0], [1.0, 2.0, 3.0], key="history").id == 6
    assert study.tell_outside({"SPY": 0.5, "TLT": 0.5}, {"SPY": 1.0, "TLT": 2.0, "GLD": 3.0}, key="history").id == 6
    assert study.revision == revision
    assert study.tell(asked.id, [0.5, 0.25, 1.0]).outcome == {"SPY": 0.5, "TLT": 0.25, "GLD": 1.0}
    assert study.amend(1, [0.25, 1.0, 2.0]).outcome == {"SPY": 0.25, "TLT": 1.0, "GLD": 2.0}
    assert study.amend(2, {"SPY": 0.25, "TLT": 1.0, "GLD": 2.0}, [0.0, 0.0, 1.0]).amendments == 1
    for wrong in ([1.0, 2.0], [1.0] * 5):
        with pytest.raises(InvalidInput, match="must have 4 entries"):
            study.tell(asked.id, wrong)
    new = study.ask("me")
    with pytest.raises(InvalidInput, match="must have 4 entries"):
        study.tell(new.id, [1.0, 2.0, 3.0])
    assert study.verify().exact
    study.close()


def test_a_round_told_at_the_moment_its_lease_ends_is_late(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: 2e9)
    asked = study.ask("me", lease=60)
    assert study.round(asked.id).status == "open"
    monkeypatch.setattr("time.time", lambda: 2e9 + 60)
    assert study.round(asked.id).status == "expired"
    assert study.tell(asked.id, [1.0, 1.0, 1.0]).late
    study.close()


def test_a_lease_ends_at_its_end_and_not_after_it(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the very moment in which it ends, everybody says so: who looks, who asks, and what is counted."""
    study = cb.Study.create("due", OPTIONS, cb.MCEmpirical(n_options=3, risk_aversion=1.0), "per_unit", store_url)
    monkeypatch.setattr("time.time", lambda: 2e9)
    first = study.ask("me", lease=60)
    monkeypatch.setattr("time.time", lambda: np.nextafter(2e9 + 60, 0.0))
    assert study.ask("me").id == first.id
    assert (study.summary().open, study.summary().expired) == (1, 0)
    monkeypatch.setattr("time.time", lambda: 2e9 + 60)
    assert study.round(first.id).status == "expired"
    assert study.rounds(status="open") == []
    assert [each.id for each in study.rounds(status="expired")] == [first.id]
    assert (study.summary().open, study.summary().expired) == (0, 1)
    second = study.ask("me")
    assert (second.id, second.outstanding) == (2, 0)
    assert (study.summary().open, study.summary().expired) == (1, 1)
    with study.store.read() as connection:
        kept = connection.execute(text("SELECT number, status FROM rounds ORDER BY number")).all()
    assert [tuple(row) for row in kept] == [(1, "expired"), (2, "open")]
    assert study.verify().exact
    study.close()
