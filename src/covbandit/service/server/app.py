"""The application: studies over HTTP. It only puts the other files together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import compile_path

from covbandit.service.server.errors import NoSuchRoute, WrongMethod
from covbandit.service.server.middleware import ServiceMiddleware
from covbandit.service.server.openapi import describe, describe_route
from covbandit.service.server.requests import ROUTE
from covbandit.service.server.responses import error_response, json_response
from covbandit.service.server.routes import BASE, ROUTES, Endpoint
from covbandit.service.server.runtime import Service, Settings
from covbandit.service.server.static_files import StaticFile, read_static_files
from covbandit.studies import Store

# Starlette knows the methods of one route only, where several share an address.
_METHODS = [
    (compile_path(route.address)[0], method)
    for route in ROUTES
    for method in ((route.method, "HEAD") if route.method == "GET" else (route.method,))
]


def create_app(
    store: Store,
    *,
    host_names: tuple[str, ...] = (),
    require_tokens: bool = False,
    rate_limit: float | None = None,
    body_limit: int = 1 << 20,
    remember_tokens: float = 1.0,
) -> FastAPI:
    """Return the service of a store.

    The store stays open when the service ends; ``app.state.service`` holds what its routes share.

    Parameters
    ----------
    store : Store
        Where the studies are.
    host_names : tuple of str
        Names under which the service may be addressed, besides ``localhost``, ``127.0.0.1``, ``[::1]`` and the address
        that was connected to. Anything else in the header Host is refused.
    require_tokens : bool
        Demand tokens even while the store has none. As soon as the store has had one, they are demanded anyway.
    rate_limit : float, optional
        Requests a second for each token or address, with bursts of ten seconds' worth; 0 for no limit. By default 500,
        except for callers on the same machine while no tokens are needed.
    body_limit : int
        The most bytes of a request's body.
    remember_tokens : float
        Seconds for which the list of valid tokens is kept: a revoked one may still work that long.
    """
    service = Service(store, Settings(host_names, require_tokens, rate_limit, body_limit, remember_tokens))

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(service.close)  # beside the event loop, which has the last answers to send

    # FastAPI's own pages of documentation load scripts from other sites, which our content security policy forbids.
    app = FastAPI(
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
        exception_handlers={HTTPException: _no_route},
    )
    app.state.service = service
    for route in ROUTES:
        app.add_api_route(
            route.address,
            route.endpoint(service),
            methods=[route.method],
            status_code=route.status,
            response_model=None,
            response_class=Response,
            **describe_route(route),
        )
    app.openapi = lambda: describe(app)  # type: ignore[method-assign]
    app.add_route(f"{BASE}/openapi.json", _openapi(app), include_in_schema=False)
    for address, file in read_static_files().items():
        app.add_route(address, _static(file), methods=["GET"], include_in_schema=False)
    # After all others: every request is compared with one route after the other.
    for route in ROUTES:
        if route.method == "GET":
            app.add_route(route.address, route.endpoint(service), methods=["HEAD"], include_in_schema=False)
    app.add_middleware(ServiceMiddleware, service=service)
    return app


def _openapi(app: FastAPI) -> Endpoint:
    async def openapi(request: Request) -> Response:
        request.scope[ROUTE] = f"{BASE}/openapi.json"
        return json_response(app.openapi())

    return openapi


def _static(file: StaticFile) -> Endpoint:
    async def send(request: Request) -> Response:
        request.scope[ROUTE] = "dashboard"
        headers = {"Content-Type": file.media_type, "ETag": file.tag}
        if request.headers.get("if-none-match") == file.tag:
            return Response(status_code=304, headers=headers)
        return Response(file.content, headers=headers)

    return send


async def _no_route(request: Request, error: Any) -> Response:
    """Answer a request that no route takes."""
    if error.status_code == 405:
        path = request.scope["path"]
        allowed = {method for pattern, method in _METHODS if pattern.fullmatch(path)} or {"GET", "HEAD"}
        return error_response(WrongMethod(f"{request.method} is not possible here", ", ".join(sorted(allowed))))
    return error_response(NoSuchRoute("there is nothing at this address"))
