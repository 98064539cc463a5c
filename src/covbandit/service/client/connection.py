"""Requests, sent again where that is safe, and responses, which become values or exceptions of ours."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from covbandit import errors
from covbandit._version import __version__
from covbandit.core import validation
from covbandit.errors import CovbanditError, InvalidInput, MissingExtra, RateLimited, StoreUnavailable, Unreachable

if TYPE_CHECKING:
    import httpx

_FIRST_PAUSE = 0.1  # seconds; doubled after every failure
_LONGEST_PAUSE = 10.0
_ON_THE_WAY = (502, 504)  # what a proxy says when the service behind it does not answer

_BY_CODE: dict[str, type[CovbanditError]] = {
    "bad_request": errors.InvalidInput,
    "unauthorized": errors.Unauthorized,
    "forbidden": errors.Forbidden,
    "not_found": errors.NotFound,
    "conflict": errors.Conflict,
    "too_large": errors.InvalidInput,
    "too_slow": errors.Unreachable,
    "invalid": errors.InvalidInput,
    "rate_limited": errors.RateLimited,
    "unavailable": errors.StoreUnavailable,
    "internal": errors.CovbanditError,
}


class Answer:
    """A successful response.

    Attributes
    ----------
    content : bytes
        The body.
    """

    def __init__(self, content: bytes, where: str) -> None:
        self.content = content
        self._where = where

    @property
    def data(self) -> Any:
        """The body, read as JSON."""
        try:
            return json.loads(self.content)
        except ValueError:
            raise Unreachable(f"{self._where} answers, but not as covbandit does: check the address") from None


class Connection:
    """The connection to a service.

    Parameters
    ----------
    url, token, timeout, retries
        See `covbandit.Client`.
    transport : httpx.BaseTransport, optional
        How requests travel, if not by the network.
    sleep : callable
        How to wait.
    """

    def __init__(
        self,
        url: str,
        token: str | None,
        timeout: float,
        retries: int,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        try:
            import httpx
        except ModuleNotFoundError:
            raise MissingExtra("the client needs httpx: pip install 'covbandit[service]'") from None
        self.url = _as_address(url)
        if token is not None and not (token.isascii() and token.isprintable()):
            raise InvalidInput("token must be the text that `covbandit token create` printed")
        self._retries = validation.as_count(retries, "retries")
        self._sleep = sleep
        self._random = random.Random()
        self._lost = httpx.TransportError
        headers = {"User-Agent": f"covbandit/{__version__}", "Accept": "application/json"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        self._http = httpx.Client(
            base_url=f"{self.url}/api/v1",
            headers=headers,
            timeout=timeout,
            transport=transport,
            trust_env=not _is_this_machine(self.url),  # no proxy leads back here
        )

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def send(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, Any] | None = None,
        recall: Callable[[], Answer | None] | None = None,
    ) -> Answer:
        """Send a request until it is answered, and return the answer.

        Parameters
        ----------
        method, path, body, query
            What to send. Unless there is a `recall`, it must be what may be carried out twice without harm.
        recall : callable, optional
            Finds out, after an answer got lost, whether the request was carried out nevertheless; returns the answer
            then, and None if it has to be sent again.

        Raises
        ------
        CovbanditError
            What the service refused with; `Unreachable` if it did not answer.
        """
        content = None if body is None else as_json(body)
        headers = {} if body is None else {"Content-Type": "application/json"}
        perhaps_before = False
        for attempt in range(self._retries + 1):
            pause = 0.0
            try:
                found = self._http.request(method, path, content=content, params=query, headers=headers)
            except self._lost as error:
                problem: CovbanditError = Unreachable(
                    f"{self.url} does not answer ({type(error).__name__}: {error}); is it running? "
                    "Start it with: covbandit serve --store URL"
                )
                perhaps_before = True
            else:
                if found.is_success:
                    return Answer(found.content, self.url)
                problem = self._problem(found)
                again = found.status_code in _ON_THE_WAY or _may_help(problem)
                if not again:
                    if perhaps_before and recall is not None and (recalled := recall()) is not None:
                        return recalled  # refused because an earlier attempt, whose answer came too late, was not
                    raise problem
                if not isinstance(problem, RateLimited):
                    perhaps_before = True
                pause = _seconds(found.headers.get("retry-after"))
            if attempt == self._retries:
                raise problem
            # Jittered, so that clients who failed together do not come back together.
            growing = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2**attempt)
            self._sleep(max(pause, growing * self._random.uniform(0.5, 1.0)))
            if perhaps_before and recall is not None and (recalled := recall()) is not None:
                return recalled
        raise AssertionError("unreachable")

    def _problem(self, found: httpx.Response) -> CovbanditError:
        try:
            said = json.loads(found.content)
            code, message, hint = str(said["error"]), str(said["message"]), str(said["hint"])
        except (ValueError, TypeError, KeyError):
            return Unreachable(
                f"{self.url} answered {found.status_code} {found.reason_phrase}, but not as covbandit does: "
                "check the address, or what stands in between"
            )
        named = getattr(errors, found.headers.get("x-covbandit-error", ""), None)
        kind = _BY_CODE.get(code, CovbanditError)
        if (isinstance(named, type) and issubclass(named, kind)) or named in _SAME_CODE:
            kind = named
        retry_after = found.headers.get("retry-after")
        if kind is StoreUnavailable:
            problem: CovbanditError = StoreUnavailable(message, retry_after is not None)
        elif kind is RateLimited:
            problem = RateLimited(message, _seconds(retry_after))
        else:
            problem = kind(message)
        problem.hint = hint
        return problem


# Classes that share a code without being related by inheritance.
_SAME_CODE = (
    errors.Infeasible,
    errors.Unsupported,
    errors.NotIdentified,
    errors.NumericalFailure,
    errors.StoreSchemaError,
    errors.StateFileError,
    errors.MissingExtra,
)


def _may_help(problem: CovbanditError) -> bool:
    return isinstance(problem, RateLimited) or (isinstance(problem, StoreUnavailable) and problem.retryable)


def _seconds(text: str | None) -> float:
    try:
        return min(60.0, max(0.0, float(text or 0.0)))
    except ValueError:  # a date, as a proxy may write it
        return 1.0


def _as_address(url: object) -> str:
    wrong = InvalidInput(f"url must be the address that `covbandit serve` printed, http://host:port, got {url!r}")
    if not isinstance(url, str):
        raise wrong
    try:
        parts = urlsplit(url.strip())
        valid = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        raise wrong from None
    if not valid or parts.query or parts.fragment or parts.username is not None:
        raise wrong
    return url.strip().rstrip("/").removesuffix("/api/v1")


def _is_this_machine(url: str) -> bool:
    return urlsplit(url).hostname in ("localhost", "127.0.0.1", "::1")


def as_json(body: Mapping[str, Any]) -> bytes:
    """Return a body as strict JSON.

    Raises
    ------
    InvalidInput
        If a number is not finite, or something is no plain data.
    """
    try:
        return json.dumps(body, allow_nan=False).encode("ascii")
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"what is sent must be finite numbers and text: {error}; leave out the unknown") from None
