"""What the command line ends with when something is refused: one table from classes of errors to exit codes."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import typer

from covbandit.errors import Conflict, CovbanditError, NotFound, StoreSchemaError, StoreUnavailable

INTERRUPTED = 130
DIFFERS = 1
"""``study verify`` found a difference."""


@dataclass(frozen=True)
class Ending:
    """How the command line ends on a class of errors.

    Attributes
    ----------
    status : int
        Exit code.
    code : str
        The field ``error`` of ``--json``, as over HTTP.
    hint : str
        The way out, unless the error has one of its own.
    """

    status: int
    code: str
    hint: str


_SAFE = "What is repeated is not counted twice; `ask` and `outside` need a --key (or --client) for that."

# The first class in an error's line of ancestors that stands here decides.
TABLE: dict[type[BaseException], Ending] = {
    NotFound: Ending(3, "not_found", "`covbandit study list` shows the studies of a store."),
    Conflict: Ending(4, "conflict", "Nothing was changed; look at what is there, and decide."),
    StoreUnavailable: Ending(5, "unavailable", _SAFE),
    StoreSchemaError: Ending(6, "unavailable", "Act as the message says."),
    CovbanditError: Ending(2, "invalid", "Nothing was changed; correct what the message names."),
}
_USAGE = Ending(2, "invalid", "The command's --help shows its arguments, with examples.")

EXIT_CODES = (
    "Exit codes: 0 done, 1 `study verify` found a difference, 2 bad input (one line says what and why), 3 not found, "
    "4 conflict with what is there, 5 store unavailable (the message says whether to try again), 6 the store's schema "
    "needs an upgrade or is newer, 130 interrupted (the same command continues)."
)


def wants_json(arguments: Sequence[str]) -> bool:
    """Tell whether errors are to be JSON."""
    own = arguments[: list(arguments).index("--")] if "--" in arguments else arguments
    return "--json" in own


def ending_of(error: BaseException) -> Ending:
    """Return how the command line ends on an error."""
    return next(TABLE[ancestor] for ancestor in type(error).__mro__ if ancestor in TABLE)


def end(error: CovbanditError, as_json: bool) -> NoReturn:
    """Say what went wrong, in a line for people or an object for programs, and end."""
    ending = ending_of(error)
    hint = error.hint or _whether_again(error)
    if as_json:
        _object(ending.code, str(error), hint or ending.hint)
    else:
        typer.echo(f"error: {error}", err=True)
        if hint:
            typer.echo(f"hint: {hint}", err=True)
    sys.exit(ending.status)


def end_misused(error: Any) -> NoReturn:
    """Say as JSON that the command line was not understood, and end."""
    _object(_USAGE.code, error.format_message(), _USAGE.hint)
    sys.exit(_USAGE.status)


def interrupted(as_json: bool) -> None:
    """Say that Ctrl-C was pressed, and what that means."""
    message = "interrupted: what was finished is kept, nothing is half done; the same command may be repeated"
    if as_json:
        _object("interrupted", message, "Repeat the command.")
    else:
        typer.echo(f"\n{message}", err=True)


def _whether_again(error: CovbanditError) -> str:
    if not isinstance(error, StoreUnavailable):
        return ""
    if error.retryable:
        return f"This may pass by itself: try again. {_SAFE}"
    return f"This does not pass by itself: remove the cause, then repeat the command. {_SAFE}"


def _object(code: str, message: str, hint: str) -> None:
    typer.echo(json.dumps({"error": code, "message": message, "hint": hint}), err=True)
