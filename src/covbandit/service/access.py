"""Which tokens are valid now, and what whoever asks may do."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from covbandit.errors import Forbidden, Unauthorized
from covbandit.studies import Store
from covbandit.studies.tokens import SCOPES, match_token, valid_tokens


@dataclass(frozen=True)
class Visitor:
    """Whoever sends a request.

    Attributes
    ----------
    token : str or None
        The id of the token, None if none is needed.
    scope : str
        What the visitor may do.
    """

    token: str | None
    scope: str

    def require(self, scope: str) -> None:
        """Refuse whoever may do less than that.

        Raises
        ------
        Forbidden
            If the scope is too small.
        """
        if SCOPES.index(self.scope) < SCOPES.index(scope):
            error = Forbidden(f"this needs a token of scope {scope}; the one sent has scope {self.scope}")
            error.hint = f"Create one where the service runs: covbandit token create LABEL --scope {scope} --store URL"
            raise error


ANYBODY = Visitor(None, "admin")


class Doorkeeper:
    """Knows the valid tokens, by looking into the store at most once a second.

    Parameters
    ----------
    store : Store
        Where the tokens are.
    required : bool
        Want a token even while the store has none.
    remember : float
        For how many seconds a look into the store holds: so long may a revoked token still work.
    clock : callable
        Seconds that never go back.
    """

    def __init__(
        self, store: Store, required: bool, remember: float = 1.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = store
        self._required = required
        self._remember = remember
        self._clock = clock
        self._lock = threading.Lock()
        self._valid: dict[str, tuple[str, str]] = {}
        self._wanted = False
        self._until = float("-inf")

    @property
    def up_to_date(self) -> bool:
        """Whether `look` is not needed now."""
        return self._clock() < self._until

    def look(self) -> None:
        """Look into the store, unless somebody just did.

        Raises
        ------
        StoreUnavailable
            If that is not possible; nobody is let in then.
        """
        with self._lock:
            if self._clock() < self._until:
                return
            begun = self._clock()
            self._valid, self._wanted = valid_tokens(self._store)
            self._until = begun + self._remember

    @property
    def wants_tokens(self) -> bool:
        """Whether a token is needed: always if required, otherwise from the first one on that the store has had."""
        return self._required or self._wanted

    def admit(self, authorization: bytes | None) -> Visitor:
        """Return who sends this header.

        Raises
        ------
        Unauthorized
            If a token is needed and there is none, or it is not valid.
        """
        if not self.wants_tokens:
            return ANYBODY
        if authorization is None:
            raise Unauthorized("this service wants a token")
        kind, _, text = authorization.decode("latin-1").partition(" ")
        if kind.lower() != "bearer":
            raise Unauthorized("the header Authorization must be: Bearer TOKEN")
        return Visitor(*match_token(self._valid, text.strip()))
