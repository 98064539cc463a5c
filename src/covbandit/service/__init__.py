"""Studies over HTTP: the service behind ``covbandit serve``, and the client that speaks to it.

==============  =====================================================================================================
file            holds
==============  =====================================================================================================
app             the application: every part below, put together
operations      what the service can do: one entry a route, with scope, body, answer and the function that does it
bodies          what requests say, checked strictly
answers         what answers say, for the documentation: answers are written by the studies themselves
documentation   the OpenAPI description
reading         requests: strict JSON of bounded size, query strings
failures        one table from error classes to statuses and codes, and the one shape of every refusal
gate            what every request passes: host names, tokens, limits, security headers, log and metrics
access          which tokens are valid now
limits          how many requests at once
connections     what a connection may cost before there is a request: bytes, seconds, how many
shared_work     what many requests wait for and one thread asks of the store
metrics         what Prometheus sees
lifecycle       store, studies in memory, threads: opened once, closed at the end
writing         answers: strict JSON
pages           the dashboard's files
server          sockets, signals, graceful stop
client, remote  `Client` and `RemoteStudy`; retrying is safe
==============  =====================================================================================================
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from covbandit.service.app import create_app as create_app
    from covbandit.service.client import Client as Client
    from covbandit.service.remote import RemoteStudy as RemoteStudy

# Resolved at first use: the client works where the server's packages are not installed.
_FILES = {"create_app": "app", "Client": "client", "RemoteStudy": "remote"}

__all__ = ["Client", "RemoteStudy", "create_app"]


def __getattr__(name: str) -> Any:
    if name not in _FILES:
        raise AttributeError(f"module 'covbandit.service' has no attribute {name!r}")
    return getattr(importlib.import_module(f"covbandit.service.{_FILES[name]}"), name)
