"""How the command line and the service report each class of errors: one table for both.

The command line ends with an exit code, the service answers with an HTTP status. Both give programs a short code, and
people a hint where the error has none of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from covbandit import errors

Entry = TypeVar("Entry")


@dataclass(frozen=True)
class ErrorReport:
    """What is said about an error.

    Attributes
    ----------
    status : int
        The exit code of the command line, or the status of the HTTP response.
    code : str
        The field ``error`` of the JSON object, for programs.
    hint : str
        The way out, unless the error has one of its own.
    """

    status: int
    code: str
    hint: str


class Reports(NamedTuple):
    """How one class of errors is reported: by the command line, and over HTTP."""

    command_line: ErrorReport
    http: ErrorReport


REPEATED_COMMANDS = "What is repeated is not counted twice; `ask` and `outside` need a --key (or --client) for that."
_REPEATED_REQUESTS = "A tell may be repeated later, it is not counted twice; so may ask and tell_outside, with a key."

_BAD_INPUT = ErrorReport(2, "invalid", "Nothing was changed; correct what the message names.")

ERROR_TABLE: dict[type[errors.CovbanditError], Reports] = {
    errors.Unauthorized: Reports(
        _BAD_INPUT,
        ErrorReport(401, "unauthorized", "Send the header Authorization: Bearer TOKEN."),
    ),
    errors.Forbidden: Reports(
        _BAD_INPUT,
        ErrorReport(403, "forbidden", "Use a token of a larger scope: read < tell < admin."),
    ),
    errors.NotFound: Reports(
        ErrorReport(3, "not_found", "`covbandit study list` shows the studies of a store."),
        ErrorReport(404, "not_found", "GET /api/v1/studies lists the studies."),
    ),
    errors.Conflict: Reports(
        ErrorReport(4, "conflict", "Nothing was changed; look at what is there, and decide."),
        ErrorReport(409, "conflict", "Nothing was changed; read what is there and decide."),
    ),
    errors.RateLimited: Reports(
        _BAD_INPUT,
        ErrorReport(429, "rate_limited", "Wait as long as the header Retry-After says, then repeat."),
    ),
    errors.StoreUnavailable: Reports(
        ErrorReport(5, "unavailable", REPEATED_COMMANDS),
        ErrorReport(503, "unavailable", _REPEATED_REQUESTS),
    ),
    errors.StoreSchemaError: Reports(
        ErrorReport(6, "unavailable", "Act as the message says."),
        ErrorReport(503, "unavailable", "The operator has to act as the message says."),
    ),
    errors.StateFileError: Reports(
        _BAD_INPUT,
        ErrorReport(503, "unavailable", "The operator has to look at the store: covbandit study verify."),
    ),
    errors.MissingExtra: Reports(
        _BAD_INPUT,
        ErrorReport(503, "unavailable", "The operator has to install it where the service runs."),
    ),
    errors.Unreachable: Reports(
        _BAD_INPUT,
        ErrorReport(503, "unavailable", _REPEATED_REQUESTS),
    ),
    errors.CovbanditError: Reports(
        _BAD_INPUT,
        ErrorReport(422, "invalid", "Nothing was changed; correct the value that the message names."),
    ),
}
"""By class; an error that is not listed is reported like the nearest of its base classes."""


def look_up(table: Mapping[type[BaseException], Entry], error: BaseException) -> Entry | None:
    """Return the entry of an error's class, or else of the nearest of its base classes; None if there is none.

    Examples
    --------
    >>> look_up({ArithmeticError: "numbers", Exception: "else"}, ZeroDivisionError())
    'numbers'
    """
    for ancestor in type(error).__mro__:
        if ancestor in table:
            return table[ancestor]
    return None
