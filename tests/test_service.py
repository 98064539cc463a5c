"""The HTTP service: what it answers when all is well."""

from __future__ import annotations

import csv
import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from covbandit.errors import StoreUnavailable
from covbandit.service.server import response_models
from covbandit.service.server.responses import json_bytes
from covbandit.service.server.routes import ROUTES
from covbandit.studies import Store, Study
from covbandit.studies.tokens import create_token
from service_calls import LEARNER, OPTIONS, OUTCOME, calling, everything, funds, new_store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with new_store(tmp_path) as opened:
        yield opened


@pytest.fixture
def http(store: Store) -> Iterator[httpx.Client]:
    with calling(store) as client:
        yield client


def test_a_study_from_its_creation_to_its_fork(http: httpx.Client, store: Store) -> None:
    body = {"name": "two funds", "options": OPTIONS, "outcome": "per_unit", "learner": LEARNER}
    made = http.post("/api/v1/studies", json={**body, "lease_seconds": 60})
    assert made.status_code == 201, made.text
    assert (made.json()["options"], made.json()["lease_seconds"]) == (OPTIONS, 60)
    at = "/api/v1/studies/two%20funds"
    asked = http.post(f"{at}/ask", json={"client": "desk"}).json()
    assert http.post(f"{at}/ask", json={"client": "desk"}).json() == asked
    assert sum(asked["weights"].values()) == pytest.approx(1)
    told = http.post(f"{at}/rounds/{asked['id']}/tell", json={"outcome": OUTCOME})
    assert (told.status_code, told.json()["status"], told.json()["outcome"]) == (200, "told", OUTCOME)
    assert http.post(f"{at}/rounds/{asked['id']}/tell", json={"outcome": OUTCOME}).json() == told.json()
    other = http.post(f"{at}/rounds/{asked['id']}/tell", json={"outcome": {**OUTCOME, "SPY": 9.0}})
    assert (other.status_code, other.json()["error"]) == (409, "conflict")
    assert "amend" in other.json()["message"]
    amended = http.post(f"{at}/rounds/{asked['id']}/amend", json={"outcome": {**OUTCOME, "SPY": 0.5}}).json()
    assert (amended["amendments"], amended["outcome"]["SPY"]) == (1, 0.5)
    outside = http.post(
        f"{at}/tell_outside", json={"weights": {"SPY": 0.5, "TLT": 0.5}, "outcome": OUTCOME, "key": "old"}
    )
    assert outside.json()["source"] == "outside"
    keys = [http.post(f"{at}/ask", json={"key": key, "lease_seconds": None}).json() for key in "ab"]
    assert [one["expires"] for one in keys] == [None, None]
    many = http.post(f"{at}/tell_many", json={"rounds": [{"id": one["id"], "outcome": OUTCOME} for one in keys]})
    assert [one["status"] for one in many.json()["rounds"]] == ["told", "told"]
    for change in ({"risk_aversion": 0.5}, {"retire": "TLT"}, {"restore": "TLT"}, {"add": "VNQ"}):
        done = http.post(f"{at}/changes", json=change)
        assert done.status_code == 200, done.text
    kinds = [change["kind"] for change in http.get(f"{at}/changes").json()["changes"]]
    assert kinds == ["created", "risk_aversion", "retired", "restored", "added"]
    fork = http.post(f"{at}/fork", json={"learner": {"class": "LinearFI"}, "name": "other"})
    assert (fork.status_code, fork.json()["study"]) == (200, "other")
    assert http.get(f"{at}/verify").json()["ok"]
    assert [one["name"] for one in http.get("/api/v1/studies").json()["studies"]] == ["other", "two funds"]
    assert Study.open("two funds", store=store).summary().told == 4


def test_every_answer_fits_its_description(http: httpx.Client, store: Store) -> None:
    funds(store)
    for route in ROUTES:
        if route.method == "GET" and route.answer is not None:
            path = route.address.format(name="funds", round_id=1)
            found = http.get(path)
            assert found.status_code == 200, (path, found.text)
            route.answer.model_validate(found.json())


def test_every_answer_is_described_before_anything_was_told(http: httpx.Client, store: Store) -> None:
    for feedback in ("all", "chosen", "total"):
        learner = {"feedback": feedback, "risk_aversion": 1.0} | ({"min_weight": 0.1} if feedback == "chosen" else {})
        body = {"name": feedback, "options": OPTIONS, "outcome": "per_unit", "learner": learner}
        made = http.post("/api/v1/studies", json=body)
        assert made.status_code == 201, made.text
        for route in ROUTES:
            if route.method == "GET" and route.answer is not None and "round_id" not in route.path:
                found = http.get(route.address.format(name=feedback))
                assert found.status_code == 200, (route.path, found.text)
                route.answer.model_validate(found.json())


