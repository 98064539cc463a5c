"""Every answer that is not a success: one table, one shape ``{error, message, hint}``."""

from __future__ import annotations

import json
import logging
import math
from dataclasses import dataclass

from starlette.responses import Response

from covbandit import errors
from covbandit.errors import CovbanditError

log = logging.getLogger("covbandit.service")

CLASS_HEADER = "X-Covbandit-Error"
"""Names the error's class, so that the client raises the same."""


class BadRequest(errors.InvalidInput):
    """A request that cannot be read: no JSON, wrong types, unknown parameters, a foreign host name."""


class TooLarge(errors.InvalidInput):
    """A body beyond the limit."""


class HeadTooLarge(errors.InvalidInput):
    """A request line and headers beyond the limit."""


class AddressTooLong(HeadTooLarge):
    """A request line beyond the limit."""


class TooSlow(errors.Unreachable):
    """A request that did not arrive in the time it has for that."""


class Crowded(errors.StoreUnavailable):
    """More connections than the service can hold."""


class Stopping(errors.StoreUnavailable):
    """A request that the service could not finish before its own end."""

    def __init__(self) -> None:
        super().__init__(
            "the service is stopping, and could not finish this request; nothing was changed by it, or all that was "
            "asked for"
        )


class NoSuchRoute(errors.NotFound):
    """An address the service does not have."""


class WrongMethod(errors.InvalidInput):
    """An address that exists, with a method it does not know.

    Attributes
    ----------
    allowed : str
        The methods it knows, separated by commas.
    """

    def __init__(self, message: str, allowed: str) -> None:
        super().__init__(message)
        self.allowed = allowed


@dataclass(frozen=True)
class Kind:
    """How a class of errors is answered.

    Attributes
    ----------
    status : int
        Of HTTP.
    code : str
        The field ``error``.
    hint : str
        The way out, unless the error itself has one.
    """

    status: int
    code: str
    hint: str


_AGAIN = "A tell may be repeated later, it is not counted twice; so may ask and tell_outside, with a key."

_NOT_FOR_STRANGERS = "the service runs, but its store cannot be used now"
_LOOK_INTO_THE_LOG = "Repeat the request later; the operator finds the cause in the service's log."

# The first class in an error's line of ancestors that stands here decides.
TABLE: dict[type[BaseException], Kind] = {
    BadRequest: Kind(400, "bad_request", "Compare the request with /api/v1/openapi.json."),
    TooLarge: Kind(413, "too_large", "Send less at a time, or let the operator raise --body-limit."),
    AddressTooLong: Kind(414, "too_large", "Put less into the address."),
    HeadTooLarge: Kind(431, "too_large", "Send fewer or shorter headers."),
    TooSlow: Kind(408, "too_slow", "Send the request again, without pauses."),
    NoSuchRoute: Kind(404, "not_found", "All addresses are listed in /api/v1/openapi.json."),
    WrongMethod: Kind(405, "bad_request", "The header Allow lists the methods of this address."),
    errors.Unauthorized: Kind(401, "unauthorized", "Send the header Authorization: Bearer TOKEN."),
    errors.Forbidden: Kind(403, "forbidden", "Use a token of a larger scope: read < tell < admin."),
    errors.NotFound: Kind(404, "not_found", "GET /api/v1/studies lists the studies."),
    errors.Conflict: Kind(409, "conflict", "Nothing was changed; read what is there and decide."),
    errors.RateLimited: Kind(429, "rate_limited", "Wait as long as the header Retry-After says, then repeat."),
    errors.StoreUnavailable: Kind(503, "unavailable", _AGAIN),
    errors.StoreSchemaError: Kind(503, "unavailable", "The operator has to act as the message says."),
    errors.StateFileError: Kind(503, "unavailable", "The operator has to look at the store: covbandit study verify."),
    errors.MissingExtra: Kind(503, "unavailable", "The operator has to install it where the service runs."),
    errors.Unreachable: Kind(503, "unavailable", _AGAIN),
    CovbanditError: Kind(422, "invalid", "Nothing was changed; correct the value that the message names."),
}

INTERNAL = Kind(500, "internal", "This is a mistake in covbandit; the service's log has the details.")

_RETRY_SECONDS = 1  # for a store that is busy or coming back


def kind_of(error: BaseException) -> Kind:
    """Return how an error is answered."""
    for ancestor in type(error).__mro__:
        if ancestor in TABLE:
            return TABLE[ancestor]
    return INTERNAL


def answer_to(error: BaseException, store_url: str = "", admitted: bool = True) -> Response:
    """Return the answer that reports an error; what is not one of ours is logged, and its text kept back.

    Parameters
    ----------
    error : exception
        What was raised.
    store_url : str
        The store's address, which is the operator's business: messages for clients do not name it.
    admitted : bool
        Whether whoever asks was let in. What a database says of itself names host, port and database: strangers are
        told only that it does not answer, and the log has the rest.
    """
    kind = kind_of(error)
    if kind is INTERNAL:
        log.error("unexpected error", exc_info=error)
        message = "the service failed unexpectedly; nothing was changed, or all that was asked for"
    else:
        message = str(error)
        if store_url:
            message = message.replace(store_url, "the store")
    hint = getattr(error, "hint", "") or kind.hint
    if kind.status == 503 and not isinstance(error, Crowded | Stopping):
        log.warning("the store cannot be used: %s", error)
        if not admitted:
            message, hint = _NOT_FOR_STRANGERS, _LOOK_INTO_THE_LOG
    headers = {CLASS_HEADER: type(error).__name__}
    if kind.status == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="covbandit"'
    elif isinstance(error, WrongMethod):
        headers["Allow"] = error.allowed
    elif isinstance(error, errors.RateLimited):
        headers["Retry-After"] = str(max(1, math.ceil(error.retry_after)))
    elif isinstance(error, errors.Unreachable) or (isinstance(error, errors.StoreUnavailable) and error.retryable):
        headers["Retry-After"] = str(_RETRY_SECONDS)
    content = json.dumps({"error": kind.code, "message": message, "hint": hint})
    return Response(content, kind.status, headers, "application/json")
