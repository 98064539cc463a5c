"""The application: studies over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import compile_path

from covbandit.service.documentation import describe, describe_operation
from covbandit.service.failures import NoSuchRoute, WrongMethod, answer_to
from covbandit.service.gate import ROUTE, VISITOR, Gate
from covbandit.service.lifecycle import Service, Settings
from covbandit.service.operations import BASE, OPERATIONS, Call, Operation
from covbandit.service.pages import Page, read_pages
from covbandit.service.reading import read_body, read_query
from covbandit.service.writing import json_answer
from covbandit.studies import Store

# Starlette knows the methods of one route only, where several share an address.
_METHODS = [
    (compile_path(operation.route)[0], method)
    for operation in OPERATIONS
    for method in ((operation.method, "HEAD") if operation.method == "GET" else (operation.method,))
]

Endpoint = Callable[[Request], Awaitable[Response]]


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
        Want tokens even while the store has none. Once it has had one they are wanted anyway.
    rate_limit : float, optional
        Requests a second for each token or address, with bursts of ten seconds' worth; 0 for no limit. By default 500,
        except for whoever comes from the same machine while no tokens are needed.
    body_limit : int
        The most bytes of a request's body.
    remember_tokens : float
        Seconds for which a look at the tokens holds: so long may a revoked one still work.
    """
    service = Service(store, Settings(host_names, require_tokens, rate_limit, body_limit, remember_tokens))

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(service.close)  # beside the event loop, which has the last answers to send

    # The usual pages of documentation load scripts from elsewhere, which the service's own policy forbids.
    app = FastAPI(
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
        exception_handlers={HTTPException: _unrouted},
    )
    app.state.service = service
    for operation in OPERATIONS:
        app.add_api_route(
            operation.route,
            _endpoint(service, operation),
            methods=[operation.method],
            status_code=operation.status,
            response_model=None,
            response_class=Response,
            **describe_operation(operation),
        )
    app.openapi = lambda: describe(app)  # type: ignore[method-assign]
    app.add_route(f"{BASE}/openapi.json", _openapi(app), include_in_schema=False)
    pages = read_pages()
    for address in pages:
        app.add_route(address, _page(pages[address]), methods=["GET"], include_in_schema=False)
    # After all others: every request is compared with one route after the other.
    for operation in OPERATIONS:
        if operation.method == "GET":
            app.add_route(operation.route, _endpoint(service, operation), methods=["HEAD"], include_in_schema=False)
    app.add_middleware(Gate, service=service)
    return app


def _endpoint(service: Service, operation: Operation) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        request.scope[ROUTE] = operation.route
        try:
            if operation.scope is not None:
                request.scope[VISITOR].require(operation.scope)
            query = read_query(request, operation.query)
            body = None
            if operation.body is not None:
                body = await read_body(request, operation.body, service.settings.body_limit, service.aside)
            call = Call(service, request.path_params, query, body)
            if operation.needs is not None:
                await operation.needs(service)
                return operation.run(call)
            if operation.slow:
                return await service.toil(lambda: operation.run(call), reads=operation.body is None)
            if operation.body is not None:
                return await service.write(call.path["name"], lambda: operation.run(call))
            return await service.read(lambda: operation.run(call))
        except Exception as error:  # here rather than in the gate: the layers between would handle it at a cost
            service.metrics.refusal(error)
            return answer_to(error, service.store.url, request.scope.get(VISITOR) is not None)

    endpoint.__name__ = operation.run.__name__
    endpoint.__doc__ = operation.run.__doc__
    return endpoint


def _openapi(app: FastAPI) -> Endpoint:
    async def openapi(request: Request) -> Response:
        request.scope[ROUTE] = f"{BASE}/openapi.json"
        return json_answer(app.openapi())

    return openapi


def _page(page: Page) -> Endpoint:
    async def send(request: Request) -> Response:
        request.scope[ROUTE] = "dashboard"
        headers = {"Content-Type": page.media_type, "ETag": page.tag}
        if request.headers.get("if-none-match") == page.tag:
            return Response(status_code=304, headers=headers)
        return Response(page.content, headers=headers)

    return send


async def _unrouted(request: Request, error: Any) -> Response:
    """Answer what no route takes."""
    if error.status_code == 405:
        path = request.scope["path"]
        allowed = {method for pattern, method in _METHODS if pattern.fullmatch(path)} or {"GET", "HEAD"}
        return answer_to(WrongMethod(f"{request.method} is not possible here", ", ".join(sorted(allowed))))
    return answer_to(NoSuchRoute("there is nothing at this address"))
