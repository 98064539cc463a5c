"""The service of a PostgreSQL store: studies in parallel, and a database that goes away and comes back."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import make_url

from covbandit.errors import StoreUnavailable
from covbandit.service.client import Client
from covbandit.service.operations import OPERATIONS
from covbandit.studies import Store
from covbandit.studies.tokens import check_token, create_token, list_tokens, revoke_token
from postgres_server import PostgresServer
from service_calls import LEARNER, OPTIONS, OUTCOME, Process, calling, funds


def test_answers_and_tokens(postgres_url: str) -> None:
    with Store(postgres_url, create=True) as store:
        funds(store)
        token = create_token(store, "ünï", "read")
        assert check_token(store, token) == "read"
        with calling(store, token=token) as http:
            for operation in OPERATIONS:
                if operation.method == "GET":
                    found = http.get(operation.route.format(name="funds", round_id=1))
                    assert found.status_code == 200, (operation.path, found.text)
                    if operation.answer is not None:
                        operation.answer.model_validate(found.json())
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


def password_of(url: str) -> str:
    """Return the password of a URL, or what no log contains."""
    return str(make_url(url).password or "no password at all")
