"""The client: the same methods, answers and exceptions as a study at hand, and retries that do no harm."""

from __future__ import annotations

import builtins
import inspect
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

import covbandit as cb
from covbandit import errors
from covbandit.service.client import Client
from covbandit.service.client.remote_study import RemoteStudy
from covbandit.service.server.app import create_app
from covbandit.studies import Store, Study
from covbandit.studies.tokens import create_token
from service_calls import LEARNER, OPTIONS, OUTCOME, InProcess, everything, funds, new_store

Fault = Callable[[httpx.Request], httpx.Response | None]


class Flaky(httpx.BaseTransport):
    """Loses what a script says: requests before they arrive, or answers on their way back."""

    def __init__(self, inner: httpx.BaseTransport) -> None:
        self._inner = inner
        self.faults: list[str | httpx.Response | None] = []
        self.sent: list[tuple[str, str]] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.sent.append((request.method, request.url.path))
        fault = self.faults.pop(0) if self.faults else None
        if isinstance(fault, httpx.Response):
            return fault
        if fault == "request":
            raise httpx.ConnectError("lost on the way")
        found = self._inner.handle_request(request)
        if fault == "answer":
            raise httpx.ReadTimeout("lost on the way back")
        return found

    def close(self) -> None:
        self._inner.close()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with new_store(tmp_path) as opened:
        yield opened


@pytest.fixture
def line(store: Store) -> Iterator[Flaky]:
    app = create_app(store, remember_tokens=0.0)
    made = Flaky(InProcess(app))
    yield made
    made.close()
    app.state.service.close()


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def client(line: Flaky, waits: list[float]) -> Iterator[Client]:
    with Client("http://localhost", transport=line, retries=3) as made:
        made._connection._sleep = waits.append
        yield made


def unavailable(retry_after: str | None = "2") -> httpx.Response:
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    return httpx.Response(503, headers=headers, json={"error": "unavailable", "message": "busy", "hint": "wait"})


def test_every_method_of_a_study_is_there() -> None:
    left_out = {"create", "open", "close", "store", "learner"}
    for name, here in inspect.getmembers(Study):
        if name.startswith("_") or name in left_out:
            continue
        there = getattr(RemoteStudy, name)
        if isinstance(here, property):
            assert isinstance(there, property), name
            continue
        wanted, found = inspect.signature(here).parameters, inspect.signature(there).parameters
        assert list(wanted) == list(found), name
        assert [p.kind for p in wanted.values()] == [p.kind for p in found.values()], name


def test_answers_are_those_of_the_study_itself(client: Client, store: Store, tmp_path: Path) -> None:
    here = funds(store, rounds=4)
    there = client.open("funds")
    assert client.studies() == [replace(here.summary(), risk_aversion_check=None)]  # which lists do not compute
    assert there.summary() == here.summary()
    for name in ("name", "options", "retired", "outcome", "feedback", "risk_aversion", "revision", "lease"):
        assert getattr(there, name) == getattr(here, name), name
    assert there.rounds() == here.rounds()
    assert there.rounds(after=3, limit=2, status="told") == here.rounds(after=3, limit=2, status="told")
    assert there.round(1) == here.round(1)
    assert there.round(1).allocate(1_000) == here.round(1).allocate(1_000)
    assert there.estimates() == here.estimates()
    assert there.frontier(points=7) == here.frontier(points=7)
    assert there.history(points=3) == here.history(points=3)
    assert there.changes() == here.changes()
    assert there.verify() == here.verify()
    assert there.explain().to_dict() == here.explain().to_dict()
    assert str(there.explain()) == str(here.explain())
    for form in ("csv", "json", "parquet"):
        assert there.export(format=form) == here.export(format=form)
    there.export(tmp_path / "rounds.csv")
    assert (tmp_path / "rounds.csv").read_bytes() == here.export(format="csv")
    other = cb.LinearFI(n_options=3)
    assert there.fork(other).to_dict() == here.fork(other).to_dict()
    made = there.fork(other, name="copy")
    assert (made.study, Study.open("copy", store=store).summary().told) == ("copy", 4)


