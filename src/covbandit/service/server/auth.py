"""Which tokens are valid now, and what their holders may do."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from covbandit.errors import Forbidden, StoreUnavailable, Unauthorized
from covbandit.studies import Store
from covbandit.studies.tokens import SCOPES, looks_like_a_token, match_token, valid_tokens


@dataclass(frozen=True)
class Caller:
    """The sender of a request.

    Attributes
    ----------
    token : str or None
        The id of the token; None if no token is needed.
    scope : str
        What the caller may do.
    """

    token: str | None
    scope: str

    def require(self, scope: str) -> None:
        """Refuse the request if it needs a larger scope than the caller has.

        Raises
        ------
        Forbidden
            If the scope is too small.
        """
        if SCOPES.index(self.scope) < SCOPES.index(scope):
            error = Forbidden(f"this needs a token of scope {scope}; the one sent has scope {self.scope}")
            error.hint = f"Create one where the service runs: covbandit token create LABEL --scope {scope} --store URL"
            raise error


ANYBODY = Caller(None, "admin")


class Authenticator:
    """Know the valid tokens, by reading them from the store at most once a second.

    Parameters
    ----------
    store : Store
        Where the tokens are kept.
    required : bool
        Demand a token even while the store has none.
    remember : float
        For how many seconds the tokens are kept once they were read: a revoked token may still work that long. A
        failure is kept as long, so that not every request asks a store that is down.
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
        self._failure: StoreUnavailable | None = None
        self._failed_until = float("-inf")

    @property
    def up_to_date(self) -> bool:
        """Whether the tokens need not be read now."""
        return self._clock() < self._until

    def refresh(self) -> None:
        """Read the tokens from the store, unless that was just done.

        Raises
        ------
        StoreUnavailable
            If that is not possible, or was not possible a moment ago; nobody is let in then.
        """
        with self._lock:
            begun = self._clock()
            if begun < self._until:
                return
            if self._failure is not None and begun < self._failed_until:
                raise StoreUnavailable(str(self._failure), self._failure.retryable)
            try:
                self._valid, self._wanted = valid_tokens(self._store)
            except StoreUnavailable as error:
                self._failure, self._failed_until = error, self._clock() + self._remember
                raise
            self._failure = None
            self._until = begun + self._remember

    @property
    def wants_tokens(self) -> bool:
        """Whether a token is needed: always if required, otherwise as soon as the store has had one."""
        return self._required or self._wanted

    def presumed(self, authorization: bytes | None) -> tuple[bool, Caller | None]:
        """Return whether the sender of this header is known without the store, and the caller by the last reading.

        That is not certain enough to let anybody in, but enough to count requests: the token was valid a moment ago,
        or there is none.
        """
        kind, _, text = (authorization or b"").decode("latin-1").partition(" ")
        if kind.lower() != "bearer" or not looks_like_a_token(text.strip()):
            return True, None
        try:
            caller = self.authenticate(authorization)
        except Unauthorized:  # perhaps a new one
            return False, None
        return caller.token is not None, caller

    def authenticate(self, authorization: bytes | None) -> Caller:
        """Return the caller who sends this header.

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
        return Caller(*match_token(self._valid, text.strip()))
