"""``covbandit token create | list | revoke``."""

from __future__ import annotations

import json

from rich.console import Console

from covbandit.cli.printing import print_table
from covbandit.core.tables import Table
from covbandit.studies import Store
from covbandit.studies.tokens import create_token, list_tokens, revoke_token


def run_create(label: str, scope: str, store: str, as_json: bool = False) -> None:
    """Create a token and print it: alone on standard output, so that it can be piped into a file or a secret store."""
    with Store(store, create=True) as opened:
        token = create_token(opened, label, scope)
    if as_json:
        print(json.dumps({"token": token, "label": label, "scope": scope}))
        return
    notes = Console(stderr=True)
    notes.print("This is the only time the token is shown; the store keeps a hash.", highlight=False, soft_wrap=True)
    print(token)
    notes.print("Send it as the header Authorization: Bearer TOKEN, or give it to cb.Client(url, token=...).",
                highlight=False, soft_wrap=True)  # fmt: skip


def run_list(store: str, as_json: bool = False) -> None:
    """Print all tokens, without their secrets, which nobody knows."""
    with Store(store) as opened:
        tokens = [token.to_dict() for token in list_tokens(opened)]
    if as_json:
        print(json.dumps({"tokens": tokens}))
        return
    if not tokens:
        print("no tokens: whoever is on this machine may use the service")
        return
    columns = ("id", "label", "scope", "created_at", "revoked_at")
    rows = [[token[name] for name in columns] for token in tokens]
    print_table(Console(), Table([name.replace("_at", "") for name in columns], rows))


def run_revoke(token_id: str, store: str, as_json: bool = False) -> None:
    """Make a token invalid for ever; running services notice within a second."""
    with Store(store) as opened:
        token = revoke_token(opened, token_id)
    if as_json:
        print(json.dumps(token.to_dict()))
        return
    print(f"revoked: {token.id} ({token.label}, scope {token.scope})")
