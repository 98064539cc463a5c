"""Requests that are refused: always in one shape, never a 500, and nothing is changed."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from covbandit import errors
from covbandit.service.server import errors as server_errors
from covbandit.service.server.errors import TABLE, BadRequest, report_of
from covbandit.service.server.requests import _object, parse_json
from covbandit.service.server.response_models import ErrorAnswer
from covbandit.service.server.responses import error_response
from covbandit.service.server.routes import ROUTES
from covbandit.studies import Store, Study
from service_calls import LEARNER, OPTIONS, OUTCOME, calling, everything, funds

AT = "/api/v1/studies/funds"
JSON = {"Content-Type": "application/json"}
CREATE = {"name": "new", "options": OPTIONS, "outcome": "per_unit", "learner": LEARNER}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store(tmp_path_factory.mktemp("refusals") / "studies.db", create=True) as opened:
        funds(opened)
        yield opened


@pytest.fixture(scope="module")
def http(store: Store) -> Iterator[httpx.Client]:
    with calling(store, body_limit=10_000) as client:
        yield client


@pytest.fixture(autouse=True)
def _unchanged(store: Store) -> Iterator[None]:
    before = everything(store)
    yield
    assert everything(store) == before


def refused(found: httpx.Response, status: int, code: str) -> dict[str, str]:
    assert (found.status_code, found.json()["error"]) == (status, code), found.text
    ErrorAnswer.model_validate(found.json())
    assert found.json()["message"]
    assert found.json()["hint"]
    return dict(found.json())


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"nothing",
        b"{'client': 'x'}",
        b'{"client": "x",}',
        b'{"client": "x"} {}',
        b'{"client": "x", "client": "y"}',
        b'{"lease_seconds": NaN}',
        b'{"lease_seconds": Infinity}',
        b'{"lease_seconds": -Infinity}',
        b'{"lease_seconds": 1e999}',
        b'{"lease_seconds": ' + b"9" * 5_000 + b"}",
        b'{"client": "\\ud800"}',
        b'{"\\udfff": 1}',
        b'{"client": "\xff"}',
        b"\xef\xbb\xbf{}",
        b'{"client": "a\nb"}',
        b"[" * 4_000 + b"]" * 4_000,
        b"[]",
        b"null",
        b'"text"',
        b"1",
        b'{"client": 1}',
        b'{"client": true}',
        b'{"client": ["x"]}',
        b'{"lease_seconds": "60"}',
        b'{"lease_seconds": true}',
        b'{"unknown": 1}',
        b'{"Client": "x"}',
    ],
)
def test_bodies_that_cannot_be_read(http: httpx.Client, body: bytes) -> None:
    refused(http.post(f"{AT}/ask", content=body, headers=JSON), 400, "bad_request")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"outcome": None},
        {"outcome": "0.1"},
        {"outcome": True},
        {"outcome": [0.1, 0.2, 0.3]},
        {"outcome": {"SPY": "0.1", "TLT": 0.0, "GLD": 0.0}},
        {"outcome": {"SPY": True, "TLT": 0.0, "GLD": 0.0}},
        {"outcome": OUTCOME, "weights": [1, 0, 0]},
        {"outcome": OUTCOME, "weights": {"SPY": None}},
        {"outcome": OUTCOME, "round": 4},
    ],
)
def test_outcomes_of_wrong_types(http: httpx.Client, body: dict[str, Any]) -> None:
    for path in ("rounds/4/tell", "rounds/1/amend"):
        refused(http.post(f"{AT}/{path}", json=body), 400, "bad_request")
    refused(http.post(f"{AT}/tell_many", json={"rounds": [{"id": 4, "outcome": OUTCOME}, body]}), 400, "bad_request")


@pytest.mark.parametrize(
    "body",
    [
        {"outcome": 0.1},
        {"outcome": {}},
        {"outcome": {"SPY": 0.1, "TLT": 0.0}},
        {"outcome": {**OUTCOME, "SPY": None}},
        {"outcome": {**OUTCOME, "XXX": 0.0}},
        {"outcome": {**OUTCOME, "": 0.0}},
        {"outcome": OUTCOME, "weights": {"SPY": 0.5}},
        {"outcome": OUTCOME, "weights": {"SPY": 2.0, "TLT": -1.0}},
        {"outcome": OUTCOME, "weights": {"XXX": 1.0}},
        {"outcome": OUTCOME, "weights": {}},
    ],
)
def test_outcomes_whose_content_is_refused(http: httpx.Client, body: dict[str, Any]) -> None:
    for path in ("rounds/4/tell", "rounds/1/amend"):
        refused(http.post(f"{AT}/{path}", json=body), 422, "invalid")
    many = {"rounds": [{"id": 4, "outcome": OUTCOME}, {"id": 1, **body}]}
    refused(http.post(f"{AT}/tell_many", json=many), 422, "invalid")
    if "weights" in body:
        refused(http.post(f"{AT}/tell_outside", json=body), 422, "invalid")


@pytest.mark.parametrize(
    "change",
    [
        {"name": ""},
        {"name": "."},
        {"name": ".."},
        {"name": "a/b"},
        {"name": " a"},
        {"name": "a\nb"},
        {"name": "a\x00b"},
        {"name": "x" * 201},
        {"options": []},
        {"options": ["a", "a"]},
        {"options": ["a", ""]},
        {"options": ["a", "b\x00"]},
        {"learner": {}},
        {"learner": {"class": "os.system"}},
        {"learner": {"class": "Learner"}},
        {"learner": {"class": 1}},
        {"learner": {"class": "MCEmpirical"}},
        {"learner": {"class": "MCEmpirical", "risk_aversion": "high"}},
        {"learner": {"class": "MCEmpirical", "risk_aversion": -1}},
        {"learner": {"class": "MCEmpirical", "risk_aversion": 1, "unknown": 2}},
        {"learner": {"class": "MCEmpirical", "risk_aversion": 1, "n_options": 9}},
        {"learner": {"class": "MCEmpirical", "risk_aversion": {"a": [1]}}},
        {"learner": {"class": "MCEmpirical", "risk_aversion": 1, "max_weight": [[[]]]}},
        {"learner": {"class": "MCEmpirical", "risk_aversion": 1, "hold": "x"}},
        {"learner": {"class": "MCEmpirical", "feedback": "all"}},
        {"learner": {"feedback": "some"}},
        {"learner": {"feedback": ["all"]}},
        {"learner": {"feedback": "all", "risk_aversion": 1, "min_weight": 1.5}},
        {"lease_seconds": 0},
        {"lease_seconds": -1},
    ],
)
def test_studies_that_cannot_be_created(http: httpx.Client, change: dict[str, Any]) -> None:
    refused(http.post("/api/v1/studies", json={**CREATE, **change}), 422, "invalid")


@pytest.mark.parametrize(
    "change",
    [
        {"name": None},
        {"options": "abc"},
        {"options": [1]},
        {"options": ["x"] * 1_001},
        {"outcome": "both"},
        {"learner": 1},
    ],
)
def test_studies_of_wrong_types(http: httpx.Client, change: dict[str, Any]) -> None:
    refused(http.post("/api/v1/studies", json={**CREATE, **change}), 400, "bad_request")


def test_names_that_are_taken(http: httpx.Client) -> None:
    refused(http.post("/api/v1/studies", json={**CREATE, "name": "funds"}), 409, "conflict")
    refused(http.post(f"{AT}/fork", json={"learner": LEARNER, "name": "funds"}), 409, "conflict")


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({}, 400),
        ({"risk_aversion": 1.0, "add": "x"}, 400),
        ({"risk_aversion": None}, 400),
        ({"risk_aversion": "1"}, 400),
        ({"retire": 1}, 400),
        ({"risk_aversion": -1.0}, 422),
        ({"retire": "XXX"}, 404),
        ({"restore": "SPY"}, 422),
        ({"add": "SPY"}, 422),
        ({"add": ""}, 422),
    ],
)
def test_changes_that_are_refused(http: httpx.Client, change: dict[str, Any], status: int) -> None:
    code = {400: "bad_request", 404: "not_found", 422: "invalid"}[status]
    refused(http.post(f"{AT}/changes", json=change), status, code)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/v1/studies/none", 404),
        ("/api/v1/studies/none/rounds", 404),
        ("/api/v1/studies/a%00b", 404),
        ("/api/v1/studies/%ff", 404),
        ("/api/v1/studies/" + "x" * 5_000, 404),
        ("/api/v1/studies/a%2Fb", 404),
        ("/api/v1/studies/", 404),
        ("/api/v1", 404),
        ("/api/v2/studies", 404),
        ("/api", 404),
        (f"{AT}/rounds/0", 404),
        (f"{AT}/rounds/999", 404),
        (f"{AT}/rounds/9223372036854775807", 404),
        (f"{AT}/rounds/9223372036854775808", 404),
        (f"{AT}/rounds/" + "9" * 400, 404),
        (f"{AT}/rounds/-1", 400),
        (f"{AT}/rounds/1.0", 400),
        (f"{AT}/rounds/one", 400),
        (f"{AT}/rounds/%D9%A1", 400),
        (f"{AT}/rounds?after=x", 400),
        (f"{AT}/rounds?after=-1", 400),
        (f"{AT}/rounds?after=", 400),
        (f"{AT}/rounds?after=99999999999999999999", 400),
        (f"{AT}/rounds?limit=0", 400),
        (f"{AT}/rounds?limit=1001", 400),
        (f"{AT}/rounds?limit=1&limit=2", 400),
        (f"{AT}/rounds?status=done", 400),
        (f"{AT}/rounds?sort=id", 400),
        (f"{AT}/rounds?after", 400),
        (f"{AT}/rounds?after=%ff", 400),
        (f"{AT}/explain?x=1", 400),
        (f"{AT}/frontier?points=1", 400),
        (f"{AT}/history?points=10001", 400),
        (f"{AT}/export?format=xlsx", 400),
    ],
)
def test_addresses_that_lead_nowhere(http: httpx.Client, path: str, status: int) -> None:
    refused(http.get(path), status, {400: "bad_request", 404: "not_found"}[status])


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"])
def test_methods_that_are_not_known(http: httpx.Client, method: str) -> None:
    for path, allowed in (
        ("/api/v1/studies", "GET, HEAD, POST"),
        (f"{AT}/ask", "POST"),
        (f"{AT}/changes", "GET, HEAD, POST"),
        ("/", "GET, HEAD"),
    ):
        found = http.request(method, path)
        assert (found.status_code, found.headers["allow"]) == (405, allowed)
        refused(found, 405, "bad_request")
    refused(http.get(f"{AT}/ask"), 405, "bad_request")


def test_head_is_get_without_a_body(http: httpx.Client) -> None:
    paths = [each.address.format(name="funds", round_id=1) for each in ROUTES if each.method == "GET"]
    for path in [*paths, "/", "/api/v1/openapi.json", f"{AT}/rounds?limit=2", "/api/v1/studies/none"]:
        get, head = http.get(path), http.head(path)
        assert (head.status_code, head.content) == (get.status_code, b""), path
        assert head.headers["content-type"] == get.headers["content-type"]
        if not path.endswith(("/metrics", "/export", "/explain")):  # these may differ from one moment to the next
            assert head.headers["content-length"] == get.headers["content-length"], path
    found = http.head(f"{AT}/ask")
    assert (found.status_code, found.headers["allow"], found.content) == (405, "POST", b"")


def test_bodies_that_are_too_large(http: httpx.Client) -> None:
    for route in ROUTES:
        if route.body is not None:
            path = route.address.format(name="funds", round_id=4)
            found = http.post(path, content=b" " * 10_001, headers=JSON)
            refused(found, 413, "too_large")


def test_unexpected_errors_keep_their_details(
    http: httpx.Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_: Study) -> Any:
        raise RuntimeError("a secret detail")

    monkeypatch.setattr(Study, "explain", broken)
    said = refused(http.get(f"{AT}/explain"), 500, "internal")
    assert "secret" not in json.dumps(said)
    assert "a secret detail" in caplog.text


def test_errors_outside_of_routes_have_the_same_shape(
    http: httpx.Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_: object) -> Any:
        raise RuntimeError("a secret detail")

    service = http._transport._app.app.state.service  # type: ignore[attr-defined]
    monkeypatch.setattr(service.authenticator, "refresh", lambda: broken(None))
    said = refused(http.get(f"{AT}/explain"), 500, "internal")
    assert "secret" not in json.dumps(said)
    assert "a secret detail" in caplog.text


def test_every_error_of_ours_has_a_place_in_the_table() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    kinds += [kind for kind in vars(server_errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    assert len(kinds) > 20
    for kind in kinds:
        if issubclass(kind, errors.CovbanditError):
            assert any(ancestor in TABLE for ancestor in kind.__mro__), kind
    assert {kind.status for kind in TABLE.values()} == {
        400, 401, 403, 404, 405, 408, 409, 413, 414, 422, 429, 431, 503,
    }  # fmt: skip
    assert report_of(ValueError()).status == 500


def test_what_may_be_repeated_says_when() -> None:
    assert error_response(errors.StoreUnavailable("busy", True)).headers["retry-after"] == "1"
    assert "retry-after" not in error_response(errors.StoreUnavailable("read-only", False)).headers
    assert error_response(errors.RateLimited("slow", 2.3)).headers["retry-after"] == "3"
    assert "retry-after" not in error_response(errors.StoreSchemaError("old")).headers


def test_messages_do_not_name_the_store(store: Store, http: httpx.Client) -> None:
    assert store.url not in http.get("/api/v1/studies/none").text


def test_a_key_given_twice_is_found_in_one_pass() -> None:
    """Each key is compared as often as a set compares it, however many there are."""

    class Name(str):
        compared = 0

        def __eq__(self, other: object) -> bool:
            Name.compared += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    n = 3_000
    pairs = [(Name(k), 0) for k in range(n)] + [(Name("last"), 0), (Name("last"), 1)]
    with pytest.raises(BadRequest, match="the key 'last' twice"):
        _object(pairs)
    assert Name.compared < 10 * n


# By the hundred -----------------------------------------------------------------------------------------------------

_PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
_ANYTHING = st.recursive(
    _PLAIN, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
)
_NAMES = st.sampled_from(
    ["outcome", "weights", "id", "rounds", "key", "client", "risk_aversion", "learner", "name", "x"]
)
_BODY = st.dictionaries(_NAMES, _ANYTHING, max_size=4)
_WRITING = [route.address.format(name="funds", round_id=4) for route in ROUTES if route.body is not None]


@settings(max_examples=300)
@given(body=_BODY, path=st.sampled_from([path for path in _WRITING if not path.endswith("/ask")]))
def test_malformed_bodies_change_nothing(http: httpx.Client, body: dict[str, Any], path: str) -> None:
    found = http.post(path, content=json.dumps(body).encode("utf-8", "surrogatepass"), headers=JSON)
    assert found.status_code in (400, 404, 409, 413, 422), (path, body, found.text)
    ErrorAnswer.model_validate(found.json())


@settings(max_examples=200)
@given(text=st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_noise_changes_nothing(http: httpx.Client, text: bytes) -> None:
    for path in _WRITING:
        if path.endswith("/ask"):
            continue
        found = http.post(path, content=text, headers=JSON)
        assert found.status_code in (400, 413), (path, text, found.text)


@settings(max_examples=300)
@given(value=_ANYTHING)
def test_what_is_json_is_read_as_json_is(value: Any) -> None:
    text = json.dumps(value).encode("utf-8")
    try:
        read = parse_json(text)
    except BadRequest:
        assert any(0xD800 <= ord(letter) < 0xE000 for letter in json.dumps(value, ensure_ascii=False))
        return
    assert json.dumps(read) == json.dumps(value) or _has_large_integer(value)


def _has_large_integer(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_large_integer, value.values()))
    if isinstance(value, list):
        return any(map(_has_large_integer, value))
    return isinstance(value, int) and len(str(value)) > 18


def test_conflicting_and_repeated_tells_change_nothing(http: httpx.Client, store: Store) -> None:
    told = Study.open("funds", store=store).rounds(status="told")
    for one, factor in itertools.product(told, (1.0, 2.0, -1.0, 1e-300, 1e300)):
        assert isinstance(one.outcome, dict)
        outcome = {name: factor * value for name, value in one.outcome.items()}
        found = http.post(f"{AT}/rounds/{one.id}/tell", json={"outcome": outcome})
        assert found.status_code == (200 if factor == 1.0 else 409)
    for weights in ({"SPY": 1.0}, {"SPY": 0.5, "TLT": 0.5}):
        found = http.post(f"{AT}/rounds/1/tell", json={"outcome": told[0].outcome, "weights": weights})
        assert found.status_code == 409


def test_one_refused_among_many_changes_nothing(http: httpx.Client, store: Store) -> None:
    rounds = [{"id": 4, "outcome": OUTCOME}, {"id": 1, "outcome": {**OUTCOME, "SPY": 99.0}}]
    refused(http.post(f"{AT}/tell_many", json={"rounds": rounds}), 409, "conflict")
    refused(
        http.post(f"{AT}/tell_many", json={"rounds": [rounds[0], {"id": 77, "outcome": OUTCOME}]}), 404, "not_found"
    )
    assert Study.open("funds", store=store).round(4).status == "open"
