"""Tokens: shown once, kept as hashes, checked without telling anything."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from hmac import compare_digest
from pathlib import Path

import pytest
from sqlalchemy import select

from covbandit.cli import token as commands
from covbandit.errors import InvalidInput, NotFound, Unauthorized
from covbandit.studies import Store, tokens
from covbandit.studies.schema import tokens as table
from covbandit.studies.tokens import check_token, create_token, list_tokens, revoke_token
from service_calls import new_store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with new_store(tmp_path) as opened:
        yield opened


@pytest.mark.parametrize("scope", ["read", "tell", "admin"])
def test_a_token_gives_its_scope_until_it_is_revoked(store: Store, scope: str) -> None:
    token = create_token(store, "desk", scope)
    assert check_token(store, token) == scope
    (known,) = list_tokens(store)
    assert (known.label, known.scope, known.revoked_at) == ("desk", scope, None)
    revoked = revoke_token(store, known.id)
    assert revoked.revoked_at is not None
    assert revoke_token(store, known.id) == revoked
    with pytest.raises(Unauthorized, match="not valid"):
        check_token(store, token)


def test_the_store_keeps_a_hash_of_a_secret_of_32_bytes(store: Store) -> None:
    token = create_token(store, "desk", "read")
    name, secret = re.fullmatch(r"cbt_([0-9a-f]{16})_([0-9a-f]{64})", token).groups()  # type: ignore[union-attr]
    with store.read() as connection:
        (row,) = connection.execute(select(table)).all()
    assert row.id == name
    assert row.hash == hashlib.sha256(bytes.fromhex(secret)).hexdigest()
    assert secret not in repr(row)
    assert create_token(store, "desk", "read") != token


@pytest.mark.parametrize(
    "spoilt",
    [
        lambda t: "",
        lambda t: t[:-1],
        lambda t: t + "0",
        lambda t: t + "\n",
        lambda t: t.upper(),
        lambda t: t[:-1] + ("0" if t[-1] != "0" else "1"),
        lambda t: t.replace("cbt_", "cbt_0", 1)[: len(t)],
        lambda t: "cbt_" + "0" * 16 + t[20:],
        lambda t: "cbt_" + "0" * 16 + "_" + hashlib.sha256(b"").hexdigest(),
        lambda t: t[:21],
        lambda t: "é" * 85,
        lambda t: "' OR 1=1 --",
    ],
)
def test_anything_else_is_refused_in_the_same_words(store: Store, spoilt) -> None:
    token = create_token(store, "desk", "admin")
    with pytest.raises(Unauthorized) as refused:
        check_token(store, spoilt(token))
    assert str(refused.value) == "the token is not valid: unknown, revoked or mistyped"


def test_an_unknown_id_takes_the_same_comparison_as_a_wrong_secret(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = create_token(store, "desk", "admin")
    compared: list[tuple[int, int]] = []

    def compare(one: str, other: str) -> bool:
        compared.append((len(one), len(other)))
        return compare_digest(one, other)

    monkeypatch.setattr(tokens.hmac, "compare_digest", compare)
    for text in (token[:-1] + "x", f"cbt_{'0' * 16}_{'0' * 64}", "nothing", token[:21] + "0" * 64):
        with pytest.raises(Unauthorized):
            check_token(store, text)
    assert compared == [(64, 64)] * 4


@pytest.mark.parametrize(("label", "scope"), [("", "read"), (" ", "read"), ("a\nb", "read"), ("x" * 201, "read")])
def test_labels_must_be_readable(store: Store, label: str, scope: str) -> None:
    with pytest.raises(InvalidInput, match="label"):
        create_token(store, label, scope)
    assert list_tokens(store) == []


def test_unknown_scopes_and_ids_are_refused(store: Store) -> None:
    with pytest.raises(InvalidInput, match="read, tell, admin"):
        create_token(store, "desk", "root")
    with pytest.raises(NotFound, match="no token '0000'"):
        revoke_token(store, "0000")
    token = create_token(store, "desk", "read")
    with pytest.raises(NotFound) as refused:  # a whole token, pasted by mistake, is not repeated
        revoke_token(store, token)
    assert token not in str(refused.value)


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = f"sqlite:///{tmp_path / 'new.db'}"
    commands.create("desk <1>", "tell", where)
    said = capsys.readouterr()
    token = said.out.strip()
    assert "only time" in said.err
    with Store(where) as store:
        assert check_token(store, token) == "tell"
    commands.list_(where)
    shown = capsys.readouterr().out
    assert "desk <1>" in shown
    assert token.rpartition("_")[2] not in shown
    commands.revoke(token.split("_")[1], where)
    assert "revoked" in capsys.readouterr().out
    commands.list_(where, json=True)
    assert '"revoked_at": "2' in capsys.readouterr().out
