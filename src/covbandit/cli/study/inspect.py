"""``covbandit study list | show | rounds | explain | estimates | frontier | history | changes | export | verify``."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from covbandit.cli.errors import DIFFERS
from covbandit.cli.study.options import DEFAULT_STORE, JSON, NAME, ROUND, STORE
from covbandit.errors import InvalidInput, StateFileError

if TYPE_CHECKING:
    from covbandit.studies import Round, Store, Study, Verification

_LATEST = 20  # rounds shown to people who do not say how many
_FRONTIER = {True: 40, False: 12}  # points, for programs and for people
_HISTORY = {True: 400, False: 20}


def list_(store: STORE = DEFAULT_STORE, json: JSON = False) -> None:
    """List the studies of a store.

    `covbandit study list --store postgresql://me@db.example.org/studies`
    """
    from covbandit.cli.study.output import emit, print_studies, say
    from covbandit.studies import Store, list_studies

    with Store(store) as place:
        found, url = list_studies(place), place.url
    if json:
        emit({"studies": [each.to_dict() for each in found]})
    elif found:
        print_studies(found, url)
    else:
        say(f"no studies in {url} yet; `covbandit study create --help` shows how to make one")


def show(name: NAME, round_id: ROUND = None, store: STORE = DEFAULT_STORE, json: JSON = False) -> None:
    """Show a study at a glance, or one of its rounds.

    `covbandit study show funds`

    `covbandit study show funds 7`
    """
    from covbandit.cli.study.output import emit, pointing_to_what_is_there, print_round, print_rounds, print_summary
    from covbandit.cli.study.parse import as_round
    from covbandit.studies import Study

    with closing(Study.open(name, store)) as study:
        if round_id is not None:
            number = as_round(round_id)
            with pointing_to_what_is_there(study, number):
                found = study.round(number)
            if json:
                emit(found.to_dict())
            else:
                print_round(found)
            return
        summary = study.summary()
        if json:
            emit(summary.to_dict())
            return
        print_summary(summary, study.store.url)
        waiting = _latest(study, _LATEST, "open")
        if waiting:
            print_rounds(waiting, "rounds that wait for their outcome")


def rounds(
    name: NAME,
    after: Annotated[
        int | None, typer.Option(help="Only those that changed since this revision.", show_default=False)
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(help="The most rounds to list. By default the last 20, with --json all.", show_default=False),
    ] = None,
    status: Annotated[
        str | None, typer.Option(metavar="open|told|expired", help="Only those.", show_default=False)
    ] = None,
    store: STORE = DEFAULT_STORE,
    json: JSON = False,
) -> None:
    """List rounds, in order of their last change.

    `covbandit study rounds funds --status open`

    `covbandit study rounds funds --json --after 120`  what is new since revision 120, for a program that follows
    """
    from covbandit.cli.study.output import command, emit, print_rounds, say
    from covbandit.studies import Study

    if limit is not None and limit < 1:
        raise InvalidInput(f"limit must be at least 1, got {limit}")
    with closing(Study.open(name, store)) as study:
        if not json and after is None:
            count = _LATEST if limit is None else limit
            found = _latest(study, count, status)
            what = "rounds" if status is None else f"{status} rounds"
            shown = f"the last {len(found)}" if len(found) == count else f"all {len(found)}"
            if found:
                print_rounds(found, f"{shown} {what} of {name}, by their last change")
            else:
                say(f"no {what} of {name}; ask for one: {command('ask', name, store=study.store.url)}")
            return
        since = after or 0
        found = study.rounds(since, None if limit is None else limit + 1, status)
        revision = study.revision
    more = limit is not None and len(found) > limit
    found = found[:limit]
    reached = found[-1].revision if found else since
    if json:
        listed = [each.to_dict() for each in found]
        emit({"rounds": listed, "revision": reached, "study_revision": revision, "more": more})
        return
    print_rounds(found, f"{len(found)} rounds of {name} that changed since revision {since}")
    say(f"go on with --after {reached}{'; there are more' if more else ''}")


def explain(name: NAME, store: STORE = DEFAULT_STORE, json: JSON = False) -> None:
    """Say why: what each option adds to the mean and the risk of the weights proposed now.

    `covbandit study explain funds`

    No round is opened by looking.
    """
    from covbandit.cli.console import waiting_for_learner
    from covbandit.cli.study.output import emit, show
    from covbandit.studies import Study

    with closing(Study.open(name, store)) as study, waiting_for_learner("explaining"):
        found = study.explain()
    if json:
        emit(found.to_dict())
        return
    table = found.table()
    show(table.columns, table.rows, table.title, digits=4)


def estimates(name: NAME, store: STORE = DEFAULT_STORE, json: JSON = False) -> None:
    """Show what the learner believes: mean, spread and correlation of the options.

    `covbandit study estimates funds`
    """
    from covbandit.cli.study.output import emit, print_correlations, show
    from covbandit.studies import Study

    with closing(Study.open(name, store)) as study:
        found = study.estimates()
    if json:
        emit(found.to_dict())
        return
    deviations = [None if row[i] is None else max(row[i] or 0.0, 0.0) ** 0.5 for i, row in enumerate(found.covariance)]
    facts = zip(found.options, found.in_use, found.count, found.mean, found.width, deviations, strict=True)
    rows = [[n if used else f"{n} (retired)", *rest] for n, used, *rest in facts]
    show(["option", "count", "mean", "width", "sd"], rows, f"estimates of {name}\nwidth: {found.width_kind}", 4)
    print_correlations(found)


def frontier(
    name: NAME,
    points: Annotated[
        int | None, typer.Option(help="How many points. By default 12, with --json 40.", show_default=False)
    ] = None,
    store: STORE = DEFAULT_STORE,
    json: JSON = False,
) -> None:
    """Show mean against risk: what is attainable by the estimates, what is proposed, and what would be best.

    `covbandit study frontier funds --points 20`
    """
    from covbandit.cli.console import Waiting
    from covbandit.cli.study.output import emit, print_frontier
    from covbandit.studies import Study

    with closing(Study.open(name, store)) as study, Waiting("drawing the frontier"):
        found = study.frontier(_FRONTIER[json] if points is None else points)
    if json:
        emit(found.to_dict())
    else:
        print_frontier(found, name)


def history(
    name: NAME,
    points: Annotated[
        int | None,
        typer.Option(help="At most so many rounds. By default 20, with --json 400.", show_default=False),
    ] = None,
    store: STORE = DEFAULT_STORE,
    json: JSON = False,
) -> None:
    """Show the course of a study: rewards and risk so far, beside equal weights where those are known.

    `covbandit study history funds`

    Rounds are thinned evenly; sums count all of them.
    """
    from covbandit.cli.console import Waiting
    from covbandit.cli.study.output import as_weights, emit, say, show
    from covbandit.studies import Study

    with closing(Study.open(name, store)) as study, Waiting("reading the rounds"):
        found = study.history(_HISTORY[json] if points is None else points).to_dict()
    if json:
        emit(found)
        return
    n = len(found["round"])
    if n == 0:
        say(f"nothing was told to {name} yet")
        return
    columns: dict[str, list[Any]] = {
        "round": found["round"],
        "reward": found["reward"],
        "all so far": found["cumulative_reward"],
        "risk so far": found["risk"],
    }
    if found["equal_weights_cumulative_reward"] is not None:
        columns["equal weights"] = found["equal_weights_cumulative_reward"]
        columns["their risk"] = found["equal_weights_risk"]
    played = [{option: w[k] or 0.0 for option, w in found["weights"].items()} for k in range(n)]
    columns["played"] = [as_weights(each) for each in played]
    thinned = f", {n} of them shown" if n < found["told"] else ""
    show(list(columns), list(zip(*columns.values(), strict=True)), f"{found['told']:,} rounds told to {name}{thinned}")


def changes(name: NAME, store: STORE = DEFAULT_STORE, json: JSON = False) -> None:
    """List what was changed in a study, and when.

    `covbandit study changes funds`
    """
    from covbandit.cli.study.output import emit, in_words, local, show
    from covbandit.studies import Study

    with closing(Study.open(name, store)) as study:
        found = study.changes()
    if json:
        emit({"changes": [each.to_dict() for each in found]})
        return
    rows = [[each.revision, local(each.at), in_words(each)] for each in found]
    show(["revision", "when", "what"], rows, f"changes of {name}")


def export(
    name: NAME,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The file to write; its ending selects the format.", show_default=False),
    ] = None,
    format_: Annotated[
        str | None,
        typer.Option("--format", metavar="csv|json|parquet", help="CSV unless told otherwise.", show_default=False),
    ] = None,
    store: STORE = DEFAULT_STORE,
    json: JSON = False,
) -> None:
    """Write all rounds as CSV, Parquet or JSON.

    CSV and Parquet have a row per round with its latest outcome. JSON has everything: configuration, every outcome
    ever told, corrections and changes.

    `covbandit study export funds > rounds.csv`

    `covbandit study export funds --out rounds.parquet`

    `covbandit study export funds --json | jq .rounds`
    """
    from covbandit.cli.console import Waiting
    from covbandit.cli.study.output import emit, say
    from covbandit.studies import Study

    if json and out is None:
        if format_ not in (None, "json"):
            raise InvalidInput(f"--json prints JSON, --format asks for {format_}; leave one out, or name a file: --out")
        format_ = "json"
    with closing(Study.open(name, store)) as study, Waiting("reading all rounds"):
        if out is None and format_ == "parquet" and sys.stdout.isatty():
            raise InvalidInput("Parquet is not for reading on a terminal; name a file: --out rounds.parquet")
        written = study.export(out, format_)
        count = study.summary().rounds
    if out is None:
        typer.echo(written, nl=format_ == "json")
    elif json:
        emit({"file": str(out), "rounds": count, "bytes": len(written)})
    else:
        say(f"{count:,} rounds of {name} written to {out}, {len(written):,} bytes")


def verify(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="The study's name.", show_default=False)] = None,
    everything: Annotated[bool, typer.Option("--all", help="All studies of the store.")] = False,
    store: STORE = DEFAULT_STORE,
    json: JSON = False,
) -> None:
    """Check that the log, told anew, gives the stored state: bit for bit, or within 1e-9 across versions.

    Ends with exit code 1 if it does not. Nothing is written.

    `covbandit study verify funds`

    `covbandit study verify --all`
    """
    from covbandit.cli.study.output import emit, note, say
    from covbandit.studies import Store, list_studies

    if (name is None) != everything:
        raise InvalidInput("name the study to verify, or --all" + ("; not both" if everything else ""))
    with Store(store) as place:
        names = [each.name for each in list_studies(place)] if name is None else [name]
        found = {each: _verified(each, place, alone=name is not None) for each in names}
        url = place.url
    if json:
        listed = [{"study": each, **result.to_dict()} for each, result in found.items()]
        ok = all(result.ok for result in found.values())
        emit({"ok": ok, "studies": listed} if name is None else found[name].to_dict())
    else:
        if not found:
            say(f"no studies in {url} yet: nothing to verify")
        for each, result in found.items():
            say(f"{'ok' if result.ok else 'DIFFERS'}: {each}: {result.message}", style="" if result.ok else "bold red")
    if not all(result.ok for result in found.values()):
        if not json:
            note(
                "hint: the log is what counts; `covbandit study set NAME --risk-aversion RHO`, with the ρ that it has, "
                "computes the state anew from it"
            )
        raise typer.Exit(DIFFERS)


def _latest(study: Study, count: int, status: str | None) -> list[Round]:
    """Return the rounds that changed last, oldest first; read no more of the study than necessary."""
    last, reach = study.revision, 4 * count
    while True:
        found = study.rounds(after=max(last - reach, 0), status=status)
        if len(found) >= count or reach >= last:
            return found[-count:]
        reach *= 4


def _verified(name: str, place: Store, alone: bool) -> Verification:
    """Verify one study; with `alone`, let errors pass, otherwise report them as a difference."""
    from covbandit.cli.console import Waiting
    from covbandit.studies import Study, Verification

    try:
        study = Study.open(name, place)
        with Waiting(f"verifying {name}", study.summary().told) as waiting:
            return study.verify(waiting)
    except StateFileError as error:
        if alone:
            raise
        return Verification(False, False, float("nan"), 0, str(error))  # the others are verified all the same
