"""What the command line prints when something is refused or interrupted, and the exit code it ends with."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import typer

from covbandit.core.error_table import ERROR_TABLE, REPEATED_COMMANDS, ErrorReport, look_up
from covbandit.errors import CovbanditError, Interrupted, StoreUnavailable

INTERRUPTED = 130
DIFFERS = 1
"""``study verify`` found a difference."""

_USAGE = ErrorReport(2, "invalid", "The command's --help shows its arguments, with examples.")
_TABLE: dict[type[BaseException], ErrorReport] = {kind: reports.command_line for kind, reports in ERROR_TABLE.items()}

EXIT_CODES = (
    "Exit codes: 0 done, 1 `study verify` found a difference, 2 bad input (one line says what and why), 3 not found, "
    "4 conflict with what is there, 5 store unavailable (the message says whether to try again), 6 the store's schema "
    "needs an upgrade or is newer, 130 interrupted (the same command continues)."
)


class Located(CovbanditError):
    """An error together with the place in the user's file that caused it.

    The command ends as it would end on the error alone.

    Parameters
    ----------
    place : str
        Where it stands; the message begins with it.
    error : CovbanditError
        What was raised.
    hint : str
        The way out, instead of the error's own.
    """

    def __init__(self, place: str, error: CovbanditError, hint: str = "") -> None:
        super().__init__(f"{place}: {error}")
        self.error = error
        self.hint = hint or error.hint


def wants_json(arguments: Sequence[str]) -> bool:
    """Return True if errors are to be printed as JSON."""
    own = arguments[: list(arguments).index("--")] if "--" in arguments else arguments
    return "--json" in own


def report_of(error: CovbanditError) -> ErrorReport:
    """Return how the command line ends on an error."""
    found = look_up(_TABLE, error.error if isinstance(error, Located) else error)
    assert found is not None  # the base class of our errors is in the table
    return found


def end(error: CovbanditError, as_json: bool) -> NoReturn:
    """Print what went wrong, as a line for people or an object for programs, and end."""
    report = report_of(error)
    hint = error.hint or _whether_to_try_again(error)
    if as_json:
        _print_object(report.code, str(error), hint or report.hint)
    else:
        typer.echo(f"error: {error}", err=True)
        if hint:
            typer.echo(f"hint: {hint}", err=True)
    sys.exit(report.status)


def end_misused(error: Any) -> NoReturn:
    """Print as JSON that the command line was not understood, and end."""
    _print_object(_USAGE.code, error.format_message(), _USAGE.hint)
    sys.exit(_USAGE.status)


def print_interrupted(as_json: bool) -> None:
    """Print that Ctrl-C was pressed, and what that means for a study."""
    message = "interrupted: what was finished is kept, nothing is half done; the same command may be repeated"
    if as_json:
        _print_object("interrupted", message, "Repeat the command.")
    else:
        typer.echo(f"\n{message}", err=True)


@contextmanager
def explaining_interruption() -> Iterator[None]:
    """Print, if Ctrl-C is pressed during a campaign, that the same command continues; and end."""
    try:
        yield
    except KeyboardInterrupt as stopped:  # caught here, since typer ends on any of them without a word
        kept = "interrupted: all that was finished is kept; the same command continues from there"
        typer.echo(f"\n{stopped if isinstance(stopped, Interrupted) else kept}", err=True)
        raise typer.Exit(INTERRUPTED) from None


def _whether_to_try_again(error: CovbanditError) -> str:
    cause = error.error if isinstance(error, Located) else error
    if not isinstance(cause, StoreUnavailable):
        return ""
    if cause.retryable:
        return f"This may pass by itself: try again. {REPEATED_COMMANDS}"
    return f"This does not pass by itself: remove the cause, then repeat the command. {REPEATED_COMMANDS}"


def _print_object(code: str, message: str, hint: str) -> None:
    typer.echo(json.dumps({"error": code, "message": message, "hint": hint}), err=True)
