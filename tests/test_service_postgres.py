"""The service of a PostgreSQL store: studies in parallel, and a database that goes away and comes back."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from sqlalchemy import make_url, text

from covbandit.errors import StoreUnavailable
from covbandit.service.client import Client
from covbandit.service.server.routes import ROUTES
from covbandit.studies import Store
from covbandit.studies import store as stores
from covbandit.studies.tokens import check_token, create_token, list_tokens, revoke_token
from postgres_server import PostgresServer
from service_calls import HURRIED, LEARNER, OPTIONS, OUTCOME, Process, calling, funds


def test_answers_and_tokens(postgres_url: str) -> None:
    with Store(postgres_url, create=True) as store:
        funds(store)
        token = create_token(store, "ünï", "read")
        assert check_token(store, token) == "read"
        with calling(store, token=token) as http:
            for route in ROUTES:
                if route.method == "GET":
                    found = http.get(route.address.format(name="funds", round_id=1))
                    assert found.status_code == 200, (route.path, found.text)
                    if route.answer is not None:
                        route.answer.model_validate(found.json())
            assert http.get("/api/v1/studies/a%00b").status_code == 404
            assert http.post("/api/v1/studies/funds/ask", json={}).status_code == 403
            revoke_token(store, list_tokens(store)[0].id)
            http.headers["Authorization"] = f"Bearer {create_token(store, 'desk', 'tell')}"
            assert http.post("/api/v1/studies/funds/ask", json={"key": "a\x00b"}).status_code == 422
            assert http.post("/api/v1/studies/funds/ask", json={"key": "a"}).status_code == 200


def test_studies_in_parallel_and_a_database_that_comes_back(own_postgres_server: PostgresServer) -> None:
    each = 5
    with own_postgres_server.new_database() as url, Process(url) as process, Client(process.url, retries=12) as client:
        names = ("one", "two", "three", "four")
        for name in names:
            client.create(name, OPTIONS, LEARNER, "per_unit")

        def work(k: int) -> None:
            study = client.open(names[k % len(names)])
            for _ in range(each):
                assert study.tell(study.ask(client=f"client {k}").id, OUTCOME).status == "told"

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(8)))
        assert [study.told for study in client.studies()] == [2 * each] * 4

        own_postgres_server.stop()
        with Client(process.url, retries=0) as impatient:
            with pytest.raises(StoreUnavailable) as gone:
                impatient.studies()
            assert gone.value.retryable
        own_postgres_server.start()
        study = client.open("one")
        assert study.tell(study.ask(key="after").id, OUTCOME).status == "told"
        assert study.verify().ok
        status, errors = process.stop()
        assert (status, "Traceback" in errors) == (0, False), errors
        assert password_of(url) not in errors


def test_a_database_that_hangs_is_an_answer_for_everybody(own_postgres_server: PostgresServer) -> None:
    """All processes of the database stop where they are: nobody waits for ever, and nobody learns where it is."""
    with own_postgres_server.new_database() as url:
        with Store(url, create=True) as store:
            funds(store)
            token = create_token(store, "desk", "admin")
        with Process(url, "--log-level", "warning") as process:
            base = f"{process.url}/api/v1"
            headers = {"Authorization": f"Bearer {token}"}

            def get(path: str) -> httpx.Response:
                return httpx.get(base + path, headers=headers, timeout=60)

            paths = ["/studies", "/version", "/health", "/studies/funds", "/studies/funds/rounds/1", "/metrics"]
            for path in paths:
                assert get(path).status_code == 200
            with ThreadPoolExecutor(24) as pool:
                time.sleep(1.1)  # until what is known of the tokens no longer holds
                with own_postgres_server.frozen():
                    found = list(pool.map(get, 4 * paths))
                    found += [get(path) for path in 3 * paths]
                    assert [each.status_code for each in found] == [503] * 7 * len(paths)
                    for each in found:
                        assert each.headers["retry-after"] == "1"
                        assert str(own_postgres_server.port) not in each.text
                        assert "127.0.0.1" not in each.text
            patient = Client(process.url, token, retries=12)
            assert [study.name for study in patient.studies()] == ["funds"]
            study = patient.open("funds")
            assert study.tell(study.ask(key="after").id, OUTCOME).status == "told"
            assert study.verify().ok
            patient.close()
            status, errors = process.stop()
        assert (status, "Traceback" in errors) == (0, False), errors


def test_a_service_of_a_database_that_hangs_can_be_stopped(own_postgres_server: PostgresServer) -> None:
    with own_postgres_server.new_database() as url:
        with Store(url, create=True) as store:
            funds(store)
        with Process(url, "--log-level", "warning", preparing=HURRIED) as process:
            assert httpx.get(f"{process.url}/api/v1/studies", timeout=60).status_code == 200
            with own_postgres_server.frozen():
                assert httpx.get(f"{process.url}/api/v1/health", timeout=60).status_code == 503
                status, errors = process.stop()
        assert (status, "Traceback" in errors) == (0, False), errors


def test_strangers_do_not_learn_where_the_database_is(own_postgres_server: PostgresServer) -> None:
    with own_postgres_server.new_database() as url, Process(url) as process:
        assert httpx.get(f"{process.url}/api/v1/version", timeout=60).status_code == 200
        own_postgres_server.stop()
        time.sleep(1.1)
        for path in ("version", "health", "studies", "studies/funds", "metrics"):
            found = httpx.get(f"{process.url}/api/v1/{path}", timeout=60)
            assert found.status_code == 503
            assert found.json()["message"] == "the service runs, but its store cannot be used now"
        own_postgres_server.start()
        _, errors = process.stop()
        assert str(own_postgres_server.port) in errors  # where the operator finds it
        assert password_of(url) not in errors


def test_no_statement_takes_for_ever(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Store(postgres_url, create=True).close()
    monkeypatch.setattr(stores, "STATEMENT_SECONDS", 0.2)
    with Store(postgres_url) as store:
        with (
            pytest.raises(StoreUnavailable, match="took longer over a statement") as caught,
            store.read() as connection,
        ):
            connection.execute(text("SELECT pg_sleep(60)"))
        assert caught.value.retryable
        with store.read() as connection:
            assert connection.execute(text("SELECT 1")).scalar() == 1
    # Whoever knows better says so in the URL.
    own = make_url(postgres_url).update_query_dict({"options": "-c statement_timeout=0"})
    with Store(own.render_as_string(hide_password=False)) as store, store.read() as connection:
        connection.execute(text("SELECT pg_sleep(0.4)"))


def password_of(url: str) -> str:
    """Return the password of a URL, or what no log contains."""
    return str(make_url(url).password or "no password at all")
