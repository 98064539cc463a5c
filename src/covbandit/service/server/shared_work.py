"""Questions to the store that one thread asks for many requests, so that a store that hangs blocks only one thread."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from covbandit.errors import StoreUnavailable

PATIENCE_SECONDS = 5.0
"""How long a request waits for the store to answer such a question."""


class SharedWork:
    """Ask the store something, once at a time: requests that come meanwhile wait for the same answer.

    Used by the event loop alone, so it has no lock.

    Parameters
    ----------
    work : callable
        What to do; it raises if the store cannot be used.
    name : str
        Of the thread.
    patience : float
        After so many seconds the requests that wait are refused. While the store still hangs, all others are refused
        at once.
    clock : callable
        Seconds that never go back.
    """

    def __init__(
        self,
        work: Callable[[], None],
        name: str,
        patience: float = PATIENCE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._work = work
        self._patience = patience
        self._clock = clock
        self.pool = ThreadPoolExecutor(1, name)
        self._running: Future[None] | None = None
        self._begun = 0.0

    async def done(self) -> None:
        """Wait for the work that is running, or start it and wait if none is.

        Raises
        ------
        StoreUnavailable
            If the store does not answer in time; and whatever the work raises.
        """
        running = self._running
        if running is None or running.done():
            running = self._running = self.pool.submit(self._work)
            self._begun = self._clock()
        left = self._begun + self._patience - self._clock()
        if left > 0:
            try:
                async with asyncio.timeout(left):
                    await asyncio.shield(asyncio.wrap_future(running))
                return
            except TimeoutError:
                if running.done():
                    raise
        raise StoreUnavailable(f"the store has not answered for {self._patience:g} seconds or more")
