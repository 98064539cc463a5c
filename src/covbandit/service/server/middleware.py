"""What every request passes: host names, tokens, limits; and every response: security headers, log and metrics."""

from __future__ import annotations

import asyncio
import logging
import time
from ipaddress import ip_address, ip_network
from urllib.parse import quote

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from covbandit.errors import CovbanditError
from covbandit.service.server.auth import Caller
from covbandit.service.server.errors import BadRequest, Stopping
from covbandit.service.server.requests import CALLER, ROUTE
from covbandit.service.server.responses import error_response
from covbandit.service.server.routes import BASE, ROUTES
from covbandit.service.server.runtime import Service

access_log = logging.getLogger("covbandit.access")

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
_OPEN = frozenset({route.address for route in ROUTES if route.scope is None} | {f"{BASE}/openapi.json"})
_HEALTH = f"{BASE}/health"
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"})

_SECURITY_HEADERS = [
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        b"font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
]
API_HEADERS = [*_SECURITY_HEADERS, (b"cache-control", b"no-store")]
"""Headers of every response of the API."""

# Browsers keep pages, and ask each time whether they changed; the tags make that cheap.
_PAGE_HEADERS = [*_SECURITY_HEADERS, (b"cache-control", b"no-cache")]


class ServiceMiddleware:
    """The outermost layer of the application, in plain ASGI, which costs microseconds.

    Parameters
    ----------
    app : ASGI application
        The application behind it.
    service : Service
        The running service.
    """

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service
        self._hosts = _LOOPBACK | {host_name(name) for name in service.settings.host_names}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or answer why not."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = time.perf_counter()
        self._service.metrics.in_flight.inc()
        status = 0
        added = API_HEADERS if scope["path"].startswith("/api/") else _PAGE_HEADERS
        head = scope["method"] == "HEAD"

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *added]
            elif head:
                message = {**message, "body": b""}
            await send(message)

        try:
            await self._admit(scope)
            await self._app(scope, receive, send_with_headers)
        except (Exception, asyncio.CancelledError) as error:  # every request gets a response, in our shape
            if isinstance(error, asyncio.CancelledError):  # the service stops before a thread takes it
                if not self._service.stopping:
                    raise
                error = Stopping()
            self._service.metrics.refusal(error)
            if status:  # too late for a response of ours
                raise
            admitted = scope.get(CALLER) is not None
            await error_response(error, self._service.store.url, admitted)(scope, receive, send_with_headers)
        finally:
            self._record(scope, status, time.perf_counter() - begun)

    async def _admit(self, scope: Scope) -> None:
        authorization = self._check_headers(scope)
        path: str = scope["path"]
        authenticator = self._service.authenticator
        caller: Caller | None = None
        refusal: CovbanditError | None = None
        counted = False
        if path.startswith(BASE) and path not in _OPEN:
            if not authenticator.up_to_date:
                # Counted before the store is asked, if the caller is known: the store may be slow, or down.
                counted, known = authenticator.presumed(authorization)
                if counted:
                    self._limit(scope, known)
                await self._service.refresh_tokens()
            try:
                caller = authenticator.authenticate(authorization)
            except CovbanditError as error:
                refusal = error
        if not counted:
            self._limit(scope, caller)
        if refusal is not None:
            raise refusal
        scope[CALLER] = caller

    def _check_headers(self, scope: Scope) -> bytes | None:
        """Check the host name; return the header Authorization."""
        hosts = 0
        authorization = None
        for name, value in scope["headers"]:
            if name == b"host":
                hosts += 1
                host = value
            elif name == b"authorization":
                authorization = value
        if hosts != 1:
            raise BadRequest("a request needs exactly one header Host")
        named = host_name(host.decode("latin-1"))
        if named not in self._hosts:
            server = scope.get("server")
            # The very address that was connected to: no name, so no other site's name can lead here.
            if server is None or named != host_name(str(server[0])):
                error = BadRequest(f"this service is not known as {named[:100]!r}")
                error.hint = "Use localhost, or let the operator name it: covbandit serve --allow-host NAME"
                raise error
        return authorization

    def _limit(self, scope: Scope, caller: Caller | None) -> None:
        limit = self._service.rate_limit
        if not limit.per_second or scope["path"] == _HEALTH:  # monitoring must not conclude that the service is down
            return
        if caller is not None and caller.token is not None:
            limit.take(caller.token)
            return
        address = scope["client"][0] if scope.get("client") else ""
        by_default = self._service.settings.rate_limit is None
        if by_default and not self._service.authenticator.wants_tokens and is_loopback(address):
            return
        limit.take(_neighbourhood(address))

    def _record(self, scope: Scope, status: int, seconds: float) -> None:
        self._service.metrics.in_flight.dec()
        method = scope["method"] if scope["method"] in _METHODS else "OTHER"
        self._service.metrics.request(scope.get(ROUTE, "unmatched"), method, status, seconds)
        if access_log.isEnabledFor(logging.INFO):
            caller = scope.get(CALLER)
            # Never the query or a header, where a secret may be; quoted, so that a path cannot forge a line.
            access_log.info(
                "%s %s %s %s %d %.1f ms",
                scope["client"][0] if scope.get("client") else "-",
                caller.token if caller is not None and caller.token is not None else "-",
                method,
                quote(scope["path"][:500], safe="/%", errors="replace"),
                status,
                1e3 * seconds,
            )


def host_name(host: str) -> str:
    """Return a host's name without its port, in one spelling; what has neither name nor port is left as it is."""
    name = host.strip().lower()
    if name.count(":") > 1 and not name.startswith("["):  # an IPv6 address without brackets
        return f"[{name}]"
    end = name.find("]") + 1 if name.startswith("[") else name.find(":")
    if end == 0:  # a bracket that does not close
        return name
    alone, port = (name, "") if end < 0 else (name[:end], name[end:])
    if port and not (port[0] == ":" and (port == ":" or (port[1:].isascii() and port[1:].isdecimal()))):
        return name
    return alone.removesuffix(".")


def is_loopback(host: str) -> bool:
    """Return True if an address, or the name localhost, stays within this machine."""
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _neighbourhood(address: str) -> str:
    """Return what shares a rate limit: an IPv4 address, or the network that one customer gets under IPv6."""
    if ":" not in address:
        return address
    try:
        return str(ip_network((address.partition("%")[0], 64), strict=False))
    except ValueError:
        return address