def test_rounds_come_in_pieces_by_revision(http: httpx.Client, store: Store) -> None:
    study = funds(store, rounds=5)
    after, seen = 0, []
    while True:
        page = http.get("/api/v1/studies/funds/rounds", params={"after": after, "limit": 2}).json()
        seen += page["rounds"]
        after = page["revision"]
        assert page["study_revision"] == study.revision
        if not page["more"]:
            break
    assert seen == [one.to_dict() for one in study.rounds()]
    assert http.get("/api/v1/studies/funds/rounds", params={"after": after}).json() == {
        "rounds": [],
        "revision": after,
        "study_revision": study.revision,
        "more": False,
    }
    found = http.get("/api/v1/studies/funds/rounds?status=open").json()["rounds"]
    assert [one["status"] for one in found] == ["open"]


def test_exports_are_files(http: httpx.Client, store: Store) -> None:
    study = funds(store)
    for form in ("csv", "json", "parquet"):
        found = http.get("/api/v1/studies/funds/export", params={"format": form})
        assert found.content == study.export(format=form)
        assert found.headers["content-disposition"] == f"attachment; filename*=UTF-8''funds.{form}"
    rows = list(csv.reader(io.StringIO(http.get("/api/v1/studies/funds/export").text)))
    assert len(rows) == 1 + 4


@pytest.mark.parametrize(
    "name",
    ["<img src=x onerror=alert(1)>", "a'; DROP TABLE studies; --", "ünï © 🎲", "a b?c=d&e#f", "%2e%2e", "100%", "日本"],
)
def test_names_are_text_whatever_they_hold(http: httpx.Client, store: Store, name: str) -> None:
    body = {"name": name, "options": [name, "b"], "outcome": "per_unit", "learner": LEARNER}
    assert http.post("/api/v1/studies", json=body).status_code == 201
    at = f"/api/v1/studies/{quote(name, safe='')}"
    assert http.get(at).json()["name"] == name
    asked = http.post(f"{at}/ask", json={"client": name, "key": name}).json()
    assert (asked["client"], list(asked["weights"])) == (name, [name, "b"])
    assert http.get(f"{at}/export").status_code == 200
    assert "text/html" not in http.get(at).headers["content-type"]


def test_health_version_and_openapi_need_no_token(store: Store) -> None:
    with calling(store, require_tokens=True) as http:
        assert http.get("/api/v1/health").json() == {"status": "ok", "store": "ok"}
        assert http.get("/api/v1/version").json()["tokens"] is True
        assert http.get("/api/v1/openapi.json").json()["openapi"].startswith("3.1")
        assert http.get("/api/v1/studies").status_code == 401


