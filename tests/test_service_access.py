"""Who gets in: tokens, scopes, host names, limits. Every route of the description is tried."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from covbandit.errors import RateLimited, StoreSchemaError, StoreUnavailable
from covbandit.service.server.app import create_app
from covbandit.service.server.auth import Authenticator
from covbandit.service.server.middleware import host_name, is_loopback
from covbandit.service.server.rate_limit import BURST_SECONDS, RateLimit
from covbandit.service.server.routes import ROUTES
from covbandit.service.server.shared_work import SharedWork
from covbandit.studies import Store
from covbandit.studies.tokens import SCOPES, create_token, revoke_token
from service_calls import LEARNER, OPTIONS, OUTCOME, calling, everything, funds, new_store

_BODIES = {
    "create_study": {"name": "new", "options": OPTIONS, "outcome": "per_unit", "learner": LEARNER},
    "ask": {"client": "stranger"},
    "tell": {"outcome": OUTCOME},
    "amend": {"outcome": {**OUTCOME, "SPY": 0.5}},
    "tell_many": {"rounds": [{"id": 4, "outcome": OUTCOME}]},
    "tell_outside": {"weights": {"SPY": 1.0}, "outcome": OUTCOME},
    "change": {"risk_aversion": 9.0},
    "fork": {"learner": LEARNER, "name": "new"},
}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with new_store(tmp_path) as opened:
        yield opened


def described_routes(store: Store) -> list[tuple[str, str, str | None, str]]:
    """Return method, address, scope and name of every route, as the OpenAPI description has them."""
    app = create_app(store)
    app.state.service.close()
    return [
        (method.upper(), path.format(name="funds", round_id=4), found.get("x-scope"), found["operationId"])
        for path, methods in app.openapi()["paths"].items()
        for method, found in methods.items()
    ]


def test_the_description_has_every_route(store: Store) -> None:
    assert len(described_routes(store)) == len(ROUTES) == 22
    scopes = {name: scope for _, _, scope, name in described_routes(store)}
    assert scopes.keys() >= _BODIES.keys()
    assert {name for name, scope in scopes.items() if scope is None} == {"health", "version"}
    assert {name for name, scope in scopes.items() if scope == "admin"} == {"create_study", "change", "fork"}
    assert {name for name, scope in scopes.items() if scope == "tell"} == {
        "ask", "tell", "amend", "tell_many", "tell_outside",
    }  # fmt: skip


def send(http: httpx.Client, method: str, path: str, name: str, **arguments: object) -> httpx.Response:
    return http.request(method, path, json=_BODIES[name] if method == "POST" else None, **arguments)  # type: ignore[arg-type]


def test_no_route_lets_anybody_in_without_the_right_token(store: Store) -> None:
    funds(store)
    valid = {scope: create_token(store, scope, scope) for scope in SCOPES}
    revoked = create_token(store, "revoked", "admin")
    revoke_token(store, revoked.split("_")[1])
    wrong = valid["admin"][:-1] + ("0" if valid["admin"][-1] != "0" else "1")
    before = everything(store)
    headers = [
        {},
        {"Authorization": ""},
        {"Authorization": "Bearer"},
        {"Authorization": f"Bearer {wrong}"},
        {"Authorization": f"Bearer {revoked}"},
        {"Authorization": f"Basic {valid['admin']}"},
        {"Authorization": valid["admin"]},
        {"Authorization": f"Bearer {valid['admin']} {valid['admin']}"},
        {"Authorization": "Bearer ü".encode("latin-1")},
        {"X-Api-Key": valid["admin"], "Cookie": f"token={valid['admin']}"},
    ]
    with calling(store) as http:
        for method, path, scope, name in described_routes(store):
            if scope is None:
                continue
            for header in headers:
                found = send(http, method, path, name, headers=header)
                assert (found.status_code, found.json()["error"]) == (401, "unauthorized"), (method, path, header)
                assert found.headers["www-authenticate"].startswith("Bearer")
            assert send(http, method, f"{path}?token={valid['admin']}", name).status_code == 401
            for smaller in SCOPES[: SCOPES.index(scope)]:
                found = send(http, method, path, name, headers={"Authorization": f"Bearer {valid[smaller]}"})
                assert (found.status_code, found.json()["error"]) == (403, "forbidden"), (method, path, smaller)
                assert scope in found.json()["message"]
        assert http.get("/api/v1/unknown").status_code == 401
        assert everything(store) == before
        lines = http.get("/api/v1/metrics", headers={"Authorization": f"bearer {valid['read']}"}).text.splitlines()
        assert f"covbandit_refused_access_total {20 * (len(headers) + 1) + 5 + 2 * 3 + 1}.0" in lines


def test_every_route_lets_the_right_token_in(store: Store) -> None:
    funds(store)
    valid = {scope: create_token(store, scope, scope) for scope in SCOPES}
    with calling(store) as http:
        for method, path, scope, name in described_routes(store):
            token = valid[scope or "read"]
            found = send(http, method, path, name, headers={"Authorization": f"Bearer {token}"})
            assert found.status_code not in (401, 403, 500), (method, path, found.text)


def test_tokens_are_needed_as_soon_as_there_is_one(store: Store) -> None:
    with calling(store) as http:
        assert http.get("/api/v1/studies").status_code == 200
        assert http.get("/api/v1/version").json()["tokens"] is False
        token = create_token(store, "first", "read")
        assert http.get("/api/v1/studies").status_code == 401
        assert http.get("/api/v1/version").json()["tokens"] is True
        assert http.get("/api/v1/studies", headers={"Authorization": f"Bearer {token}"}).status_code == 200
        revoke_token(store, token.split("_")[1])  # the last one: that closes the service, and must not open it
        assert http.get("/api/v1/studies").status_code == 401
        assert http.get("/api/v1/version").json()["tokens"] is True
    with calling(store, require_tokens=True) as http:
        assert http.get("/api/v1/studies").status_code == 401


def test_tokens_are_looked_up_at_most_once_a_second(store: Store) -> None:
    now = 0.0
    authenticator = Authenticator(store, False, clock=lambda: now)
    assert not authenticator.up_to_date
    authenticator.refresh()
    token = create_token(store, "desk", "read")
    authenticator.refresh()
    assert authenticator.up_to_date
    assert not authenticator.wants_tokens
    now = 1.0
    assert not authenticator.up_to_date
    authenticator.refresh()
    assert authenticator.authenticate(f"Bearer {token}".encode()).scope == "read"


def test_nobody_gets_in_while_the_tokens_cannot_be_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    funds(store)

    def gone() -> object:
        raise StoreUnavailable("gone")

    with calling(store) as http:
        assert http.get("/api/v1/studies").status_code == 200
        monkeypatch.setattr(store, "read", gone)
        assert http.get("/api/v1/studies").status_code == 503
        assert http.get("/").status_code == 200
        monkeypatch.undo()
        assert "covbandit_store_errors_total 1.0" in http.get("/api/v1/metrics").text


def test_a_look_that_failed_is_remembered(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    looks = 0

    def gone() -> object:
        nonlocal looks
        looks += 1
        raise StoreUnavailable("gone")

    authenticator = Authenticator(store, False, clock=lambda: now)
    monkeypatch.setattr(store, "read", gone)
    for now, expected in ((0.0, 1), (0.5, 1), (0.9, 1), (1.0, 2), (1.9, 2)):
        with pytest.raises(StoreUnavailable, match="gone"):
            authenticator.refresh()
        assert looks == expected, now
    monkeypatch.undo()
    with pytest.raises(StoreUnavailable):
        authenticator.refresh()
    now = 2.0
    authenticator.refresh()
    assert authenticator.up_to_date


def test_strangers_learn_nothing_of_a_store_that_is_down(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    funds(store)
    token = create_token(store, "desk", "admin")
    detail = 'connection to server at "10.1.2.3", port 5432 failed: FATAL: database "secret" does not exist'

    for error in (StoreUnavailable(detail), StoreUnavailable(detail, False), StoreSchemaError(detail)):

        def gone(error: Exception = error) -> object:
            raise error

        with calling(store) as http, monkeypatch.context() as broken:
            broken.setattr(store, "read", gone)
            for header in ({}, {"Authorization": "Bearer x"}, {"Authorization": f"Bearer {token}"}):
                for method, path, _, name in described_routes(store):
                    caplog.clear()
                    found = send(http, method, path, name, headers=header)
                    assert (found.status_code, found.json()["error"]) == (503, "unavailable")
                    assert not any(word in found.text for word in ("10.1.2.3", "5432", "secret", "FATAL"))
                    assert ("retry-after" in found.headers) == (getattr(error, "retryable", False))
                    assert detail in caplog.text  # where the operator finds it
    # Whoever was let in may know more.
    with calling(store, remember_tokens=60.0) as http, monkeypatch.context() as broken:
        with_token = {"Authorization": f"Bearer {token}"}
        assert http.get("/api/v1/studies", headers=with_token).status_code == 200
        broken.setattr(store, "read", gone)
        assert http.get("/api/v1/studies", headers=with_token).json()["message"] == detail


def test_requests_are_counted_before_the_store_is_asked(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    token = create_token(store, "desk", "read")

    def gone() -> object:
        raise StoreUnavailable("gone")

    with calling(store, rate_limit=0.2) as http:
        with_token = {"Authorization": f"Bearer {token}"}
        assert http.get("/api/v1/studies", headers=with_token).status_code == 200
        monkeypatch.setattr(store, "read", gone)
        assert [http.get("/api/v1/studies").status_code for _ in range(3)] == [503, 503, 429]
        assert http.get("/api/v1/version").status_code == 429
        assert [http.get("/api/v1/studies", headers=with_token).status_code for _ in range(2)] == [503, 429]


def test_one_thread_asks_for_all_who_wait(tmp_path: Path) -> None:
    """A store that hangs holds up one thread; those who wait are refused in time, and later ones at once."""
    now = 0.0
    hanging, go_on = threading.Semaphore(0), threading.Event()

    def hang() -> None:
        hanging.release()
        assert go_on.wait(60)

    async def scene() -> None:
        nonlocal now
        work = SharedWork(hang, "test", patience=0.2, clock=lambda: now)
        waiting = [asyncio.create_task(work.done()) for _ in range(10)]
        for task in waiting:
            with pytest.raises(StoreUnavailable, match="not answered"):
                await task
        now = 1.0
        with pytest.raises(StoreUnavailable, match="not answered"):
            await work.done()
        assert hanging.acquire(timeout=60)
        assert not hanging.acquire(blocking=False)  # it was begun once
        go_on.set()
        work.pool.shutdown()

        work = SharedWork(hang, "test")
        await asyncio.gather(*(work.done() for _ in range(10)))
        assert hanging.acquire(timeout=60)
        await work.done()
        assert hanging.acquire(timeout=60)
        work.pool.shutdown()

    asyncio.run(scene())


@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        ("localhost", True),
        ("LOCALHOST:8765", True),
        ("localhost.", True),
        ("127.0.0.1:1", True),
        ("[::1]:8765", True),
        ("studies.example.org", True),
        ("Studies.Example.org:443", True),
        ("[fe80::1]:80", True),
        ("evil.example", False),
        ("localhost.evil.example", False),
        ("127.0.0.1.evil.example:8765", False),
        ("evil.example:127.0.0.1", False),
        ("", False),
        ("0.0.0.0", False),
        ("[::1].evil.example", False),
        ("[::1]evil.example", False),
        ("[::1]:80.evil.example", False),
        ("[::1", False),
        ("localhost:evil.example", False),
        ("localhost:80:evil.example", False),
        ("localhost:\xb2", False),
        ("localhost:+80", False),
        ("localhost..", False),
        ("studies.example.org:evil.example", False),
        ("localhost:", True),
    ],
)
def test_only_known_host_names_are_served(store: Store, host: str, allowed: bool) -> None:
    with calling(store, host_names=("studies.example.org:8080", "fe80::1")) as http:
        for path in ("/", "/api/v1/health", "/api/v1/studies", "/nowhere"):
            # The transport says that the server is localhost; that is known anyway.
            found = http.get(path, headers={"Host": host.encode("latin-1")})
            if allowed:
                assert found.status_code in (200, 404)
            else:
                assert (found.status_code, found.json()["error"]) == (400, "bad_request")
                assert "content-security-policy" in found.headers


def test_the_address_that_was_connected_to_is_known(store: Store) -> None:
    with calling(store) as http:
        assert http.get("http://192.0.2.7/api/v1/health").status_code == 200
        assert http.get("http://192.0.2.7/api/v1/health", headers={"Host": "192.0.2.8"}).status_code == 400
        assert http.get("http://[2001:db8::7]/api/v1/health").status_code == 200


def test_two_host_names_are_none(store: Store) -> None:
    with calling(store) as http:
        found = http.get("/api/v1/health", headers=[("Host", "localhost"), ("Host", "evil.example")])
        assert found.status_code == 400


@pytest.mark.parametrize(
    "kind",
    ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonp"],
)
def test_what_a_foreign_page_can_send_is_refused(store: Store, kind: str) -> None:
    funds(store)
    before = everything(store)
    with calling(store) as http:
        for route in ROUTES:
            if route.method == "POST":
                path = route.address.format(name="funds", round_id=4)
                headers = {"Content-Type": kind, "Origin": "http://evil.example"}
                found = http.post(path, content=b'{"client": "x"}', headers=headers)
                assert (found.status_code, found.json()["error"]) == (400, "bad_request")
    assert everything(store) == before


def test_requests_beyond_the_limit_wait() -> None:
    now = 0.0
    limit = RateLimit(2.0, lambda: now)
    for _ in range(int(2 * BURST_SECONDS)):
        limit.take("a")
    with pytest.raises(RateLimited) as refused:
        limit.take("a")
    assert refused.value.retry_after == 0.5
    limit.take("b")
    now = 0.5
    limit.take("a")
    with pytest.raises(RateLimited):
        limit.take("a")
    now = 1e6
    for _ in range(int(2 * BURST_SECONDS)):
        limit.take("a")
    with pytest.raises(RateLimited):
        limit.take("a")


def test_a_limit_of_zero_does_not_limit() -> None:
    limit = RateLimit(0.0, lambda: 0.0)
    for _ in range(10_000):
        limit.take("a")


def test_limits_hold_for_addresses_and_tokens(store: Store) -> None:
    with calling(store, rate_limit=0.1) as http:
        assert http.get("/api/v1/version").status_code == 200
        found = http.get("/api/v1/version")
        assert (found.status_code, found.json()["error"]) == (429, "rate_limited")
        assert 1 <= int(found.headers["retry-after"]) <= 10
        token = create_token(store, "desk", "read")
        with_token = {"Authorization": f"Bearer {token}"}
        assert http.get("/api/v1/studies", headers=with_token).status_code == 200
        assert http.get("/api/v1/studies", headers=with_token).status_code == 429
        # A wrong token is as good as none: it does not get a limit of its own.
        assert http.get("/api/v1/studies", headers={"Authorization": "Bearer x"}).status_code == 429


def test_by_default_only_this_machine_is_not_limited(store: Store) -> None:
    for address, limited in (("127.0.0.1", False), ("::1", False), ("10.0.0.7", True), ("2001:db8::7", True)):
        with calling(store, address) as http:
            service = http._transport._app.app.state.service  # type: ignore[attr-defined]
            service.rate_limit = RateLimit(0.1)
            codes = [http.get("/api/v1/version").status_code for _ in range(2)]
            assert codes == [200, 429 if limited else 200], address


def test_a_network_of_ipv6_is_limited_as_one(store: Store) -> None:
    with calling(store, "2001:db8::7", rate_limit=0.1) as http:
        assert http.get("/api/v1/version").status_code == 200
        http._transport._app.client = ("2001:db8::8", 1)  # type: ignore[attr-defined]
        assert http.get("/api/v1/version").status_code == 429
        http._transport._app.client = ("2001:db8:0:1::8", 1)  # type: ignore[attr-defined]
        assert http.get("/api/v1/version").status_code == 200


def test_whoever_watches_is_not_limited(store: Store) -> None:
    with calling(store, "10.0.0.7", rate_limit=0.1) as http:
        assert [http.get("/api/v1/health").status_code for _ in range(5)] == [200] * 5


@pytest.mark.parametrize(
    ("text", "name"),
    [("A.b:80", "a.b"), ("[::1]:80", "[::1]"), ("::1", "[::1]"), ("a.", "a"), ("", ""), ("[", "[")],
)
def test_host_names_have_one_spelling(text: str, name: str) -> None:
    assert host_name(text) == name


def test_loopback() -> None:
    assert all(map(is_loopback, ("localhost", "127.0.0.1", "127.8.8.8", "::1", "[::1]")))
    assert not any(map(is_loopback, ("0.0.0.0", "10.0.0.1", "::", "example.org", "")))
