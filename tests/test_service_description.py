"""The OpenAPI description, tried by schemathesis: what it generates is never answered by a 500, always as described."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import CHECKS, load_all_checks

from covbandit.service.server.app import create_app
from covbandit.studies import Store, Study
from service_calls import calling, everything, funds

load_all_checks()
# What a description cannot say: which names and numbers make sense together. So neither is every body that fits the
# description accepted, nor is every other one refused with a particular status.
LEFT_OUT = ("positive_data_acceptance", "negative_data_rejection", "missing_required_header", "ignored_auth")
CHOSEN = [check for check in CHECKS.get_all() if check.__name__ not in LEFT_OUT]


def _description() -> dict[str, Any]:
    class Nowhere:
        """Stands in for a store: describing the service does not touch one."""

        is_sqlite = True

    app = create_app(Nowhere())  # type: ignore[arg-type]
    app.state.service.close()
    return app.openapi()


schema = schemathesis.openapi.from_dict(_description())


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store(tmp_path_factory.mktemp("description") / "studies.db", create=True) as opened:
        funds(opened)
        yield opened


@pytest.fixture(scope="module")
def http(store: Store) -> Iterator[httpx.Client]:
    with calling(store) as client:
        yield client


def test_the_checks_are_there() -> None:
    names = {check.__name__ for check in CHOSEN}
    assert {
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_schema_conformance",
        "response_headers_conformance",
        "unsupported_method",
    } <= names


@schema.parametrize()
@settings(
    max_examples=12,
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_answers_are_as_described(case: schemathesis.Case, http: httpx.Client, store: Store) -> None:
    if "name" in case.path_parameters and case.path_parameters["name"] != "":
        case.path_parameters["name"] = "funds"  # else almost every request would end at an unknown study
    before = everything(store)
    asked = case.as_transport_kwargs(base_url="http://localhost")
    found = http.request(
        asked["method"],
        asked["url"],
        headers=asked.get("headers"),
        params=asked.get("params"),
        **({"json": asked["json"]} if "json" in asked else {"content": asked.get("data")}),
    )
    case.validate_response(found, checks=CHOSEN)
    if not found.is_success:
        assert everything(store) == before
    elif case.method == "POST":
        assert Study.open("funds", store=store).verify().ok
