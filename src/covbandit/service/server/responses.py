"""Responses: strict JSON, and the one shape of every error."""

from __future__ import annotations

import json
import logging
import math
from typing import Any

from starlette.responses import Response

from covbandit import errors
from covbandit.service.server.errors import INTERNAL, Crowded, Stopping, WrongMethod, report_of

log = logging.getLogger("covbandit.service")

CLASS_HEADER = "X-Covbandit-Error"
"""Names the error's class, so that the client raises the same."""

_RETRY_SECONDS = 1  # for a store that is busy or coming back
_NOT_FOR_STRANGERS = "the service runs, but its store cannot be used now"
_LOOK_INTO_THE_LOG = "Repeat the request later; the operator finds the cause in the service's log."


def json_bytes(value: Any) -> bytes:
    """Return plain data as strict JSON; a number that is not finite becomes null, since JSON has none."""
    try:
        return _encode(value)
    except ValueError:
        return _encode(_finite(value))


def json_response(value: Any, status: int = 200) -> Response:
    """Return plain data as a response."""
    return Response(json_bytes(value), status, media_type="application/json")


def error_response(error: BaseException, store_url: str = "", admitted: bool = True) -> Response:
    """Return the response to an error: ``{error, message, hint}``.

    An error that is not one of ours is logged, and its text is kept back.

    Parameters
    ----------
    error : exception
        What was raised.
    store_url : str
        The store's address, which is the operator's business: messages for clients do not name it.
    admitted : bool
        Whether the caller was let in. The messages of a database name its host, port and name: strangers are told only
        that it does not answer, and the log has the rest.
    """
    report = report_of(error)
    if report is INTERNAL:
        log.error("unexpected error", exc_info=error)
        message = "the service failed unexpectedly; the request was either applied completely or not at all"
    else:
        message = str(error)
        if store_url:
            message = message.replace(store_url, "the store")
    hint = getattr(error, "hint", "") or report.hint
    if report.status == 503 and not isinstance(error, Crowded | Stopping):
        log.warning("the store cannot be used: %s", error)
        if not admitted:
            message, hint = _NOT_FOR_STRANGERS, _LOOK_INTO_THE_LOG
    headers = {CLASS_HEADER: type(error).__name__}
    if report.status == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="covbandit"'
    elif isinstance(error, WrongMethod):
        headers["Allow"] = error.allowed
    elif isinstance(error, errors.RateLimited):
        headers["Retry-After"] = str(max(1, math.ceil(error.retry_after)))
    elif isinstance(error, errors.Unreachable) or (isinstance(error, errors.StoreUnavailable) and error.retryable):
        headers["Retry-After"] = str(_RETRY_SECONDS)
    content = json.dumps({"error": report.code, "message": message, "hint": hint})
    return Response(content, report.status, headers, "application/json")


def _encode(value: Any) -> bytes:
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode("ascii")


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