def test_asking_and_telling(client: Client, store: Store) -> None:
    study = client.create("new", OPTIONS, cb.MCEmpirical(n_options=3, risk_aversion=2.0), "per_unit")
    here = Study.open("new", store=store)
    assert here.summary() == study.summary()
    first = study.ask(client="desk")
    assert study.ask(client="desk") == first
    assert study.ask(key="k", lease=timedelta(hours=1)).expires is not None
    assert study.ask(key="never", lease=None).expires is None
    told = study.tell(first.id, OUTCOME)
    assert (told.status, told.outcome) == ("told", OUTCOME)
    assert study.tell(first.id, list(OUTCOME.values())) == told
    assert study.tell(first.id, np.array(list(OUTCOME.values()))) == told
    assert study.amend(first.id, {**OUTCOME, "SPY": np.float64(0.5)}).amendments == 1
    many = study.tell_many([(2, OUTCOME), (3, OUTCOME, {"SPY": 1.0})])
    assert [one.played["SPY"] for one in many if one.played] == [many[0].weights["SPY"], 1.0]
    assert study.tell_outside([0.5, 0.5, 0.0], OUTCOME).source == "outside"
    assert study.set_risk_aversion(0.5).kind == "risk_aversion"
    assert study.rounds() == here.rounds()
    assert study.verify().ok


def test_options_come_and_go(client: Client, store: Store) -> None:
    funds(store)
    study = client.open("funds")
    assert study.retire("TLT").kind == "retired"
    assert (study.options, study.retired) == (("SPY", "GLD"), ("TLT",))
    assert study.restore("TLT").kind == "restored"
    assert study.add_option("VNQ").kind == "added"
    assert study.changes() == Study.open("funds", store=store).changes()


def test_many_rounds_come_in_pieces(client: Client, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    here = funds(store, rounds=7)
    monkeypatch.setattr("covbandit.service.client.remote_study._AT_ONCE", 3)
    there = client.open("funds")
    assert there.rounds() == here.rounds()
    assert there.rounds(limit=5) == here.rounds(limit=5)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda c: c.open("none"), errors.NotFound, "no study 'none'"),
        (lambda c: c.create("funds", OPTIONS, LEARNER, "per_unit"), errors.Conflict, "already"),
        (lambda c: c.create("x", OPTIONS, {"class": "Nothing"}, "per_unit"), errors.InvalidInput, "Nothing"),
        (lambda c: c.create("x", ["a"], cb.LinearFI(n_options=2), "per_unit"), errors.InvalidInput, "2 options"),
        (lambda c: c.open("funds").fork(cb.LinearFI(n_options=2)), errors.InvalidInput, "2 options"),
        (lambda c: c.create("x", OPTIONS, LEARNER, "both"), errors.InvalidInput, "outcome"),
        (lambda c: c.open("funds").round(99), errors.NotFound, "no round 99"),
        (lambda c: c.open("funds").round(-5), errors.NotFound, "no round 0"),
        (lambda c: c.open("funds").round("1"), errors.InvalidInput, "round_id"),
        (lambda c: c.open("funds").tell(1, {**OUTCOME, "SPY": 9.0}), errors.Conflict, "amend"),
        (lambda c: c.open("funds").tell(4, {"SPY": 0.1}), errors.InvalidInput, "missing"),
        (lambda c: c.open("funds").tell(4, {**OUTCOME, "SPY": float("nan")}), errors.InvalidInput, "finite"),
        (lambda c: c.open("funds").tell(4, "much"), errors.InvalidInput, "outcome"),
        (lambda c: c.open("funds").tell(4, [0.1]), errors.InvalidInput, "3 entries"),
        (lambda c: c.open("funds").tell(4, {1: 0.1}), errors.InvalidInput, "text"),
        (lambda c: c.open("funds").fork({"class": "LinearFI"}, name="funds"), errors.Conflict, "already"),
        (lambda c: c.open("funds").export(format="xlsx"), errors.InvalidInput, "csv"),
        (lambda c: c.open("funds").retire("XXX"), errors.NotFound, "XXX"),
        (lambda c: c.open("a/b"), errors.InvalidInput, "without /"),
        (lambda c: c.create("x", OPTIONS, 7, "per_unit"), errors.InvalidInput, "learner"),
    ],
)
def test_errors_are_those_of_the_study(
    client: Client, store: Store, call: Callable[[Client], Any], error: type[Exception], words: str
) -> None:
    funds(store)
    before = everything(store)
    with pytest.raises(error, match=words):
        call(client)
    assert everything(store) == before


def test_errors_keep_their_class_and_hint(client: Client, line: Flaky, store: Store) -> None:
    study = Study.create(
        "chosen", OPTIONS, {"feedback": "chosen", "risk_aversion": 1.0, "min_weight": 0.1}, "amount", store
    )
    with pytest.raises(errors.Unsupported):
        client.open(study.name).fork({"class": "MCEmpirical", "risk_aversion": 1.0})
    with pytest.raises(errors.NotFound) as missing:
        client.open("none")
    assert missing.value.hint
    for code, status, kind in (
        ("forbidden", 403, errors.Forbidden),
        ("too_large", 413, errors.InvalidInput),
        ("internal", 500, errors.CovbanditError),
        ("a_new_one", 400, errors.CovbanditError),
    ):
        line.faults = [httpx.Response(status, json={"error": code, "message": "m", "hint": "h"})]
        with pytest.raises(kind, match="m"):
            client.studies()


