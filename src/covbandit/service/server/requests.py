"""Reading of requests: strict JSON of bounded size, query strings, round numbers."""

from __future__ import annotations

import json
import math
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect, Request

from covbandit.errors import NotFound
from covbandit.service.server.errors import BadRequest, TooLarge

Model = TypeVar("Model", bound=BaseModel)

_MOST_MISTAKES = 5  # named in one answer
_LONGEST_INTEGER = 18  # digits; what is longer is no round, and is read as a float
_LARGEST_ROUND = 2**63 - 1

READ_AT_ONCE = 64 * 1024
"""Bodies of up to so many bytes are parsed in the event loop: handing them to a thread would take longer."""

CALLER = "covbandit.caller"
"""In the scope of a request that was let in: whose it is."""

ROUTE = "covbandit.route"
"""In the scope of a request: the address of the route that takes it, for log and metrics."""

CUT_OFF = "covbandit.cut_off"
"""In the scope of a request whose connection the service itself ended: the error that says why."""


async def read_body(
    request: Request, model: type[Model], limit: int, in_thread: Callable[[Callable[[], Model]], Awaitable[Model]]
) -> Model:
    """Return the body of a request: strict JSON that fits a model.

    Parameters
    ----------
    request : Request
        Whose body to read.
    model : type
        The model that it must fit.
    limit : int
        The most bytes of the body.
    in_thread : callable
        Runs a function in a thread: the event loop must answer others while a large body is parsed.

    Raises
    ------
    BadRequest
        If it is not declared to be JSON, is not, or does not fit.
    TooLarge
        If it has more than `limit` bytes; the rest is not read.
    """
    declared = request.headers.get("content-type", "")
    if declared.partition(";")[0].strip().lower() != "application/json":
        # This also keeps pages of other sites out: a form cannot send this type, and a script has to ask first.
        raise BadRequest(f"the body must be sent as Content-Type: application/json, not {declared[:100]!r}")
    body = await _read(request, limit)
    if len(body) <= READ_AT_ONCE:
        return checked(model, parse_json(body), "the body")
    return await in_thread(lambda: checked(model, parse_json(body), "the body"))


async def _read(request: Request, limit: int) -> bytes:
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced[:20]) > limit:
        raise _too_large(limit)
    parts, size = [], 0
    try:
        async for part in request.stream():
            size += len(part)
            if size > limit:
                raise _too_large(limit)
            parts.append(part)
    except ClientDisconnect:
        error = request.scope.get(CUT_OFF)
        raise error or BadRequest("the connection ended before the body was complete") from None
    return b"".join(parts)


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"the body has more than {limit:,} bytes, the most this service reads")


def parse_json(body: bytes) -> Any:
    """Read strict JSON: UTF-8, finite numbers, no key twice, no half of a surrogate pair.

    Raises
    ------
    BadRequest
        If it is anything else.
    """
    try:
        value = json.loads(
            body.decode("utf-8"),
            object_pairs_hook=_object,
            parse_constant=_refuse_constant,
            parse_float=_finite,
            parse_int=_integer,
        )
        if b"\\u" in body:  # only an escape can hide half a surrogate pair, which no store keeps
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except BadRequest:
        raise
    except UnicodeEncodeError:
        raise BadRequest("the body holds half of a surrogate pair (\\ud800 ... \\udfff), which is no text") from None
    except UnicodeDecodeError:
        raise BadRequest("the body is not UTF-8") from None
    except RecursionError:
        raise BadRequest("the body is nested too deeply") from None
    except ValueError as error:
        raise BadRequest(f"the body is not JSON: {error}" if body else "the body is empty; JSON is expected") from None
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise BadRequest(
                    f"the body has the key {name[:100]!r} twice in one object; which one is meant is not clear"
                )
            seen.add(name)
    return value


def _refuse_constant(text: str) -> Any:
    raise BadRequest(f"{text} is no number of JSON; leave out what is unknown")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise BadRequest(f"the number {text[:40]} is too large")
    return value


def _integer(text: str) -> int | float:
    return int(text) if len(text) <= _LONGEST_INTEGER else _finite(text)


def checked(model: type[Model], value: Any, where: str) -> Model:
    """Return a value as the model that it must fit.

    Raises
    ------
    BadRequest
        If it does not fit: unknown, missing or wrongly typed fields, all named.
    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise BadRequest(f"{where}: {_mistakes(error)}") from None


def _mistakes(error: ValidationError) -> str:
    found = error.errors(include_url=False, include_context=False, include_input=False)
    said = []
    for mistake in found[:_MOST_MISTAKES]:
        place = ".".join(str(step)[:100] for step in mistake["loc"])
        said.append(f"{place}: {mistake['msg']}" if place else mistake["msg"])
    if len(found) > _MOST_MISTAKES:
        said.append(f"and {len(found) - _MOST_MISTAKES} more")
    return "; ".join(said)


def read_query(request: Request, model: type[Model] | None) -> Model | None:
    """Return the query string as the model that it must fit.

    Raises
    ------
    BadRequest
        If one is unknown, given twice or of the wrong type.
    """
    raw = request.scope["query_string"]
    if model is None:
        if raw:
            raise BadRequest("this address takes no parameters after a question mark")
        return None
    try:
        pairs = parse_qsl(raw.decode("ascii"), keep_blank_values=True, strict_parsing=bool(raw), errors="strict")
    except ValueError:  # also what cannot be decoded
        raise BadRequest("the part after the question mark must be name=value&name=value in UTF-8") from None
    values = dict(pairs)
    if len(values) < len(pairs):
        raise BadRequest("a parameter after the question mark is given twice")
    return checked(model, values, "after the question mark")


def round_number(text: str) -> int:
    """Return the number of a round, as its address has it.

    Raises
    ------
    BadRequest
        If it is no number.
    NotFound
        If no round can have it.
    """
    if not (text.isascii() and text.isdecimal()):
        raise BadRequest(f"a round's number must be a whole number, got {text[:100]!r}")
    if len(text) > 19 or int(text) > _LARGEST_ROUND:
        raise NotFound(f"there is no round {text[:40]}")
    return int(text)
