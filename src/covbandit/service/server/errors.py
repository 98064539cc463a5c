"""What the server refuses by itself, before a study is asked; and the response status of every class of errors."""

from __future__ import annotations

from covbandit import errors
from covbandit.core.error_table import ERROR_TABLE, ErrorReport, look_up


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
            "the service is stopping, and could not finish this request; the request was either applied completely or "
            "not at all"
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


# Before the classes that are reported everywhere, since the documentation shows the first entry of a status.
TABLE: dict[type[BaseException], ErrorReport] = {
    BadRequest: ErrorReport(400, "bad_request", "Compare the request with /api/v1/openapi.json."),
    TooLarge: ErrorReport(413, "too_large", "Send less at a time, or let the operator raise --body-limit."),
    AddressTooLong: ErrorReport(414, "too_large", "Put less into the address."),
    HeadTooLarge: ErrorReport(431, "too_large", "Send fewer or shorter headers."),
    TooSlow: ErrorReport(408, "too_slow", "Send the request again, without pauses."),
    NoSuchRoute: ErrorReport(404, "not_found", "All addresses are listed in /api/v1/openapi.json."),
    WrongMethod: ErrorReport(405, "bad_request", "The header Allow lists the methods of this address."),
    **{kind: reports.http for kind, reports in ERROR_TABLE.items()},
}

INTERNAL = ErrorReport(500, "internal", "This is a mistake in covbandit; the service's log has the details.")


def report_of(error: BaseException) -> ErrorReport:
    """Return how an error is answered."""
    return look_up(TABLE, error) or INTERNAL
