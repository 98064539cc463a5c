"""``covbandit serve``."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from covbandit.cli.study.options import DEFAULT_STORE, STORE
from covbandit.errors import InvalidInput, MissingExtra

# Hosts that stand for every address of this machine, and where a browser on it finds the service then.
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "[::]": "[::1]", "": "127.0.0.1"}


def serve(
    store: STORE = DEFAULT_STORE,
    host: Annotated[
        str, typer.Option(help="Where to listen; anything but this machine needs a token in the store.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0 takes any free one.")] = 8765,
    require_tokens: Annotated[
        bool, typer.Option("--require-tokens", help="Want a token even while the store has none.")
    ] = False,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="A further name under which it may be addressed; repeat it.", show_default=False
        ),
    ] = None,
    rate_limit: Annotated[
        float | None,
        typer.Option(
            metavar="N",
            help="Requests a second for each token or address, 0 for no limit; by default 500, without tokens none.",
            show_default=False,
        ),
    ] = None,
    body_limit: Annotated[int, typer.Option(metavar="BYTES", help="The most bytes of a request's body.")] = 1 << 20,
    log_level: Annotated[
        str, typer.Option(metavar="debug|info|warning|error", help="info writes a line a request.")
    ] = "info",
) -> None:
    """Serve studies over HTTP, with a dashboard in the browser, until Ctrl-C.

    Needs the extra `service`: `pip install 'covbandit[service]'`.

    `covbandit serve`  the studies in covbandit.db, for this machine alone, on http://127.0.0.1:8765/

    **For others too**, only with tokens, and behind a proxy that speaks HTTPS:

    `covbandit token create ops --scope admin`

    `covbandit serve --host 0.0.0.0 --allow-host studies.example.org`

    In Python: `cb.Client("http://127.0.0.1:8765").open("funds").ask()`.
    """
    from rich.console import Console

    from covbandit.cli.workers import compile_kernels
    from covbandit.studies import Store
    from covbandit.studies.summary import learners_in
    from covbandit.studies.tokens import valid_tokens

    try:
        from covbandit.service.server import process
        from covbandit.service.server.app import create_app
        from covbandit.service.server.middleware import is_loopback
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "covbandit":
            raise
        raise MissingExtra(f"the service needs {error.name}: pip install 'covbandit[service]'") from None
    if rate_limit is not None and not 0 <= rate_limit < float("inf"):
        raise InvalidInput(f"rate limit must be requests a second, 0 for none, got {rate_limit:g}")
    if body_limit < 1:
        raise InvalidInput(f"body limit must be at least one byte, got {body_limit}")
    process.log_to_standard_error(log_level)
    with Store(store, create=True) as opened:
        here = is_loopback(host)
        valid, wanted = valid_tokens(opened)
        has_tokens = bool(valid)
        if not here and not has_tokens:
            raise InvalidInput(
                f"host {host} can be reached from other machines, and the store has no valid token that would keep "
                "strangers out; create one first: "
                f"covbandit token create LABEL --scope admin --store '{opened.url}'"
            )
        listening = process.listen(host, port)
        app = create_app(
            opened,
            host_names=(*(allow_host or ()), *(() if host in _EVERYWHERE else (host,))),
            require_tokens=require_tokens or not here,
            rate_limit=rate_limit,
            body_limit=body_limit,
        )
        shown = _EVERYWHERE.get(host, f"[{host}]" if ":" in host and not host.startswith("[") else host)
        address = f"http://{shown}:{listening.getsockname()[1]}"
        needed = wanted or require_tokens or not here
        names = ", ".join(allow_host or ()) or "none (--allow-host NAME adds one)"
        others = f"all addresses of this machine; other names: {names}" if host in _EVERYWHERE else ""
        compile_kernels(Console(stderr=True), learners=learners_in(opened))  # so that no first ask waits for it
        process.run(app, listening, lambda: _announce(address, others, opened.url, needed, has_tokens))
        ended = app.state.service.close()  # also when requests were still running as the time to finish was over
    Console(stderr=True).print("stopped; every request that was answered is in the store", highlight=False)
    if not ended:
        # A thread that waits for a database which hangs cannot be ended, and Python would wait for it. What it has not
        # committed, the database undoes.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def _announce(address: str, others: str, store: str, needed: bool, has_tokens: bool) -> None:
    tokens = "needed" if needed else "not needed; only this machine can connect"
    if needed and not has_tokens:
        tokens += f"; create one: covbandit token create LABEL --scope admin --store '{store}'"
    lines = (
        ("dashboard", f"{address}/"),
        ("API", f"{address}/api/v1 (described by {address}/api/v1/openapi.json)"),
        *([("listens on", others)] if others else []),
        ("store", store),
        ("tokens", tokens),
        ("stop", "Ctrl-C; requests in flight finish"),
    )
    # Flushed at once, since programs that start this process wait for it.
    print("covbandit serves", *(f"  {name:<10} {said}" for name, said in lines), sep="\n", flush=True)
