"""What a running service holds: the store, its studies in memory, and threads. Opened once, closed at the end."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from covbandit.core.validation import in_one_spelling
from covbandit.errors import CovbanditError, InvalidInput, NotFound
from covbandit.service.server.auth import Authenticator
from covbandit.service.server.errors import Stopping
from covbandit.service.server.metrics import Metrics
from covbandit.service.server.rate_limit import RateLimit
from covbandit.service.server.shared_work import SharedWork
from covbandit.studies import Store, Study
from covbandit.studies.configuration import as_name
from covbandit.studies.repository import any_study
from covbandit.studies.store import stop_this_thread_when

T = TypeVar("T")

_MOST_STUDIES = 200  # in memory at once
_MOST_REMEMBERED = 10_000  # names of studies whose kernels are compiled
_READERS = 4
_SLOW_THREADS = 4
_WRITERS = 8  # PostgreSQL; a SQLite file has one writer at a time anyway

FINISH_SECONDS = 22.0
"""How long work that has begun may take to finish once the service is to stop; replays are broken off then."""

LAST_SECONDS = 2.0
"""How long threads may take to end once every request is answered, before their work is broken off or left behind."""

_numbers = itertools.count(1)  # in names of threads: several services may run in one process


@dataclass(frozen=True)
class Settings:
    """How a service behaves.

    Attributes
    ----------
    host_names : tuple of str
        Names under which it may be addressed, besides those of the loopback.
    require_tokens : bool
        Demand tokens even while the store has none.
    rate_limit : float or None
        Requests a second for each token or address; 0 for no limit. None means 500, without a limit for callers on the
        same machine while no tokens are needed.
    body_limit : int
        The most bytes of a request's body.
    remember_tokens : float
        Seconds for which the list of valid tokens is kept.
    """

    host_names: tuple[str, ...] = ()
    require_tokens: bool = False
    rate_limit: float | None = None
    body_limit: int = 1 << 20
    remember_tokens: float = 1.0


class Service:
    """What the routes share.

    Parameters
    ----------
    store : Store
        Where the studies are; the service does not close it.
    settings : Settings
        How the service behaves.
    """

    def __init__(self, store: Store, settings: Settings) -> None:
        self.store = store
        self.settings = settings
        self.metrics = Metrics(store)
        self.authenticator = Authenticator(store, settings.require_tokens, settings.remember_tokens)
        self.rate_limit = RateLimit(500.0 if settings.rate_limit is None else settings.rate_limit)
        self._studies: OrderedDict[str, Study] = OrderedDict()
        self._compiled: dict[str, Future[None]] = {}
        self._lock = threading.Lock()
        # Asks and tells of one study wait in one queue, first come first served, rather than for a lock, which is
        # neither fair nor cheap. Work that reads a whole history has threads of its own and does not hold them up.
        writers = 1 if store.is_sqlite else _WRITERS
        self._threads = f"covbandit-{next(_numbers)}-"
        self._writers = [self._pool(1, f"writer-{k}") for k in range(writers)]
        self._readers = self._pool(_READERS, "reader")
        self._slow = self._pool(_SLOW_THREADS, "slow")
        self._parser = self._pool(1, "parser")
        self._compiler = self._pool(1, "compiler")
        # Questions that need no token have threads of their own: strangers must not use up those of the routes.
        self._tokens = SharedWork(lambda: self.authenticator.refresh(), f"{self._threads}tokens")
        self._store_answers = SharedWork(self._check_store, f"{self._threads}health")
        self._pools = (
            *self._writers,
            self._readers,
            self._slow,
            self._parser,
            self._compiler,
            self._tokens.pool,
            self._store_answers.pool,
        )
        self.stopping = False
        self._interrupted = threading.Event()
        self._closed = False
        self._slow_reads: set[Future[Any]] = set()

    def _pool(self, threads: int, name: str) -> ThreadPoolExecutor:
        # A lambda, since the event does not exist yet.
        return ThreadPoolExecutor(
            threads,
            self._threads + name,
            initializer=stop_this_thread_when,
            initargs=(lambda: self._interrupted.is_set(),),
        )

    def study(self, name: str) -> Study:
        """Return a study, which stays in memory from its first use on.

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

    def forget(self, name: str) -> None:
        """Drop a study from memory; its next use opens the study that has the name then."""
        with self._lock:
            for spelling in (name, in_one_spelling(name)):
                self._studies.pop(spelling, None)
                self._compiled.pop(spelling, None)

    def compile(self, name: str) -> Future[None]:
        """Compile the kernels of a study's learner, once, in a thread kept for that.

        A service that is stopping starts no more compilations: writes that still come compile for themselves.
        """
        with self._lock:
            found = self._compiled.get(name)
            if found is None and self.stopping:
                found = Future()
                found.set_result(None)
            elif found is None:
                found = self._compiled[name] = self._compiler.submit(self._compile, name)
                if len(self._compiled) > _MOST_REMEMBERED:
                    self._compiled.pop(next(iter(self._compiled)))
            return found

    def _compile(self, name: str) -> None:
        try:
            self.study(name)._compile()
        except CovbanditError:  # the next request for the study reports it
            with self._lock:
                self._compiled.pop(name, None)

    async def run(self, work: Callable[[], T], study: str | None, writes: bool, slow: bool) -> T:
        """Run the work of a route in one of the threads for its kind.

        Short reads have separate threads. A short write to a study runs after the short writes that were sent to it
        before. Work that may take long has a few other threads; if it only reads, it is refused once the service stops.

        Parameters
        ----------
        work : callable
            What is to be done.
        study : str or None
            The study that the address names, if it names one; short writes need it.
        writes, slow : bool
            Whether the work changes anything, and whether it may take long.

        Raises
        ------
        Stopping
            If the work is slow and only reads, and the service begins to stop before it has begun.
        """
        if slow and not writes:
            if self.stopping:
                raise Stopping
            waiting = self._slow.submit(work)
            self._slow_reads.add(waiting)
            waiting.add_done_callback(self._slow_reads.discard)
            return await asyncio.wrap_future(waiting)
        if slow or not writes:
            return await self._run_in(self._slow if slow else self._readers, work)
        assert study is not None
        # Studies share the threads for writing: a learner whose kernels are not compiled yet must not hold up others.
        compiled = self.compile(study)
        if not compiled.done():
            await asyncio.shield(asyncio.wrap_future(compiled))
        return await self._run_in(self._writers[hash(study) % len(self._writers)], work)

    async def run_parsing(self, work: Callable[[], T]) -> T:
        """Run the parsing of a large body in a thread kept for that: the event loop cannot spare the time."""
        return await self._run_in(self._parser, work)

    async def _run_in(self, pool: Executor, work: Callable[[], T]) -> T:
        if self._interrupted.is_set():
            raise Stopping
        return await asyncio.get_running_loop().run_in_executor(pool, work)

    async def refresh_tokens(self) -> None:
        """Read the valid tokens from the store, if that is due.

        Raises
        ------
        StoreUnavailable
            If the store does not answer.
        """
        if not self.authenticator.up_to_date:
            await self._shared(self._tokens)

    async def check_store(self) -> None:
        """Check that the store answers.

        Raises
        ------
        StoreUnavailable
            If it does not.
        """
        await self._shared(self._store_answers)

    async def _shared(self, work: SharedWork) -> None:
        if self._interrupted.is_set():
            raise Stopping
        await work.done()

    def _check_store(self) -> None:
        with self.store.read() as connection:
            any_study(connection)

    # The end ---------------------------------------------------------------------------------------------------------

    def stop(self) -> None:
        """Begin to stop: slow reads that have not begun are refused, all else may finish."""
        self.stopping = True
        for waiting in list(self._slow_reads):
            waiting.cancel()

    def interrupt(self) -> None:
        """Break off replays, which changes nothing in the store, and refuse all work that has not begun."""
        self.stop()
        self._interrupted.set()
        for pool in self._pools:
            pool.shutdown(wait=False, cancel_futures=True)

    def close(self) -> bool:
        """Give work that has begun a moment to finish, then break it off.

        Returns
        -------
        bool
            Whether all threads have ended; a thread that waits for a database which hangs cannot be ended.
        """
        self.stop()
        for pool in self._pools:
            pool.shutdown(wait=False)
        if not self._interrupted.is_set():
            if self._ended_within(LAST_SECONDS):
                return True
            self.interrupt()
        moment = 0.0 if self._closed else LAST_SECONDS
        self._closed = True
        return self._ended_within(moment)

    def _ended_within(self, seconds: float) -> bool:
        until = time.monotonic() + seconds
        ours = [thread for thread in threading.enumerate() if thread.name.startswith(self._threads)]
        for thread in ours:
            thread.join(max(0.0, until - time.monotonic()))
        return not any(thread.is_alive() for thread in ours)
