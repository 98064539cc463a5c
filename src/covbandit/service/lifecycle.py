"""What a running service holds: the store, its studies in memory, and threads. Opened once, closed at the end."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from covbandit.errors import CovbanditError, InvalidInput, NotFound
from covbandit.service.access import Doorkeeper
from covbandit.service.limits import RateLimit
from covbandit.service.metrics import Metrics
from covbandit.studies import Store, Study
from covbandit.studies.configuration import as_name

T = TypeVar("T")

_MOST_STUDIES = 200  # in memory at once
_MOST_REMEMBERED = 10_000  # names of which it is known that nothing is left to compile
_READERS = 4
_SLOW_THREADS = 4
_WRITERS = 8  # PostgreSQL; a SQLite file has one writer at a time anyway


@dataclass(frozen=True)
class Settings:
    """How a service behaves.

    Attributes
    ----------
    host_names : tuple of str
        Names under which it may be addressed, besides those of the loopback.
    require_tokens : bool
        Want tokens even while the store has none.
    rate_limit : float or None
        Requests a second for each token or address; 0 for no limit. None limits to 500, except whoever comes from the
        same machine while no tokens are needed.
    body_limit : int
        The most bytes of a request's body.
    remember_tokens : float
        Seconds for which a look at the tokens holds.
    """

    host_names: tuple[str, ...] = ()
    require_tokens: bool = False
    rate_limit: float | None = None
    body_limit: int = 1 << 20
    remember_tokens: float = 1.0


class Service:
    """The parts that routes share.

    Parameters
    ----------
    store : Store
        Where the studies are; closed by whoever opened it.
    settings : Settings
        How the service behaves.
    """

    def __init__(self, store: Store, settings: Settings) -> None:
        self.store = store
        self.settings = settings
        self.metrics = Metrics(store)
        self.doorkeeper = Doorkeeper(store, settings.require_tokens, settings.remember_tokens)
        self.rate_limit = RateLimit(500.0 if settings.rate_limit is None else settings.rate_limit)
        self._studies: OrderedDict[str, Study] = OrderedDict()
        self._compiled: dict[str, Future[None]] = {}
        self._lock = threading.Lock()
        # Asks and tells of one study wait in one line, first come first served, rather than for a lock, which is
        # neither fair nor cheap. Whatever reads a whole history has a line of its own and does not hold them up.
        writers = 1 if store.is_sqlite else _WRITERS
        self._writers = [ThreadPoolExecutor(1, f"covbandit-writer-{k}") for k in range(writers)]
        self._readers = ThreadPoolExecutor(_READERS, "covbandit-reader")
        self._slow = ThreadPoolExecutor(_SLOW_THREADS, "covbandit-slow")
        self._compiler = ThreadPoolExecutor(1, "covbandit-compiler")

    def study(self, name: str) -> Study:
        """Return a study, in memory from its first use on.

        Raises
        ------
        NotFound
            If there is none of that name.
        """
        with self._lock:
            found = self._studies.get(name)
            if found is not None:
                self._studies.move_to_end(name)
                return found
        try:
            as_name(name, "study name", in_address=True)
        except InvalidInput:  # databases refuse some of what no study can be called
            raise NotFound(f"there is no study {name!r}, and none can be called so") from None
        return self.keep(Study.open(name, store=self.store))

    def keep(self, study: Study) -> Study:
        """Keep a study in memory; return the one that is kept under its name."""
        with self._lock:
            kept = self._studies.setdefault(study.name, study)
            if len(self._studies) > _MOST_STUDIES:
                self._studies.popitem(last=False)
        return kept

    async def read(self, work: Callable[[], T]) -> T:
        """Run what reads a little in one of the service's threads."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, work)

    def compile(self, name: str) -> Future[None]:
        """Let the kernels of a study's learner be compiled, once, in a thread kept for that."""
        with self._lock:
            found = self._compiled.get(name)
            if found is None:
                found = self._compiled[name] = self._compiler.submit(self._compile, name)
                if len(self._compiled) > _MOST_REMEMBERED:
                    self._compiled.pop(next(iter(self._compiled)))
            return found

    def _compile(self, name: str) -> None:
        try:
            self.study(name)._compile()
        except CovbanditError:  # whoever asks for the study hears of it
            with self._lock:
                self._compiled.pop(name, None)

    async def write(self, study: str, work: Callable[[], T]) -> T:
        """Run what writes a little to a study, after whatever else was sent to it before.

        Studies share the lines of those who write: a learner whose kernels are not compiled yet must not hold them up.
        """
        compiled = self.compile(study)
        if not compiled.done():
            await asyncio.shield(asyncio.wrap_future(compiled))
        line = self._writers[hash(study) % len(self._writers)]
        return await asyncio.get_running_loop().run_in_executor(line, work)

    async def toil(self, work: Callable[[], T]) -> T:
        """Run what may take long in one of a few threads kept for that."""
        return await asyncio.get_running_loop().run_in_executor(self._slow, work)

    def close(self) -> None:
        """Let work that has begun finish."""
        self._compiler.shutdown(wait=True, cancel_futures=True)
        for pool in (*self._writers, self._readers, self._slow):
            pool.shutdown(wait=True)
