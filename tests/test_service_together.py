"""Tells that wait together are told in one transaction, and what one does wrong is not the others' business."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from covbandit.errors import Conflict, CovbanditError, InvalidInput, NotFound, StoreUnavailable
from covbandit.service.together import TellsTogether, Ticket
from covbandit.studies import Store, Study
from service_calls import OUTCOME, everything, funds, new_store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with new_store(tmp_path) as opened:
        yield opened


@pytest.fixture
def study(store: Store) -> Study:
    found = funds(store)
    for key in "abc":  # rounds 5, 6, 7
        found.ask(key=key)
    return found


@pytest.fixture
def transactions(store: Store, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count transactions that write."""
    begun: list[int] = []
    really = store.write

    def write() -> Any:
        begun.append(1)
        return really()

    monkeypatch.setattr(store, "write", write)
    return begun


def told(together: TellsTogether, tickets: list[Ticket]) -> list[str]:
    """Serve all, as the one thread of a line does; return what each got."""
    found = []
    for ticket in tickets:
        try:
            found.append(together.serve(ticket).status)
        except CovbanditError as error:
            found.append(type(error).__name__)
    return found


def test_all_that_wait_take_one_transaction(study: Study, transactions: list[int]) -> None:
    together = TellsTogether(lambda _: study)
    tickets = [together.queue("funds", (number, OUTCOME, None)) for number in (6, 4, 7, 5, 6, 1)]
    tickets[-1].entry = (1, study.round(1).outcome, None)
    assert told(together, tickets) == ["told"] * 6
    assert len(transactions) == 1
    assert [ticket.answer.result().id for ticket in tickets] == [6, 4, 7, 5, 6, 1]
    assert study.summary().told == 7
    assert study.verify().exact
    later = together.queue("funds", (5, OUTCOME, None))
    assert together.serve(later).id == 5


def test_they_give_what_telling_one_by_one_gives(study: Study, store: Store, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with new_store(tmp_path / "other") as other_store:
        other = funds(other_store)
        for key in "abc":
            other.ask(key=key)
        together = TellsTogether(lambda _: study)
        tickets = [together.queue("funds", (number, OUTCOME, None)) for number in (6, 4, 5)]
        told(together, tickets)
        for number in (6, 4, 5):
            other.tell(number, OUTCOME)
        assert everything(store)["states"] == everything(other_store)["states"]
        assert study.ask(key="next").weights == other.ask(key="next").weights


def test_what_one_does_wrong_is_not_the_others_business(study: Study) -> None:
    together = TellsTogether(lambda _: study)
    entries: list[tuple[int, Any, Any]] = [
        (4, OUTCOME, None),
        (1, {**OUTCOME, "SPY": 99.0}, None),
        (5, {"SPY": 0.1}, None),
        (77, OUTCOME, None),
        (6, OUTCOME, {"SPY": 0.5}),
        (7, OUTCOME, {"SPY": 1.0}),
    ]
    tickets = [together.queue("funds", entry) for entry in entries]
    wanted = ["told", Conflict.__name__, InvalidInput.__name__, NotFound.__name__, InvalidInput.__name__, "told"]
    assert told(together, tickets) == wanted
    assert [one.id for one in study.rounds(status="open")] == [5, 6]
    assert study.verify().exact


def test_studies_do_not_mix(study: Study) -> None:
    def find(name: str) -> Study:
        if name != "funds":
            raise NotFound(f"no study {name!r}")
        return study

    together = TellsTogether(find)
    tickets = [together.queue(name, (4, OUTCOME, None)) for name in ("none", "funds", "none")]
    assert told(together, tickets) == ["NotFound", "told", "NotFound"]


def test_a_store_that_is_busy_is_told_to_all(study: Study, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    before = everything(store)

    def busy() -> Any:
        raise StoreUnavailable("busy")

    together = TellsTogether(lambda _: study)
    tickets = [together.queue("funds", (number, OUTCOME, None)) for number in (4, 5)]
    with monkeypatch.context() as patched:
        patched.setattr(store, "write", busy)
        assert told(together, tickets) == ["StoreUnavailable"] * 2
    assert everything(store) == before
    assert told(together, [together.queue("funds", (4, OUTCOME, None))]) == ["told"]


def test_an_unexpected_error_reaches_everybody(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> Any:
        raise RuntimeError("broken")

    monkeypatch.setattr(study, "tell_many", broken)
    together = TellsTogether(lambda _: study)
    tickets = [together.queue("funds", (number, OUTCOME, None)) for number in (4, 5)]
    for ticket in tickets:
        with pytest.raises(RuntimeError, match="broken"):
            together.serve(ticket)
