"""Who may use the service of a store: tokens, shown once and kept as hashes.

A token reads ``cbt_<id>_<secret>``. The secret is 32 random bytes, so its SHA-256 is as good as a slow password hash:
there is nothing to guess. Only the hash is stored, and neither token nor secret ever appears in a message or a log.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, select, update

from covbandit.errors import InvalidInput, NotFound, Unauthorized
from covbandit.studies.rows import TokenRow
from covbandit.studies.schema import tokens as table

if TYPE_CHECKING:
    from covbandit.studies.store import Store

SCOPES = ("read", "tell", "admin")
"""What a token allows, each including those before it."""

_TOKEN = re.compile(r"cbt_([0-9a-f]{16})_([0-9a-f]{64})", re.ASCII)
_LONGEST_LABEL = 200
_NO_HASH = hashlib.sha256(b"").hexdigest()  # no secret has it: a secret has 32 bytes


@dataclass(frozen=True)
class Token:
    """What is known of a token; its secret is not.

    Attributes
    ----------
    id : str
        Names the token, to revoke it.
    label : str
        What it is for, in its creator's words.
    scope : str
        ``"read"``, ``"tell"`` or ``"admin"``; each includes those before it.
    created_at : datetime
        In UTC.
    revoked_at : datetime or None
        None while it is valid.
    """

    id: str
    label: str
    scope: str
    created_at: datetime
    revoked_at: datetime | None

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain strings and None; times in ISO 8601."""
        return {
            "id": self.id,
            "label": self.label,
            "scope": self.scope,
            "created_at": _iso(self.created_at),
            "revoked_at": None if self.revoked_at is None else _iso(self.revoked_at),
        }


def create_token(store: Store, label: str, scope: str) -> str:
    """Create a token and return it; this is the only time it can be seen.

    Parameters
    ----------
    store : Store
        The store whose service the token opens.
    label : str
        What it is for: up to 200 printable characters.
    scope : {"read", "tell", "admin"}
        ``read`` sees everything, ``tell`` also asks, tells and amends, ``admin`` also creates and changes studies.

    Raises
    ------
    InvalidInput
        If the label or the scope cannot be used.
    """
    if scope not in SCOPES:
        raise InvalidInput(f"scope must be one of {', '.join(SCOPES)}, got {scope!r}")
    if not label.strip() or not label.isprintable() or len(label) > _LONGEST_LABEL:
        raise InvalidInput(
            f"label must be 1 to {_LONGEST_LABEL} printable characters that say what the token is for, got {label!r}"
        )
    name, secret = secrets.token_hex(8), secrets.token_bytes(32)
    with store.write() as connection:
        connection.execute(
            insert(table).values(
                id=name,
                label=label.strip(),
                scope=scope,
                hash=hashlib.sha256(secret).hexdigest(),
                created_at=time.time(),
                revoked_at=None,
            )
        )
    return f"cbt_{name}_{secret.hex()}"


def list_tokens(store: Store) -> list[Token]:
    """Return all tokens ever created, oldest first, revoked ones included."""
    with store.read() as connection:
        rows = connection.execute(select(table).order_by(table.c.created_at, table.c.id)).all()
    return [_token(TokenRow(*row)) for row in rows]


def revoke_token(store: Store, token_id: str) -> Token:
    """Make a token invalid for ever; revoking it again changes nothing.

    Parameters
    ----------
    store : Store
        The store it belongs to.
    token_id : str
        Its id, as `list_tokens` gives it.

    Raises
    ------
    NotFound
        If there is no token of that id.
    """
    with store.write() as connection:
        connection.execute(
            update(table).where(table.c.id == token_id, table.c.revoked_at.is_(None)).values(revoked_at=time.time())
        )
        row = connection.execute(select(table).where(table.c.id == token_id)).first()
    if row is None:
        raise NotFound(f"there is no token {_shown(token_id)}; `covbandit token list` shows their ids")
    return _token(TokenRow(*row))


def check_token(store: Store, text: str) -> str:
    """Return the scope of a token.

    Raises
    ------
    Unauthorized
        If it is unknown, revoked or mistyped; the message does not say which.
    """
    return match_token(valid_tokens(store)[0], text)[1]


def valid_tokens(store: Store) -> tuple[dict[str, tuple[str, str]], bool]:
    """Return hash and scope of all tokens that are not revoked, by id; and whether there ever was one.

    A store that had a token wants one for ever: revoking the last one must close a service, not open it.
    """
    with store.read() as connection:
        rows = connection.execute(select(table.c.id, table.c.hash, table.c.scope, table.c.revoked_at)).all()
    return {name: (digest, scope) for name, digest, scope, revoked_at in rows if revoked_at is None}, bool(rows)


def looks_like_a_token(text: str) -> bool:
    """Return True if a text has the form of a token, valid or not."""
    return _TOKEN.fullmatch(text) is not None


def match_token(valid: Mapping[str, tuple[str, str]], text: str) -> tuple[str, str]:
    """Return id and scope of the valid token that reads as given.

    Raises
    ------
    Unauthorized
        If there is none.
    """
    found = _TOKEN.fullmatch(text)
    name, secret = found.groups() if found is not None else ("", "")
    known, scope = valid.get(name, (_NO_HASH, ""))
    # The same work for an unknown id as for a wrong secret, so that the time taken tells nothing of which ids exist.
    same = hmac.compare_digest(hashlib.sha256(bytes.fromhex(secret)).hexdigest(), known)
    if not same or not scope:
        error = Unauthorized("the token is not valid: unknown, revoked or mistyped")
        error.hint = "Check that all of it was copied; `covbandit token create` makes a new one."
        raise error
    return name, scope


def _token(row: TokenRow) -> Token:
    revoked = None if row.revoked_at is None else _time(row.revoked_at)
    return Token(row.id, row.label, row.scope, _time(row.created_at), revoked)


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _iso(when: datetime) -> str:
    return when.isoformat().replace("+00:00", "Z")


def _shown(token_id: object) -> str:
    """Return an id for messages; what may be a whole token, pasted by mistake, is not repeated."""
    return repr(token_id) if isinstance(token_id, str) and len(token_id) <= 16 else "of that id"
