"""Typed rows of a store, and learners' classes that are read without building learners."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields
from pathlib import Path

import pytest
from sqlalchemy import text

import covbandit as cb
from covbandit.errors import StoreUnavailable
from covbandit.studies import Study
from covbandit.studies.configuration import Configuration
from covbandit.studies.rows import ChangeRow, RoundRow, StateRow, StudyDraft, StudyRow, TellRow
from covbandit.studies.schema import changes, rounds, states, studies, tells


def test_rows_have_the_columns_of_their_tables_in_order() -> None:
    """Rows that were read are taken over by position."""
    for row, columns in (
        (StudyRow, studies.c.keys()),
        (TellRow, tells.c.keys()),
        (ChangeRow, changes.c.keys()),
        (RoundRow, [*rounds.c.keys(), "played", "outcome", "told_at"]),
        (StateRow, states.c.keys()[1:]),
    ):
        assert [each.name for each in fields(row)] == list(columns)


def test_rows_cannot_be_changed_and_drafts_know_what_was_assigned() -> None:
    row = StudyRow(7, "funds", 1.0, "per_unit", "{}", None, 3, 2, 2, 1, 1, 1, 0, 9.0, None, "id")
    with pytest.raises(FrozenInstanceError):
        row.revision = 4  # type: ignore[misc]
    draft = StudyDraft(row)
    assert draft.assigned == {}
    draft.revision += 1
    draft.n_open -= 0
    draft.revision += 1
    assert (draft.revision, draft.n_rounds, row.revision) == (5, 2, 3)
    assert draft.assigned == {"revision": 5, "n_open": 1}  # assigned, so it is written


@pytest.fixture
def study(tmp_path: Path) -> Study:
    learner = cb.MCEmpirical(n_options=2, risk_aversion=0.5)
    made = Study.create("funds", ["SPY", "TLT"], learner, "per_unit", tmp_path / "s.db")
    made.tell(made.ask().id, [0.1, 0.2])
    made.tell_outside([0.5, 0.5], [0.3, 0.1], key="history")
    return made


def test_what_the_class_of_a_learner_says_is_read_without_a_learner(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Configuration, "build", lambda _: 1 / 0)
    assert study.feedback == "all"
    assert study.history().equal_weights_risk is not None
    assert study.export(format="csv").startswith(b"id,")


def test_a_lost_outcome_is_told_where_a_round_is_found_by_its_key(study: Study) -> None:
    with study.store.write() as connection:
        connection.execute(text("DELETE FROM tells WHERE number = 2"))
    with pytest.raises(StoreUnavailable, match="round 2 of 'funds' was told, but its outcome is missing"):
        study.tell_outside([0.5, 0.5], [0.3, 0.1], key="history")
