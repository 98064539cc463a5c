"""``covbandit study``: the group of commands.

================  ====================================================================================
file              what it holds
================  ====================================================================================
``rounds.py``     commands that play: ask, tell, amend, outside
``inspect.py``    commands that look: list, show, rounds, explain, estimates, frontier, history, ...
``configure.py``  commands that make and change studies: create, set, retire, restore, add, fork, ...
``options.py``    arguments and options that several commands share
``parse.py``      what the words on the command line mean
``files.py``      files with many rounds
``output.py``     answers: tables for people, JSON for programs
================  ====================================================================================
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperGroup

from covbandit.cli.errors import EXIT_CODES, INTERRUPTED, print_interrupted, wants_json
from covbandit.cli.study import configure, inspect, rounds
from covbandit.errors import AssumptionWarning, SetupWarning


class _Group(TyperGroup):
    """A group that prints a line when a command is interrupted, and a line for each warning of a learner."""

    def invoke(self, ctx: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("always", AssumptionWarning)
            warnings.simplefilter("always", SetupWarning)
            warnings.showwarning = _warned
            try:
                return super().invoke(ctx)
            except KeyboardInterrupt:  # caught here, since typer ends on any of them without a word
                print_interrupted(wants_json(sys.argv))
                raise typer.Exit(INTERRUPTED) from None


def _warned(message: Warning | str, *_: Any, **__: Any) -> None:
    typer.echo(f"note: {message}", err=True)


study = typer.Typer(
    name="study",
    cls=_Group,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help=f"""Ask for weights now, tell what happened later: durable studies.

    **The life of a study**

    `covbandit study create funds --options SPY,TLT --feedback all --risk-aversion 2 --outcome per_unit`

    `covbandit study ask funds --key 2026-W46`  proposes weights for round 1

    `covbandit study tell funds 1 SPY=0.012 TLT=-0.004`  when their outcome is known, be it weeks later

    `covbandit study explain funds`  what it learned, and why it proposes what it does

    `covbandit study export funds > rounds.csv`  everything, in a file

    Studies live in `covbandit.db` in the current folder, or where `--store` or COVBANDIT_STORE says: another SQLite
    file or a PostgreSQL database. Several people and programs may work on one study at once. What was acknowledged
    survives crashes, and what is repeated is not counted twice. `--json` prints one JSON document for programs.

    {EXIT_CODES}
    """,
)

_PANELS: dict[str, dict[str, Callable[..., None]]] = {
    "Play": {
        "create": configure.create,
        "ask": rounds.ask,
        "tell": rounds.tell,
        "amend": rounds.amend,
        "outside": rounds.outside,
    },
    "Look": {
        "list": inspect.list_,
        "show": inspect.show,
        "rounds": inspect.rounds,
        "explain": inspect.explain,
        "estimates": inspect.estimates,
        "frontier": inspect.frontier,
        "history": inspect.history,
        "changes": inspect.changes,
        "export": inspect.export,
    },
    "Change": {
        "set": configure.set_,
        "retire": configure.retire,
        "restore": configure.restore,
        "add": configure.add,
        "fork": configure.fork,
    },
    "Care": {"verify": inspect.verify, "upgrade": configure.upgrade},
}

_WITH_NUMBERS = ("tell", "amend", "outside")
"""Commands whose arguments may be negative numbers, which look like options."""

for _panel, _commands in _PANELS.items():
    for _name, _run in _commands.items():
        _settings = {"ignore_unknown_options": True} if _name in _WITH_NUMBERS else None
        study.command(_name, rich_help_panel=_panel, context_settings=_settings)(_run)
