"""Studies over HTTP: the service behind ``covbandit serve``, and the client that speaks to it.

==============  ========================================================================
folder          what it holds
==============  ========================================================================
``server/``     the application, and the process that runs it
``client/``     `Client` and `RemoteStudy`, which need none of the server's packages
``dashboard/``  what the browser loads: pages, styles and scripts
==============  ========================================================================
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from covbandit.service.client import Client as Client
    from covbandit.service.client import RemoteStudy as RemoteStudy
    from covbandit.service.server.app import create_app as create_app

# Resolved at first use: the client works where the server's packages are not installed.
_MODULES = {"Client": "client", "RemoteStudy": "client", "create_app": "server.app"}

__all__ = ["Client", "RemoteStudy", "create_app"]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'covbandit.service' has no attribute {name!r}")
    return getattr(importlib.import_module(f"covbandit.service.{_MODULES[name]}"), name)
