"""Asking and telling cost the same however long the history is: every statement finds its rows by an index."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

import covbandit as cb


def test_every_statement_of_ask_and_tell_uses_an_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    learner = cb.MCEmpirical(n_options=2, risk_aversion=0.5)
    study = cb.Study.create("funds", ["SPY", "TLT"], learner, "per_unit", tmp_path / "s.db", lease=60)
    sent: list[tuple[str, Any]] = []

    @event.listens_for(study.store._engine, "before_cursor_execute")
    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, _context: Any, _many: bool) -> None:
        if statement.startswith(("SELECT", "UPDATE")):
            sent.append((statement, parameters))

    asked = study.ask(client="desk")
    study.ask(client="desk")
    study.ask(key="2026-W46")
    study.tell(asked.id, [0.1, 0.2])
    study.tell(asked.id, [0.1, 0.2])
    study.tell_outside([0.5, 0.5], [0.1, 0.2], key="history")
    begun = time.time()
    monkeypatch.setattr(time, "time", lambda: begun + 100)
    study.ask(client="desk")  # leases have ended
    event.remove(study.store._engine, "before_cursor_execute", note)

    plans = {}
    with study.store.read() as connection:
        for statement, parameters in sent:
            found = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters).all()
            plans[statement] = [row.detail for row in found]
    assert len(plans) > 8
    for statement, plan in plans.items():
        assert not any(step.startswith("SCAN") for step in plan), (statement, plan)
    used = str(plans)
    for index in ("rounds_of_client", "rounds_by_key", "rounds_open"):
        assert f"USING INDEX {index}" in used or f"USING COVERING INDEX {index}" in used, index
    # Rounds are found by their number, their key, or among the few that are open: never by the study alone.
    for statement, plan in plans.items():
        narrow = "rounds_open" in str(plan)
        assert narrow or not any("rounds" in step and step.endswith("(study_id=?)") for step in plan), (statement, plan)


def test_state_does_not_grow(tmp_path: Path) -> None:
    from covbandit.studies.packed_state import pack

    study = cb.Study.create(
        "funds", ["SPY", "TLT"], {"feedback": "all", "risk_aversion": 1}, "per_unit", tmp_path / "s.db"
    )
    study.tell(study.ask().id, [0.1, 0.2])
    before = len(pack(study.learner))
    for _ in range(9):
        study.tell(study.ask().id, [0.1, 0.2])
    assert len(pack(study.learner)) <= before + 1  # one more digit of the number of rounds


@pytest.mark.parametrize(
    ("call", "most"), [("ask", {"sqlite": 3, "postgresql": 2}), ("tell", {"sqlite": 6, "postgresql": 3})]
)
def test_an_ask_and_a_tell_need_no_more_statements_than_ever(store_url: str, call: str, most: dict[str, int]) -> None:
    """Beyond the beginning and the end of the transaction; with the learner in memory, its statistics are not read."""
    learner = cb.MCEmpirical(n_options=2, risk_aversion=0.5)
    study = cb.Study.create("funds", ["SPY", "TLT"], learner, "per_unit", store_url)
    for _ in range(3):
        study.tell(study.ask().id, [0.1, 0.2])
    calls = {"ask": study.ask, "tell": lambda: study.tell(asked.id, [0.1, 0.2])}
    asked = study.ask()
    sent: list[str] = []

    @event.listens_for(study.store._engine, "before_cursor_execute")
    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if not statement.startswith("BEGIN"):
            sent.append(" ".join(statement.split()))

    calls[call]()
    event.remove(study.store._engine, "before_cursor_execute", note)
    assert len(sent) == most["sqlite" if study.store.is_sqlite else "postgresql"], sent
    study.close()
