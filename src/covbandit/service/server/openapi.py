"""The OpenAPI description: every route with examples, every status it can answer, and how to show a token."""

from __future__ import annotations

import inspect
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel

from covbandit._version import __version__
from covbandit.service.server.errors import TABLE
from covbandit.service.server.response_models import ErrorAnswer
from covbandit.service.server.routes import ROUTES, Route

_ABOUT = """Durable ask/tell: ask for weights over correlated options, tell what happened, for months.

**Start here.** `POST /api/v1/studies` creates a study, `POST /api/v1/studies/{name}/ask` proposes weights,
`POST /api/v1/studies/{name}/rounds/{round_id}/tell` tells what came of them.

**Retrying is safe.** An ask with a client or a key gives the same round again; an outcome told twice counts once; a
different outcome is a conflict that changes nothing.

**Errors** have one shape: `{error, message, hint}`; `error` is for programs, the rest for people.

**Tokens** are needed as soon as the store has one: `Authorization: Bearer TOKEN`. Scopes are read < tell < admin.
"""

_STATUSES = {
    400: "The request cannot be read: no JSON, wrong types, unknown parameters, a foreign host name.",
    401: "A token is needed, and there is none, or it is not valid.",
    403: "The token's scope is too small.",
    404: "There is no such study, round or address.",
    405: "The address does not know this method.",
    409: "The request contradicts what is there; nothing was changed.",
    413: "The body is too large.",
    422: "The request was read, and its content refused; nothing was changed.",
    429: "Too many requests; the header Retry-After says how long to wait.",
    503: "The store cannot be used now. With the header Retry-After, repeating later may help, and is safe.",
}
_RETRY = {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer", "minimum": 1}}}

_PATH = {
    "name": {
        "name": "name",
        "in": "path",
        "required": True,
        "description": "The study's name.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 200},
        "example": "funds",
    },
    "round_id": {
        "name": "round_id",
        "in": "path",
        "required": True,
        "description": "The round's number, from 1.",
        "schema": {"type": "integer", "minimum": 1, "maximum": 2**53},
        "example": 1,
    },
}
_FILES: dict[str, Any] = {
    "/metrics": {"text/plain": {"schema": {"type": "string"}, "example": "covbandit_asks_total 7.0"}},
    "/studies/{name}/export": {
        "text/csv": {"schema": {"type": "string"}, "example": "round,status\n1,told\n"},
        "application/json": {"schema": {}, "example": {"study": "funds", "rounds": []}},
        "application/vnd.apache.parquet": {"schema": {"type": "string", "format": "binary"}},
    },
}


def describe_route(route: Route) -> dict[str, Any]:
    """Return the arguments with which FastAPI describes a route."""
    text = inspect.getdoc(route.run) or ""
    success: dict[str, Any] = {"description": text.partition("\n")[0]}
    success["content"] = _FILES[route.path] if route.answer is None else _json_of(route.answer)
    extra: dict[str, Any] = {"parameters": _parameters(route)}
    if route.body is not None:
        extra["requestBody"] = {"required": True, "content": _json_of(route.body)}
    if route.scope is not None:
        extra["security"] = [{"token": []}, {}]  # {}: none is needed while the store has no token
        extra["x-scope"] = route.scope
    return {
        "operation_id": route.run.__name__,
        "summary": text.partition("\n")[0].rstrip("."),
        "description": text + ("" if route.scope is None else f"\n\nScope: **{route.scope}**."),
        "tags": ["studies" if "/studies" in route.path else "service"],
        "responses": {route.status: success, **{status: _error(status) for status in _statuses(route)}},
        "openapi_extra": extra,
    }


def _statuses(route: Route) -> list[int]:
    """Return the statuses of errors that a route can answer with."""
    possible = {400, 405, 429, 503}
    if route.scope is not None:
        possible |= {401, 403}
    if "{name}" in route.path:
        possible |= {404, 422}
    if route.body is not None:
        possible |= {409, 413, 422}
    return sorted(possible)


def _error(status: int) -> dict[str, Any]:
    report = next(report for report in TABLE.values() if report.status == status)
    example = {"error": report.code, "message": _STATUSES[status], "hint": report.hint}
    found = {"description": _STATUSES[status], "content": _json_of(ErrorAnswer, [example])}
    return {**found, "headers": _RETRY} if status == 429 else found


def _parameters(route: Route) -> list[dict[str, Any]]:
    found = [dict(described) for name, described in _PATH.items() if f"{{{name}}}" in route.path]
    if route.query is not None:
        for name, schema in route.query.model_json_schema()["properties"].items():
            found.append(
                {
                    "name": name,
                    "in": "query",
                    "required": False,
                    "description": schema.pop("description", ""),
                    "schema": {key: value for key, value in _not_null(schema).items() if key != "title"},
                }
            )
    return found


def _not_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an optional parameter without null, which a query string cannot say."""
    choices = [choice for choice in schema.get("anyOf", ()) if choice.get("type") != "null"]
    return choices[0] if choices else schema


def describe(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI description of the service, made once."""
    if app.openapi_schema is None:
        made = get_openapi(
            title="covbandit",
            version=__version__,
            summary="Online allocation over correlated options.",
            description=_ABOUT,
            routes=app.routes,
            license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        )
        components = made.setdefault("components", {})
        components["securitySchemes"] = {
            "token": {
                "type": "http",
                "scheme": "bearer",
                "bearerFormat": "cbt_<id>_<secret>",
                "description": "Made by `covbandit token create LABEL --scope read|tell|admin --store URL`.",
            }
        }
        schemas: dict[str, Any] = {}
        _add_model(schemas, ErrorAnswer)
        for route in ROUTES:
            for model in (route.body, route.answer):
                if model is not None:
                    _add_model(schemas, model)
            if route.answer is not None:  # once more, since FastAPI leaves null out of examples
                found = made["paths"][route.address][route.method.lower()]
                found["responses"][str(route.status)]["content"] = _json_of(route.answer)
        components["schemas"] = dict(sorted(schemas.items()))
        app.openapi_schema = made
    return app.openapi_schema


def _json_of(model: type[BaseModel], examples: list[Any] | None = None) -> dict[str, Any]:
    if examples is None:
        extra: Any = model.model_config.get("json_schema_extra") or {}
        examples = extra.get("examples", [])
    return {
        "application/json": {
            "schema": {"$ref": f"#/components/schemas/{model.__name__}"},
            "examples": {f"example {k}": {"value": value} for k, value in enumerate(examples, 1)},
        }
    }


def _add_model(schemas: dict[str, Any], model: type[BaseModel]) -> None:
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas.update(schema.pop("$defs", {}))
    schemas[model.__name__] = schema
