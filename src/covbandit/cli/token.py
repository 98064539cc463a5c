"""``covbandit token``: create, list and revoke."""

from __future__ import annotations

from json import dumps
from typing import Annotated

import typer

from covbandit.cli.study.options import DEFAULT_STORE, JSON, STORE

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
    store: STORE = DEFAULT_STORE,
    json: JSON = False,
) -> None:
    """Create a token, and print it: it is shown this once, the store keeps a hash.

    `covbandit token create desk-1 --scope tell > token.txt`
    """
    from rich.console import Console

    from covbandit.studies import Store
    from covbandit.studies.tokens import create_token

    with Store(store, create=True) as opened:
        made = create_token(opened, label, scope)
    if json:
        print(dumps({"token": made, "label": label, "scope": scope}))
        return
    notes = Console(stderr=True)
    notes.print("This is the only time the token is shown; the store keeps a hash.", highlight=False, soft_wrap=True)
    print(made)  # alone on standard output, so that it can be piped into a file or a secret store
    how = "Send it as the header Authorization: Bearer TOKEN, or give it to cb.Client(url, token=...)."
    notes.print(how, highlight=False, soft_wrap=True)


@token.command("list")
def list_(store: STORE = DEFAULT_STORE, json: JSON = False) -> None:
    """List all tokens ever created, revoked ones included, without their secrets.

    `covbandit token list --json`
    """
    from rich.console import Console

    from covbandit.cli.console import print_table
    from covbandit.core.tables import Table
    from covbandit.studies import Store
    from covbandit.studies.tokens import list_tokens

    with Store(store) as opened:
        tokens = [each.to_dict() for each in list_tokens(opened)]
    if json:
        print(dumps({"tokens": tokens}))
        return
    if not tokens:
        print("no tokens: whoever is on this machine may use the service")
        return
    columns = ("id", "label", "scope", "created_at", "revoked_at")
    rows = [[each[name] for name in columns] for each in tokens]
    print_table(Console(), Table([name.replace("_at", "") for name in columns], rows))


@token.command("revoke")
def revoke(
    token_id: Annotated[str, typer.Argument(metavar="ID", help="As `list` shows it.", show_default=False)],
    store: STORE = DEFAULT_STORE,
    json: JSON = False,
) -> None:
    """Make a token invalid for ever.

    `covbandit token revoke 0123456789abcdef`
    """
    from covbandit.studies import Store
    from covbandit.studies.tokens import revoke_token

    with Store(store) as opened:
        revoked = revoke_token(opened, token_id)
    if json:
        print(dumps(revoked.to_dict()))
        return
    print(f"revoked: {revoked.id} ({revoked.label}, scope {revoked.scope})")