def test_a_class_from_elsewhere_is_not_raised(client: Client, line: Flaky) -> None:
    for name in ("__builtins__", "annotations", "KeyboardInterrupt", "Interrupted", "MissingExtra"):
        answer = {"error": "conflict", "message": "m", "hint": ""}
        line.faults = [httpx.Response(409, headers={"X-Covbandit-Error": name}, json=answer)]
        with pytest.raises((errors.Conflict, errors.MissingExtra)):
            client.studies()


def test_tokens_are_sent_and_not_shown(store: Store, line: Flaky) -> None:
    token = create_token(store, "desk", "read")
    stranger, client = Client("http://localhost", transport=line), Client("http://localhost", token, transport=line)
    with pytest.raises(errors.Unauthorized):
        stranger.studies()
    assert client.studies() == []
    with pytest.raises(errors.Forbidden, match="admin"):
        client.create("x", OPTIONS, LEARNER, "per_unit")
    assert token not in repr(client)
    with pytest.raises(errors.InvalidInput) as wrong:
        Client("http://localhost", f"{token}\n")
    assert token not in str(wrong.value)


# Retries ------------------------------------------------------------------------------------------------------------

# What is called, and how many rounds, tells, changes and studies come of it.
_SAFE: dict[str, tuple[Callable[[RemoteStudy], Any], tuple[int, int, int, int]]] = {
    "ask": (lambda s: s.ask(), (1, 0, 0, 0)),
    "ask of a client": (lambda s: s.ask(client="desk"), (1, 0, 0, 0)),
    "ask by key": (lambda s: s.ask(key="k"), (1, 0, 0, 0)),
    "tell": (lambda s: s.tell(4, OUTCOME), (0, 1, 0, 0)),
    "tell many": (lambda s: s.tell_many([(4, OUTCOME)]), (0, 1, 0, 0)),
    "tell outside": (lambda s: s.tell_outside({"SPY": 1.0}, OUTCOME), (1, 1, 0, 0)),
    "amend": (lambda s: s.amend(1, {**OUTCOME, "SPY": 0.7}), (0, 1, 0, 0)),
    "change": (lambda s: s.set_risk_aversion(0.25), (0, 0, 1, 0)),
    "retire": (lambda s: s.retire("GLD"), (0, 0, 1, 0)),
    "add": (lambda s: s.add_option("VNQ"), (0, 0, 1, 0)),
    "fork": (lambda s: s.fork(LEARNER, name="copy"), (3, 3, 1, 1)),
    "look": (lambda s: s.rounds(), (0, 0, 0, 0)),
}


@pytest.mark.parametrize("lost", ["request", "answer", "busy", "both"])
@pytest.mark.parametrize("what", _SAFE)
def test_a_retry_does_what_one_request_would_have_done(
    store: Store, line: Flaky, waits: list[float], client: Client, what: str, lost: str
) -> None:
    def counted() -> list[int]:
        rows = everything(store)
        return [len(rows[table]) for table in ("rounds", "tells", "changes", "studies")]

    funds(store)
    before = counted()
    study = client.open("funds")
    call, more = _SAFE[what]
    faults: dict[str, list[Any]] = {"busy": [unavailable()], "both": ["request", "answer"]}
    # Before a change the revision is looked up, which is not what is to fail.
    line.faults = [*([None] if more[2] and not more[3] else []), *faults.get(lost, [lost])]
    answer = call(study)
    assert answer is not None
    assert len(waits) >= 1
    assert [now - then for now, then in zip(counted(), before, strict=True)] == list(more)
    assert Study.open("funds", store=store).verify().ok


def test_a_lost_creation_is_found_again(client: Client, line: Flaky, store: Store) -> None:
    line.faults = ["answer"]
    study = client.create("new", OPTIONS, LEARNER, "per_unit", lease=60.0)
    assert study.summary() == Study.open("new", store=store).summary()
    for changed in ({"options": ["SPY", "TLT"]}, {"learner": {**LEARNER, "risk_aversion": 3.0}}, {"outcome": "amount"}):
        line.faults = ["request"]
        arguments = {"name": "new", "options": OPTIONS, "learner": LEARNER, "outcome": "per_unit", **changed}
        with pytest.raises(errors.Conflict):
            client.create(**arguments)
    with pytest.raises(errors.Conflict):  # nothing was lost: the name is taken
        client.create("new", OPTIONS, LEARNER, "per_unit", lease=60.0)


