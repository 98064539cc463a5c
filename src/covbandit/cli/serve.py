"""``covbandit serve``."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from rich.console import Console

from covbandit.cli.warmup import compile_kernels
from covbandit.errors import InvalidInput, MissingExtra
from covbandit.studies import Store
from covbandit.studies.reading import learners_in
from covbandit.studies.tokens import valid_tokens

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8765
DEFAULT_BODY_LIMIT = 1 << 20
DEFAULT_LOG_LEVEL = "info"

# Hosts that stand for every address of this machine, and where a browser on it finds the service then.
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "[::]": "[::1]", "": "127.0.0.1"}


def run(
    store: str,
    host: str = DEFAULT_HOST,
    port: int = DEFAULT_PORT,
    require_tokens: bool = False,
    allow_host: Sequence[str] = (),
    rate_limit: float | None = None,
    body_limit: int = DEFAULT_BODY_LIMIT,
    log_level: str = DEFAULT_LOG_LEVEL,
) -> None:
    """Serve the studies of a store, and the dashboard, until Ctrl-C or SIGTERM.

    Parameters
    ----------
    store : str
        URL or file; set up if there is none yet.
    host, port
        Where to listen; port 0 takes any free one. Anything but the loopback needs a token in the store.
    require_tokens : bool
        Want tokens even while the store has none.
    allow_host : sequence of str
        Further names under which the service may be addressed.
    rate_limit : float, optional
        Requests a second for each token or address; 0 for no limit. By default 500, except for whoever comes from the
        same machine while no tokens are needed.
    body_limit : int
        The most bytes of a request's body.
    log_level : str
        ``"info"`` writes a line a request.
    """
    try:
        from covbandit.service.server import process as server
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
    server.log_to_standard_error(log_level)
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
        listening = server.listen(host, port)
        app = create_app(
            opened,
            host_names=(*allow_host, *(() if host in _EVERYWHERE else (host,))),
            require_tokens=require_tokens or not here,
            rate_limit=rate_limit,
            body_limit=body_limit,
        )
        shown = _EVERYWHERE.get(host, f"[{host}]" if ":" in host and not host.startswith("[") else host)
        address = f"http://{shown}:{listening.getsockname()[1]}"
        needed = wanted or require_tokens or not here
        names = ", ".join(allow_host) or "none (--allow-host NAME adds one)"
        others = f"all addresses of this machine; other names: {names}" if host in _EVERYWHERE else ""
        compile_kernels(Console(stderr=True), learners=learners_in(opened))  # so that no first ask has to wait for it
        server.run(app, listening, lambda: _announce(address, others, opened.url, needed, has_tokens))
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
    # Flushed at once: whoever started this process waits for it.
    print("covbandit serves", *(f"  {name:<10} {said}" for name, said in lines), sep="\n", flush=True)
