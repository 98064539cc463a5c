"""What a specification can name: presets, learners, environments, and what users wrote themselves."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Callable
from typing import Any

from covbandit import environments
from covbandit.environments import Environment
from covbandit.errors import InvalidInput
from covbandit.problems import presets as ready_made
from covbandit.specifications.diagnostics import did_you_mean


def presets() -> dict[str, Callable[..., Any]]:
    """Return the functions that make problems, by name."""
    members = inspect.getmembers(ready_made, inspect.isfunction)
    return {name: made for name, made in members if made.__module__ == ready_made.__name__ and not name.startswith("_")}


def environment_classes() -> dict[str, type[Environment]]:
    """Return the environments of this package, by name."""
    return {
        name: kind
        for name in sorted(environments.__all__)
        if inspect.isclass(kind := getattr(environments, name))
        and issubclass(kind, Environment)
        and kind is not Environment
    }


def find(name: object, known: dict[str, Any], what: str) -> Any:
    """Return what a name stands for: one of the known ones, or ``package.module:Name``, importable from here.

    Raises
    ------
    InvalidInput
        If there is none; the message says what was meant, or why it cannot be imported.
    """
    if isinstance(name, str) and name in known:
        return known[name]
    if not isinstance(name, str) or ":" not in name:
        raise InvalidInput(f'no such {what}; {did_you_mean(name, known)} (one of your own: "package.module:Name")')
    module_name, _, attribute = name.partition(":")
    if os.getcwd() not in sys.path and "" not in sys.path:  # as `python -m` has it; last, so that it hides nothing
        sys.path.append(os.getcwd())
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        raise InvalidInput(
            f"module {module_name!r} cannot be imported ({type(error).__name__}: {error}): it must be installed, or "
            f"lie in the working directory {os.getcwd()}"
        ) from None
    try:
        return getattr(module, attribute)
    except AttributeError:
        raise InvalidInput(f"module {module_name!r} has no {attribute!r}: correct the name after the colon") from None