def test_retries_end(client: Client, line: Flaky, waits: list[float]) -> None:
    line.faults = ["request"] * 9
    with pytest.raises(errors.Unreachable, match="does not answer"):
        client.studies()
    assert len(line.sent) == 4
    assert 0.05 <= waits[0] <= 0.1
    assert 0.1 <= waits[1] <= 0.2
    assert 0.2 <= waits[2] <= 0.4


def test_pauses_are_as_long_as_the_service_says(client: Client, line: Flaky, waits: list[float]) -> None:
    limited = httpx.Response(
        429, headers={"Retry-After": "7"}, json={"error": "rate_limited", "message": "", "hint": ""}
    )
    line.faults = [limited, unavailable("3"), httpx.Response(502, text="<html>bad gateway</html>")]
    assert client.studies() == []
    assert waits[:2] == [7.0, 3.0]
    assert 0.2 <= waits[2] <= 0.4


def test_what_does_not_help_is_not_repeated(client: Client, line: Flaky, waits: list[float]) -> None:
    line.faults = [unavailable(None)]
    with pytest.raises(errors.StoreUnavailable, match="busy") as refused:
        client.studies()
    assert not refused.value.retryable
    assert waits == []
    line.faults = [unavailable()] * 4
    with pytest.raises(errors.StoreUnavailable) as refused:
        client.studies()
    assert refused.value.retryable


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(200, text="<html>"),
        httpx.Response(404, text="Not Found"),
        httpx.Response(302),
        httpx.Response(400, json=[]),
    ],
    ids=["page", "foreign 404", "redirect", "foreign 400"],
)
def test_another_service_is_recognised(client: Client, line: Flaky, answer: httpx.Response) -> None:
    line.faults = [answer]
    with pytest.raises(errors.Unreachable, match="not as covbandit does"):
        client.studies()


@pytest.mark.parametrize(
    "url", ["localhost:8765", "ftp://localhost", "http://", "http://a:99999999", "http://u:p@h", "http://h?x=1", 7, ""]
)
def test_addresses_are_checked(url: Any) -> None:
    with pytest.raises(errors.InvalidInput, match="http://host:port"):
        Client(url)


def test_addresses_of_the_api_are_understood(line: Flaky) -> None:
    with Client("http://localhost/api/v1/", transport=line) as client:
        assert client.version()["api"] == "v1"
    with pytest.raises(errors.InvalidInput, match="retries"):
        Client("http://localhost", retries=-1)


def test_learners_travel_as_plain_data(client: Client, store: Store) -> None:
    learners = {
        "pair": cb.PairUCB(n_options=3, risk_aversion=0.5, min_weight=0.1),
        "hold": cb.MCEmpirical(n_options=3, risk_aversion=0.5, hold=([0.2, 0.3, 0.5], 4)),
        "caps": cb.MCEmpirical(n_options=3, risk_aversion=0.5, max_weight=[0.5, 0.5, 0.4]),
        "ts": cb.GradientTS(n_options=3, risk_aversion=0.5, seed=7),
        "ete": cb.MCETE(n_options=3, risk_aversion=0.5),
    }
    for name, learner in learners.items():
        client.create(name, OPTIONS, learner, "per_unit")
        here = Study.create(f"{name} here", OPTIONS, learner, "per_unit", store)
        assert client.open(name).summary().learner == here.summary().learner
        assert client.open(name).ask().weights == here.ask().weights
    allocator = cb.allocator(options=OPTIONS, feedback="all", risk_aversion=0.4)
    assert client.create("allocator", OPTIONS, allocator, "per_unit").feedback == "all"
    told = cb.MCEmpirical(n_options=3, risk_aversion=0.5)
    told.tell(told.ask(), [0.1, 0.2, 0.3])
    with pytest.raises(errors.InvalidInput, match="fresh"):
        client.create("told", OPTIONS, told, "per_unit")


def test_a_missing_httpx_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    really = builtins.__import__

    def without(name: str, *arguments: Any) -> Any:
        if name == "httpx":
            raise ModuleNotFoundError("No module named 'httpx'", name="httpx")
        return really(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(errors.MissingExtra, match=r"covbandit\[service\]"):
        Client("http://localhost")


def test_bodies_are_strict_json() -> None:
    from covbandit.service.client.connection import as_json

    assert json.loads(as_json({"a": 1.5})) == {"a": 1.5}
    for value in (float("nan"), float("inf"), object()):
        with pytest.raises(errors.InvalidInput, match="finite"):
            as_json({"a": value})
