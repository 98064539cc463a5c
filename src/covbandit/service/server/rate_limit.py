"""How many requests a caller may send: a token bucket for each token or address."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

from covbandit.errors import RateLimited

BURST_SECONDS = 10.0
"""A caller that was quiet that long may send that many seconds' worth of requests at once."""

_MOST_BUCKETS = 10_000


class RateLimit:
    """Allow each caller a number of requests a second, and bursts of ten seconds' worth.

    Used by the event loop alone, so it has no lock.

    Parameters
    ----------
    per_second : float
        The number; 0 for no limit.
    clock : callable
        Seconds that never go back.
    """

    def __init__(self, per_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.per_second = per_second
        self._most = max(1.0, per_second * BURST_SECONDS)
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, who: str) -> None:
        """Count one request.

        Raises
        ------
        RateLimited
            If there were too many; `retry_after` says how long to wait.
        """
        if not self.per_second:
            return
        now = self._clock()
        left, then = self._buckets.pop(who, (self._most, now))
        left = min(self._most, left + (now - then) * self.per_second)
        if left < 1.0:
            self._buckets[who] = (left, now)
            raise RateLimited(
                f"too many requests: more than {self.per_second:g} a second for a while",
                (1.0 - left) / self.per_second,
            )
        self._buckets[who] = (left - 1.0, now)
        if len(self._buckets) > _MOST_BUCKETS:  # the caller that was quiet longest most likely has a full bucket
            self._buckets.popitem(last=False)
