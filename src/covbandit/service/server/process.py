"""The process that runs the service: sockets, signals, graceful stop."""

from __future__ import annotations

import asyncio
import logging
import math
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI

from covbandit.errors import InvalidInput
from covbandit.service.server.connections import KEEP_ALIVE_SECONDS, QUEUE, Connections, most_connections, protocol_of
from covbandit.service.server.runtime import FINISH_SECONDS, Service

log = logging.getLogger("covbandit.service")

ANSWER_SECONDS = 4.0
"""How long the responses to requests that were broken off after `FINISH_SECONDS` may take; then they are cut off."""


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that takes connections; port 0 takes any free one.

    Raises
    ------
    InvalidInput
        If host or port cannot be used: in use, not allowed, not of this machine.
    """
    if not 0 <= port <= 65535:
        raise InvalidInput(f"port must be from 0 (any free one) to 65535, got {port}")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError) as error:
        raise InvalidInput(f"host {host!r} is not known: {error}; use 127.0.0.1, or this machine's address") from None
    found = socket.socket(family, kind, protocol)
    try:
        if sys.platform != "win32":  # so that a service can start again at once; on Windows, two could share the port
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen(QUEUE)
    except OSError as error:
        found.close()
        raise InvalidInput(
            f"cannot listen on port {port} of {host}: {(error.strerror or str(error)).lower()}; stop what runs there, "
            "or choose another: --port 0 takes any that is free"
        ) from None
    found.setblocking(False)
    return found


def run(app: FastAPI, listening: socket.socket, announce: Callable[[], None]) -> None:
    """Serve until SIGTERM or Ctrl-C; requests in flight finish, a second Ctrl-C does not wait for them.

    What takes longer than 22 seconds is broken off and answered with 503; the process can end within 30.

    Parameters
    ----------
    app : FastAPI
        The application.
    listening : socket
        Where it listens.
    announce : callable
        Called once a signal to stop would be heard.
    """
    service: Service = app.state.service
    most = most_connections()
    config = uvicorn.Config(
        app,
        http=protocol_of(Connections(most, service.metrics)),
        backlog=QUEUE,
        log_config=None,  # left to the program that starts the process
        access_log=False,  # our middleware writes it, without query strings
        lifespan="on",
        ws="none",
        proxy_headers=False,  # an address that anybody can write into a header limits nobody
        server_header=False,
        timeout_graceful_shutdown=math.ceil(FINISH_SECONDS + ANSWER_SECONDS),
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
    )
    server = _Server(config, service)
    with _stopping_by_signal(server):
        log.info("takes up to %d connections at once, by the limit of open files", most)
        announce()
        server.run(sockets=[listening])


class _Server(uvicorn.Server):
    """Uvicorn's server, which tells the service when it begins to stop."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let requests in flight finish, for a while."""
        self._service.stop()
        breaking_off = asyncio.get_running_loop().call_later(FINISH_SECONDS, self._service.interrupt)
        try:
            await super().shutdown(sockets)
        finally:
            breaking_off.cancel()
            if self.force_exit:
                self._service.interrupt()


@contextmanager
def _stopping_by_signal(server: uvicorn.Server) -> Iterator[None]:
    """Make a stop by signal a normal end, also before Uvicorn listens to signals and after it has ended.

    When Uvicorn has ended, it raises once more the signals that it got, which would end the process with an error.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        server.should_exit = True

    before = {name: signal.signal(name, stop) for name in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)


def log_to_standard_error(level: str) -> None:
    """Write the service's log, and uvicorn's, to standard error.

    Raises
    ------
    InvalidInput
        If there is no such level.
    """
    known = {"debug", "info", "warning", "error"}
    if level.lower() not in known:
        raise InvalidInput(f"log level must be one of {', '.join(sorted(known))}, got {level!r}")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    for name in ("covbandit", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(level.upper())
        logger.propagate = False
