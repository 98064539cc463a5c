"""What a connection may cost before there is a request: bytes, seconds, and how many connections there may be.

Uvicorn's own protocol reads headers of any length for any time. Here every connection is watched from its first moment:

========================  =============================================================================================
until                     allowed
========================  =============================================================================================
the headers are there     `HEAD_BYTES` for the request line and all headers, `MOST_HEADERS` of them, `HEAD_SECONDS`
the body is there         `BODY_SECONDS`, and one more for every `BODY_BYTES_A_SECOND` bytes that came
the next request begins   `KEEP_ALIVE_SECONDS`
the answer is taken       as long as it goes on, at `SENT_BYTES` in `KEEP_ALIVE_SECONDS` or more
========================  =============================================================================================

If there are more connections than the system has room for, the one that has kept its request back for longest is ended
to make room, then the one that has been idle for longest. So half a request, sent a thousand times, keeps nobody out.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from covbandit.errors import CovbanditError
from covbandit.service.server.errors import AddressTooLong, BadRequest, Crowded, HeadTooLarge, Stopping, TooSlow
from covbandit.service.server.metrics import Metrics
from covbandit.service.server.middleware import API_HEADERS
from covbandit.service.server.requests import CUT_OFF
from covbandit.service.server.responses import error_response

log = logging.getLogger("covbandit.service")

HEAD_BYTES = 64 * 1024
MOST_HEADERS = 256
HEAD_SECONDS = 10.0
BODY_SECONDS = 30.0
BODY_BYTES_A_SECOND = 8 * 1024
KEEP_ALIVE_SECONDS = 30
SENT_BYTES = 16 * 1024

_MOST_AHEAD = 100  # requests that a client sends before it has read the answer to the first
_DRAIN_SECONDS = 10.0  # for the rest of a body whose request has been answered already
_STOP_SECONDS = 5.0  # for the rest of a body once the service is to stop
_LINGER_SECONDS = 2.0  # for a client to read why it was refused

_MOST_FILES = 8_192  # wanted of the system; more connections than that are no use to one process
_FILES_FOR_OTHERS = 96  # of the store, its log, the kernels, and the process itself
QUEUE = 128
"""Connections that the system keeps until they are accepted. They are accepted all at once, before any is refused."""

_BETWEEN, _IN_HEAD, _IN_BODY = range(3)


def most_connections() -> int:
    """Let this process open as many files as the system allows; return how many connections that is room for."""
    try:
        import resource
    except ModuleNotFoundError:  # Windows counts them otherwise, and allows more
        return _MOST_FILES - _FILES_FOR_OTHERS - QUEUE
    files, limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    wanted = _MOST_FILES if limit == unlimited else min(limit, _MOST_FILES)
    if files == unlimited:
        files = _MOST_FILES
    elif files < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, limit))
            files = wanted
        except (OSError, ValueError):  # not everywhere allowed
            pass
    files = min(files, _MOST_FILES)
    return max(files // 4, files - _FILES_FOR_OTHERS - QUEUE)


class ThrottledLog:
    """Write lines into the log, a few at once and then one a second, so that a flood of requests does not flood it.

    Parameters
    ----------
    most : int
        How many lines at once.
    clock : callable
        Seconds that never go back.
    """

    def __init__(self, most: int = 20, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._clock = clock
        self._left = float(most)
        self._then = clock()
        self._unsaid = 0

    def say(self, text: str) -> None:
        """Write a line, or count it if there were too many; the next line says how many."""
        now = self._clock()
        self._left = min(self._most, self._left + now - self._then)
        self._then = now
        if self._left < 1.0:
            self._unsaid += 1
            return
        self._left -= 1.0
        log.warning("%s%s", text, f" (and {self._unsaid:,} more before)" if self._unsaid else "")
        self._unsaid = 0


class Connections:
    """What the connections of one server share.

    Parameters
    ----------
    most : int
        How many there may be.
    metrics : Metrics
        Where refusals are counted.
    """

    def __init__(self, most: int, metrics: Metrics) -> None:
        self.most = most
        self.unfinished: dict[LimitedProtocol, None] = {}  # waiting for the rest of a request, oldest first
        self.idle: dict[LimitedProtocol, None] = {}  # waiting for the next one, oldest first
        self._metrics = metrics
        self._lines = ThrottledLog()

    def make_room(self) -> bool:
        """End the connection that can best be done without; return whether there was one."""
        for waiting in (self.unfinished, self.idle):
            if waiting:
                next(iter(waiting)).give_way()
                return True
        return False

    def refused(self, error: CovbanditError, address: str) -> None:
        """Count a refusal, and write a line."""
        self._metrics.refused_connections.labels(type(error).__name__).inc()
        self._lines.say(f"{address} refused: {error}")


class LimitedProtocol(HttpToolsProtocol):
    """Uvicorn's protocol with limits from the first byte on.

    A server makes a class of its own from it, by `protocol_of`, which says what its connections share.
    """

    shared: Connections

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._stage = _BETWEEN
        self._heads = 0  # complete ones
        self._head_bytes = 0
        self._body_bytes = 0
        self._other_bytes = 0  # between parts of a body: sizes, extensions, trailers
        self._watch: asyncio.TimerHandle | None = None  # until the request is complete
        self._since = 0.0
        self._unsent = 0
        self._sending: asyncio.TimerHandle | None = None
        self._earlier: list[RequestResponseCycle] = []  # without their answers while later requests are there already
        self._refused = False
        self._ending = False
        self._fault: CovbanditError | None = None

    # Connections -----------------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request, if there is room."""
        super().connection_made(transport)
        if len(self.connections) > self.shared.most and not self.shared.make_room():
            self._refuse(Crowded(f"all {self.shared.most:,} connections are in use; try again"), linger=False)
            return
        self._wait(HEAD_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        super().connection_lost(exc)
        for cycle in self._earlier:  # nobody is there any more to be answered
            cycle.disconnected = True
            cycle.message_event.set()
        self._unset_keepalive_if_required()
        self._received()
        self.shared.idle.pop(self, None)
        if self._sending is not None:
            self._sending.cancel()
            self._sending = None

    def shutdown(self) -> None:
        """End as soon as there is nothing to answer; the rest of a request has little time now."""
        super().shutdown()
        if self._stage == _IN_BODY and not self.transport.is_closing():
            self._received()
            self._ending = True
            self._wait(_STOP_SECONDS)

    def give_way(self) -> None:
        """End, so that somebody else can connect."""
        if self._refused or (self._stage == _BETWEEN and not self._head_bytes):
            self._drop()
        else:
            self._refuse(Crowded("the request was not complete when others needed the connection"), linger=False)

    def _drop(self) -> None:
        self._received()
        self.shared.idle.pop(self, None)
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            self.transport.close()

    # Receiving -------------------------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        """Let the parser have what came, as far as the limits allow."""
        if self._refused:
            return
        self._unset_keepalive_if_required()
        if self in self.shared.idle:
            del self.shared.idle[self]
        begin, size = 0, len(data)
        while begin < size:
            room = HEAD_BYTES if self._stage == _IN_BODY else HEAD_BYTES - self._head_bytes
            piece = data if not begin and size <= room else data[begin : begin + room]
            begin += len(piece)
            if not self._parse(piece):
                return
        # Before the first request there is no cycle.
        if self._stage != _BETWEEN or getattr(self.cycle, "response_complete", True):
            if self._watch is None:
                self._wait(BODY_SECONDS if self._stage == _IN_BODY else HEAD_SECONDS)
        elif self._watch is not None:
            self._received()

    def _parse(self, piece: bytes) -> bool:
        """Read a piece; return whether to go on."""
        stage, heads, body = self._stage, self._heads, self._body_bytes
        try:
            self.parser.feed_data(piece)
        except httptools.HttpParserUpgrade:  # to WebSockets or HTTP/2, which nobody here speaks: it is served as it is
            pass
        except httptools.HttpParserError:
            self._refuse(self._fault or BadRequest("what was sent is not HTTP"))
            return False
        if self._stage == _IN_BODY:
            if stage == _IN_BODY:
                self._other_bytes = 0 if self._body_bytes > body else self._other_bytes + len(piece)
                if self._other_bytes > HEAD_BYTES:
                    self._refuse(HeadTooLarge(f"more than {HEAD_BYTES:,} bytes stand beside the body"))
                    return False
        elif heads == self._heads and stage != _IN_BODY:  # all of the piece belongs to one head
            self._head_bytes += len(piece)
            if self._head_bytes >= HEAD_BYTES or (self._stage == _IN_HEAD and len(self.headers) > MOST_HEADERS):
                self._refuse(self._too_large())
                return False
        return True

    def _too_large(self) -> HeadTooLarge:
        if self._stage == _IN_HEAD and self.headers:
            return HeadTooLarge(
                f"the request line and headers have more than {HEAD_BYTES:,} bytes, or {MOST_HEADERS} headers"
            )
        return AddressTooLong(f"the request line has more than {HEAD_BYTES:,} bytes")

    def on_message_begin(self) -> None:
        """Note that a request begins."""
        super().on_message_begin()
        self._stage = _IN_HEAD

    def on_headers_complete(self) -> None:
        """Hand the request on."""
        if len(self.headers) > MOST_HEADERS:
            self._fault = self._too_large()
        elif len(self.pipeline) >= _MOST_AHEAD:
            self._fault = BadRequest(f"more than {_MOST_AHEAD} requests were sent ahead of their answers")
        if self._fault is not None:
            raise self._fault
        before = self.cycle
        super().on_headers_complete()
        if self.pipeline:
            self._earlier.append(before)
        self.headers = []  # what comes behind the body is not among them
        self._stage = _IN_BODY
        self._heads += 1
        self._head_bytes = self._body_bytes = self._other_bytes = 0
        if self._watch is not None:  # the body has a time of its own
            self._watch.cancel()
            self._watch = None

    def on_body(self, body: bytes) -> None:
        """Take in a part of the body."""
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Note that the request is complete."""
        self._stage = _BETWEEN
        super().on_message_complete()

    def _wait(self, seconds: float) -> None:
        self._since = self.loop.time()
        self._watch = self.loop.call_later(seconds, self._time_is_over)
        self.shared.unfinished[self] = None

    def _received(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
        self.shared.unfinished.pop(self, None)

    def _time_is_over(self) -> None:
        self._watch = None
        if self._refused or self.transport.is_closing():
            self._drop()
        elif self._stage == _IN_BODY:
            self._check_body()
        elif self._head_bytes:
            self._refuse(TooSlow(f"the request line and headers took longer than {HEAD_SECONDS:g} seconds"))
        else:  # a connection made in advance, as browsers do, that nobody needed
            self._drop()

    def _check_body(self) -> None:
        if self.cycle.response_complete:
            self._drop()
        elif self.flow.read_paused:  # it is we who have stopped reading
            self._wait(BODY_SECONDS)
        elif self._ending:
            self._refuse(Stopping())
        else:
            left = self._since + BODY_SECONDS + self._body_bytes / BODY_BYTES_A_SECOND - self.loop.time()
            if left > 0:
                self._watch = self.loop.call_later(left, self._time_is_over)
            else:
                self._refuse(
                    TooSlow(
                        f"the body took longer than {BODY_SECONDS:g} seconds and came at less than "
                        f"{BODY_BYTES_A_SECOND:,} bytes a second"
                    )
                )

    # Answering -------------------------------------------------------------------------------------------------------

    def on_response_complete(self) -> None:
        """Wait for the next request, and for the answer to be taken."""
        super().on_response_complete()
        if self._earlier and not self.pipeline:
            self._earlier.clear()
        if self._stage == _IN_BODY:  # answered before all of it was there
            self._received()
            self._wait(_DRAIN_SECONDS)
        elif self.transport.is_closing():
            if self.transport.get_write_buffer_size():
                self._watch_sending()
        elif self.timeout_keep_alive_task is not None and self._watch is None:
            self.shared.idle[self] = None

    def timeout_keep_alive_handler(self) -> None:
        """End a connection that was idle for long, unless it is still taking the answer."""
        if self._sending is None:
            self._drop()
        else:
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def pause_writing(self) -> None:
        """Watch whether the answer is taken, now that the system holds no more of it."""
        super().pause_writing()
        self._watch_sending()

    def resume_writing(self) -> None:
        """Send more."""
        super().resume_writing()
        if self._sending is not None and not self.transport.is_closing():
            self._sending.cancel()
            self._sending = None

    def _watch_sending(self) -> None:
        if self._sending is None:
            self._unsent = self._not_taken()
            self._sending = self.loop.call_later(KEEP_ALIVE_SECONDS, self._check_sending)

    def _check_sending(self) -> None:
        self._sending = None
        if self._not_taken() <= self._unsent - SENT_BYTES:
            self._watch_sending()
        else:
            self._drop()

    def _not_taken(self) -> int:
        """Return how many bytes the other end has not taken yet, with those that the system keeps, often megabytes."""
        waiting = self.transport.get_write_buffer_size()
        try:
            import fcntl
            import termios

            line = self.transport.get_extra_info("socket").fileno()
            kept = fcntl.ioctl(line, termios.TIOCOUTQ, bytes(4))
        except (AttributeError, ImportError, OSError):  # not every system tells, nor of a closed connection
            return waiting
        return waiting + int.from_bytes(kept, sys.byteorder)

    def _refuse(self, error: CovbanditError, linger: bool = True) -> None:
        """Answer with an error, in the shape of all others, and end the connection."""
        self._refused = True
        self._received()
        self.shared.refused(error, self.client[0] if self.client else "-")
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and cycle.response_complete:
            cycle = None
        if cycle is not None:
            cycle.scope[CUT_OFF] = error  # type: ignore[literal-required]
            # An earlier request is still without its answer, which has to come first; or this one has part of it.
            too_late = bool(self.pipeline) or self._stage != _IN_BODY or cycle.response_started
        else:
            too_late = self._stage == _IN_BODY  # it has all of its answer
        if too_late:
            self.transport.close()
            return
        self.transport.write(self._raw(error))
        if cycle is not None:  # the route that waits for the rest of the body gets to know that there is none
            cycle.disconnected = True
            cycle.message_event.set()
        if linger and self.transport.can_write_eof():
            # Closing at once, with bytes unread, would make the client's system throw the answer away.
            self.transport.write_eof()
            self.flow.resume_reading()
            self._wait(_LINGER_SECONDS)
        else:
            self.transport.close()

    def _raw(self, error: CovbanditError) -> bytes:
        answer = error_response(error)
        lines = [f"HTTP/1.1 {answer.status_code} {HTTPStatus(answer.status_code).phrase}".encode()]
        named = [*self.server_state.default_headers, *answer.raw_headers, *API_HEADERS, (b"connection", b"close")]
        lines += [name + b": " + value for name, value in named]
        return b"\r\n".join([*lines, b"", bytes(answer.body)])


def protocol_of(shared: Connections) -> type[LimitedProtocol]:
    """Return the protocol of one server."""
    return type("Protocol", (LimitedProtocol,), {"shared": shared})
