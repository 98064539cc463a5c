"""The commands that look at studies, with their helps."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from covbandit.cli import study_options as shared
from covbandit.cli.study_options import DEFAULT_STORE


def list_(store: shared.STORE = DEFAULT_STORE, json: shared.JSON = False) -> None:
    """List the studies of a store.

    `covbandit study list --store postgresql://me@db.example.org/studies`
    """
    from covbandit.cli.study_look import list_all

    list_all(store, json)


def show(
    name: shared.NAME, round_id: shared.ROUND = None, store: shared.STORE = DEFAULT_STORE, json: shared.JSON = False
) -> None:
    """Show a study at a glance, or one of its rounds.

    `covbandit study show funds`

    `covbandit study show funds 7`
    """
    from covbandit.cli.study_look import show_one

    show_one(name, round_id, store, json)


def rounds(
    name: shared.NAME,
    after: Annotated[
        int | None, typer.Option(help="Only those that changed since this revision.", show_default=False)
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(help="No more than so many. By default the last 20, with --json all.", show_default=False),
    ] = None,
    status: Annotated[
        str | None, typer.Option(metavar="open|told|expired", help="Only those.", show_default=False)
    ] = None,
    store: shared.STORE = DEFAULT_STORE,
    json: shared.JSON = False,
) -> None:
    """List rounds, in order of their last change.

    `covbandit study rounds funds --status open`

    `covbandit study rounds funds --json --after 120`  what is new since revision 120, for a program that follows
    """
    from covbandit.cli.study_look import rounds as run

    run(name, after, limit, status, store, json)


def explain(name: shared.NAME, store: shared.STORE = DEFAULT_STORE, json: shared.JSON = False) -> None:
    """Say why: what each option adds to the mean and the risk of the weights proposed now.

    `covbandit study explain funds`

    No round is opened by looking.
    """
    from covbandit.cli.study_look import explain as run

    run(name, store, json)


def estimates(name: shared.NAME, store: shared.STORE = DEFAULT_STORE, json: shared.JSON = False) -> None:
    """Show what the learner believes: mean, spread and correlation of the options.

    `covbandit study estimates funds`
    """
    from covbandit.cli.study_look import estimates as run

    run(name, store, json)


def frontier(
    name: shared.NAME,
    points: Annotated[
        int | None, typer.Option(help="How many points. By default 12, with --json 40.", show_default=False)
    ] = None,
    store: shared.STORE = DEFAULT_STORE,
    json: shared.JSON = False,
) -> None:
    """Show mean against risk: what is attainable by the estimates, what is proposed, and what would be best.

    `covbandit study frontier funds --points 20`
    """
    from covbandit.cli.study_look import frontier as run

    run(name, points, store, json)


def history(
    name: shared.NAME,
    points: Annotated[
        int | None,
        typer.Option(help="At most so many rounds. By default 20, with --json 400.", show_default=False),
    ] = None,
    store: shared.STORE = DEFAULT_STORE,
    json: shared.JSON = False,
) -> None:
    """Show the course of a study: rewards and risk so far, beside equal weights where those are known.

    `covbandit study history funds`

    Rounds are thinned evenly; sums count all of them.
    """
    from covbandit.cli.study_look import history as run

    run(name, points, store, json)


def changes(name: shared.NAME, store: shared.STORE = DEFAULT_STORE, json: shared.JSON = False) -> None:
    """List what was changed in a study, and when.

    `covbandit study changes funds`
    """
    from covbandit.cli.study_look import changes as run

    run(name, store, json)


def export(
    name: shared.NAME,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where to; its ending tells the format.", show_default=False),
    ] = None,
    format_: Annotated[
        str | None,
        typer.Option("--format", metavar="csv|json|parquet", help="CSV unless told otherwise.", show_default=False),
    ] = None,
    store: shared.STORE = DEFAULT_STORE,
    json: shared.JSON = False,
) -> None:
    """Write all rounds as CSV, Parquet or JSON.

    CSV and Parquet have a row per round with its latest outcome. JSON has everything: configuration, every outcome
    ever told, corrections and changes.

    `covbandit study export funds > rounds.csv`

    `covbandit study export funds --out rounds.parquet`

    `covbandit study export funds --json | jq .rounds`
    """
    from covbandit.cli.study_look import export as run

    run(name, out, format_, store, json)


def verify(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="The study's name.", show_default=False)] = None,
    everything: Annotated[bool, typer.Option("--all", help="All studies of the store.")] = False,
    store: shared.STORE = DEFAULT_STORE,
    json: shared.JSON = False,
) -> None:
    """Check that the log, told anew, gives the stored state: bit for bit, or within 1e-9 across versions.

    Ends with exit code 1 if it does not. Nothing is written.

    `covbandit study verify funds`

    `covbandit study verify --all`
    """
    from covbandit.cli.study_look import verify as run

    run(name, everything, store, json)