def test_health_says_when_the_store_does_not_answer(
    http: httpx.Client, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone() -> Any:
        raise StoreUnavailable(f"{store.url} cannot be opened")

    monkeypatch.setattr(store, "read", gone)
    found = http.get("/api/v1/health")
    assert (found.status_code, found.json()["error"]) == (503, "unavailable")
    assert found.headers["retry-after"] == "1"
    assert store.url not in found.text


def test_openapi_describes_every_route_with_examples(http: httpx.Client) -> None:
    described = http.get("/api/v1/openapi.json").json()
    assert described["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    for route in ROUTES:
        found = described["paths"][route.address][route.method.lower()]
        assert found["summary"]
        assert found["description"]
        assert {"400", "405", "429", "503", str(route.status)} <= set(found["responses"])
        if route.body is not None:
            examples = found["requestBody"]["content"]["application/json"]["examples"]
            for example in examples.values():
                route.body.model_validate(example["value"])
        if route.answer is not None:
            content = found["responses"][str(route.status)]["content"]["application/json"]
            for example in content["examples"].values():
                route.answer.model_validate(example["value"])
        for status, response in found["responses"].items():
            if not status.startswith("2"):
                for example in response["content"]["application/json"]["examples"].values():
                    response_models.ErrorAnswer.model_validate(example["value"])
        if route.scope is not None:
            assert found["security"] == [{"token": []}, {}]
    for name in ("ErrorAnswer", "CreateBody", "ToldRound", "RoundAnswer"):
        assert name in described["components"]["schemas"]
    text = json.dumps(described)
    for name in {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}:
        assert name in described["components"]["schemas"], name
    for path in ("/docs", "/redoc", "/openapi.json"):
        assert http.get(path).status_code == 404


def test_metrics_count_what_happened(http: httpx.Client, store: Store) -> None:
    funds(store)
    http.post("/api/v1/studies/funds/ask", json={"client": "a"})
    http.post("/api/v1/studies/funds/rounds/1/tell", json={"outcome": {**OUTCOME, "SPY": 7.0}})
    http.post("/api/v1/studies/funds/rounds/4/tell", json={"outcome": OUTCOME})
    http.post("/api/v1/studies/funds/rounds/4/amend", json={"outcome": {**OUTCOME, "SPY": 7.0}})
    http.get("/nowhere/at/all")
    lines = http.get("/api/v1/metrics").text.splitlines()
    assert "covbandit_asks_total 1.0" in lines
    assert "covbandit_tells_total 1.0" in lines
    assert "covbandit_amendments_total 1.0" in lines
    assert "covbandit_conflicts_total 1.0" in lines
    assert "covbandit_store_up 1.0" in lines
    assert 'covbandit_told_rounds{study="funds"} 4.0' in lines
    assert 'covbandit_open_rounds{study="funds"} 1.0' in lines
    route = "/api/v1/studies/{name}/rounds/{round_id}/tell"
    assert f'covbandit_requests_total{{method="POST",route="{route}",status="409"}} 1.0' in lines
    assert 'covbandit_requests_total{method="GET",route="unmatched",status="404"} 1.0' in lines
    assert any(line.startswith('covbandit_request_seconds_bucket{le="0.01",route="') for line in lines)
    assert any(line.startswith("covbandit_build_info{version=") for line in lines)


def test_services_do_not_share_their_counters(store: Store) -> None:
    with calling(store) as one, calling(store) as other:
        one.get("/api/v1/health")
        assert "health" in one.get("/api/v1/metrics").text
        assert "health" not in other.get("/api/v1/metrics").text


def test_two_services_of_one_store_see_the_same(store: Store) -> None:
    funds(store)
    with calling(store) as one, calling(store) as other:
        for k, (asking, telling) in enumerate([(one, other), (other, one)] * 3):
            asked = asking.post("/api/v1/studies/funds/ask", json={"key": f"k{k}"}).json()
            told = telling.post(f"/api/v1/studies/funds/rounds/{asked['id']}/tell", json={"outcome": OUTCOME})
            assert told.json()["status"] == "told"
        assert one.get("/api/v1/studies/funds/verify").json()["ok"]
        assert one.get("/api/v1/studies/funds/explain").json() == other.get("/api/v1/studies/funds/explain").json()


def test_every_answer_has_the_security_headers(http: httpx.Client, store: Store) -> None:
    for path in ("/", "/dashboard/app.js", "/api/v1/health", "/api/v1/studies/none", "/nowhere"):
        found = http.get(path)
        policy = found.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        assert "unsafe" not in policy
        assert found.headers["x-content-type-options"] == "nosniff"
        assert found.headers["referrer-policy"] == "no-referrer"
        assert found.headers["cross-origin-opener-policy"] == "same-origin"
        assert "permissions-policy" in found.headers
        assert found.headers["cache-control"] == ("no-store" if path.startswith("/api") else "no-cache")
        assert not [name for name in found.headers if name.startswith("access-control")]
        assert "server" not in found.headers


def test_the_dashboard_is_served_from_memory(http: httpx.Client) -> None:
    page = http.get("/")
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert http.get("/", headers={"If-None-Match": page.headers["etag"]}).status_code == 304
    for path in ("/dashboard/../app.py", "/dashboard/%2e%2e/app.py", "/dashboard//etc/passwd", "/dashboard/nothing.js"):
        assert http.get(path).status_code == 404
    found = http.post("/", json={})
    assert (found.status_code, found.headers["allow"]) == (405, "GET, HEAD")


def test_the_log_has_no_tokens_and_no_queries(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    token = create_token(store, "desk", "read")
    with caplog.at_level(logging.INFO, logger="covbandit"), calling(store, token=token) as http:
        http.get(f"/api/v1/studies?secret={token}")
        http.get("/api/v1/studies/a%0Ab%20c", headers={"Authorization": f"Bearer {token}x"})
    lines = [record.getMessage() for record in caplog.records if record.name == "covbandit.access"]
    assert len(lines) == 2
    assert token.split("_")[1] in lines[0]  # the id: who it was
    assert "/api/v1/studies/a%0Ab%20c 401" in lines[1]
    assert token.split("_")[2] not in caplog.text
    assert "secret" not in caplog.text


def test_answers_are_strict_json() -> None:
    assert json_bytes({"a": float("nan"), "b": [float("inf"), (1.5,)], "c": "é"}) == (
        b'{"a":null,"b":[null,[1.5]],"c":"\\u00e9"}'
    )


def test_reading_changes_nothing(http: httpx.Client, store: Store) -> None:
    funds(store)
    before = everything(store)
    for route in ROUTES:
        if route.method == "GET":
            assert http.get(route.address.format(name="funds", round_id=1)).status_code == 200
    assert everything(store) == before
