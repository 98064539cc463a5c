"""Answers: strict JSON."""

from __future__ import annotations

import json
import math
from typing import Any

from starlette.responses import Response


def json_bytes(value: Any) -> bytes:
    """Return plain data as strict JSON; a number that is not finite becomes null, since JSON has none."""
    try:
        return _encode(value)
    except ValueError:
        return _encode(_finite(value))


def json_answer(value: Any, status: int = 200) -> Response:
    """Return plain data as an answer."""
    return Response(json_bytes(value), status, media_type="application/json")


def _encode(value: Any) -> bytes:
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode("ascii")


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
