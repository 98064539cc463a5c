"""``covbandit serve`` and ``covbandit token``, with their helps."""

from __future__ import annotations

from typing import Annotated

import typer

from covbandit.cli import study_options as shared
from covbandit.cli.study_options import DEFAULT_STORE


def serve(
    store: shared.STORE = DEFAULT_STORE,
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
    from covbandit.cli.serve import run

    run(store, host, port, require_tokens, allow_host or (), rate_limit, body_limit, log_level)


token = typer.Typer(
    name="token",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="""Create, list and revoke tokens: who may use the service of a store.

    `covbandit token create desk-1 --scope tell`  prints the token, this once

    `covbandit token list`

    `covbandit token revoke 0123456789abcdef`  by its id; running services notice within a second

    As soon as a store has a token, every request to its service needs one: `Authorization: Bearer TOKEN`.
    """,
)


@token.command("create")
def create(
    label: Annotated[str, typer.Argument(metavar="LABEL", help="What it is for.", show_default=False)],
    scope: Annotated[
        str,
        typer.Option(
            metavar="read|tell|admin",
            help="read sees everything; tell also asks, tells and amends; admin also creates and changes studies.",
            show_default=False,
        ),
    ],
    store: shared.STORE = DEFAULT_STORE,
    json: shared.JSON = False,
) -> None:
    """Create a token, and print it: it is shown this once, the store keeps a hash.

    `covbandit token create desk-1 --scope tell > token.txt`
    """
    from covbandit.cli.token import run_create

    run_create(label, scope, store, json)


@token.command("list")
def list_(store: shared.STORE = DEFAULT_STORE, json: shared.JSON = False) -> None:
    """List all tokens ever created, revoked ones included, without their secrets.

    `covbandit token list --json`
    """
    from covbandit.cli.token import run_list

    run_list(store, json)


@token.command("revoke")
def revoke(
    token_id: Annotated[str, typer.Argument(metavar="ID", help="As `list` shows it.", show_default=False)],
    store: shared.STORE = DEFAULT_STORE,
    json: shared.JSON = False,
) -> None:
    """Make a token invalid for ever.

    `covbandit token revoke 0123456789abcdef`
    """
    from covbandit.cli.token import run_revoke

    run_revoke(token_id, store, json)
