"""``covbandit study list | show | rounds | explain | estimates | frontier | history | changes | export | verify``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import typer

from covbandit.cli.failures import DIFFERS
from covbandit.cli.study_arguments import as_round
from covbandit.cli.study_output import as_weights, command, emit, local, note, say, show
from covbandit.cli.study_play import opened, pointing_to_what_is_there
from covbandit.cli.study_printing import (
    in_words,
    print_correlations,
    print_frontier,
    print_round,
    print_rounds,
    print_studies,
    print_summary,
)
from covbandit.cli.study_waiting import Waiting, waiting_for
from covbandit.errors import InvalidInput, StateFileError
from covbandit.studies import Round, Store, Study, Verification, list_studies

_LATEST = 20  # rounds shown to people who do not say how many
_FRONTIER = {True: 40, False: 12}  # points, for programs and for people
_HISTORY = {True: 400, False: 20}


def list_all(store: str, as_json: bool) -> None:
    """List the studies of a store."""
    with Store(store) as place:
        found, url = list_studies(place), place.url
    if as_json:
        emit({"studies": [each.to_dict() for each in found]})
    elif found:
        print_studies(found, url)
    else:
        say(f"no studies in {url} yet; `covbandit study create --help` shows how to make one")


def show_one(name: str, round_id: str | None, store: str, as_json: bool) -> None:
    """Show a study or one of its rounds."""
    with opened(name, store) as study:
        if round_id is not None:
            number = as_round(round_id)
            with pointing_to_what_is_there(study, number):
                found = study.round(number)
            if as_json:
                emit(found.to_dict())
            else:
                print_round(found)
            return
        summary = study.summary()
        if as_json:
            emit(summary.to_dict())
            return
        print_summary(summary, study.store.url)
        waiting = latest(study, _LATEST, "open")
        if waiting:
            print_rounds(waiting, "rounds that wait for their outcome")


def latest(study: Study, count: int, status: str | None) -> list[Round]:
    """Return the rounds that changed last, oldest first, without reading the whole study where that can be helped."""
    last, reach = study.revision, 4 * count
    while True:
        found = study.rounds(after=max(last - reach, 0), status=status)
        if len(found) >= count or reach >= last:
            return found[-count:]
        reach *= 4


def rounds(name: str, after: int | None, limit: int | None, status: str | None, store: str, as_json: bool) -> None:
    """List rounds by their last change."""
    if limit is not None and limit < 1:
        raise InvalidInput(f"limit must be at least 1, got {limit}")
    with opened(name, store) as study:
        if not as_json and after is None:
            count = _LATEST if limit is None else limit
            found = latest(study, count, status)
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
    if as_json:
        listed = [each.to_dict() for each in found]
        emit({"rounds": listed, "revision": reached, "study_revision": revision, "more": more})
        return
    print_rounds(found, f"{len(found)} rounds of {name} that changed since revision {since}")
    say(f"go on with --after {reached}{'; there are more' if more else ''}")


def explain(name: str, store: str, as_json: bool) -> None:
    """Say why the study proposes what it does."""
    with opened(name, store) as study, waiting_for("explaining"):
        found = study.explain()
    if as_json:
        emit(found.to_dict())
        return
    table = found.table()
    show(table.columns, table.rows, table.title, digits=4)


def estimates(name: str, store: str, as_json: bool) -> None:
    """Show what the learner believes of options and pairs."""
    with opened(name, store) as study:
        found = study.estimates()
    if as_json:
        emit(found.to_dict())
        return
    deviations = [None if row[i] is None else max(row[i] or 0.0, 0.0) ** 0.5 for i, row in enumerate(found.covariance)]
    facts = zip(found.options, found.in_use, found.count, found.mean, found.width, deviations, strict=True)
    rows = [[n if used else f"{n} (retired)", *rest] for n, used, *rest in facts]
    show(["option", "count", "mean", "width", "sd"], rows, f"estimates of {name}\nwidth: {found.width_kind}", 4)
    print_correlations(found)


def frontier(name: str, points: int | None, store: str, as_json: bool) -> None:
    """Show mean against risk."""
    with opened(name, store) as study, Waiting("drawing the frontier"):
        found = study.frontier(_FRONTIER[as_json] if points is None else points)
    if as_json:
        emit(found.to_dict())
    else:
        print_frontier(found, name)


def history(name: str, points: int | None, store: str, as_json: bool) -> None:
    """Show the course of the study."""
    with opened(name, store) as study, Waiting("reading the rounds"):
        found = study.history(_HISTORY[as_json] if points is None else points).to_dict()
    if as_json:
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


def changes(name: str, store: str, as_json: bool) -> None:
    """List what was changed."""
    with opened(name, store) as study:
        found = study.changes()
    if as_json:
        emit({"changes": [each.to_dict() for each in found]})
        return
    rows = [[each.revision, local(each.at), in_words(each)] for each in found]
    show(["revision", "when", "what"], rows, f"changes of {name}")


def export(name: str, out: Path | None, format_: str | None, store: str, as_json: bool) -> None:
    """Write all rounds to a file or to standard output."""
    if as_json and out is None:
        if format_ not in (None, "json"):
            raise InvalidInput(f"--json prints JSON, --format asks for {format_}; leave one out, or name a file: --out")
        format_ = "json"
    with opened(name, store) as study, Waiting("reading all rounds"):
        if out is None and format_ == "parquet" and sys.stdout.isatty():
            raise InvalidInput("Parquet is not for reading on a terminal; name a file: --out rounds.parquet")
        written = study.export(out, format_)
        count = study.summary().rounds
    if out is None:
        typer.echo(written, nl=format_ == "json")
    elif as_json:
        emit({"file": str(out), "rounds": count, "bytes": len(written)})
    else:
        say(f"{count:,} rounds of {name} written to {out}, {len(written):,} bytes")


def verify(name: str | None, everything: bool, store: str, as_json: bool) -> None:
    """Tell whole logs again and compare; end with 1 if anything differs."""
    if (name is None) != everything:
        raise InvalidInput("name the study to verify, or --all" + ("; not both" if everything else ""))
    with Store(store) as place:
        names = [each.name for each in list_studies(place)] if name is None else [name]
        found = {each: _verified(each, place, alone=name is not None) for each in names}
        url = place.url
    if as_json:
        listed = [{"study": each, **result.to_dict()} for each, result in found.items()]
        ok = all(result.ok for result in found.values())
        emit({"ok": ok, "studies": listed} if name is None else found[name].to_dict())
    else:
        if not found:
            say(f"no studies in {url} yet: nothing to verify")
        for each, result in found.items():
            say(f"{'ok' if result.ok else 'DIFFERS'}: {each}: {result.message}", style="" if result.ok else "bold red")
    if not all(result.ok for result in found.values()):
        if not as_json:
            note(
                "hint: the log is what counts; `covbandit study set NAME --risk-aversion RHO`, with the ρ that it has, "
                "computes the state anew from it"
            )
        raise typer.Exit(DIFFERS)


def _verified(name: str, place: Store, alone: bool) -> Verification:
    try:
        study = Study.open(name, place)
        with Waiting(f"verifying {name}", study.summary().told) as waiting:
            return study.verify(waiting)
    except StateFileError as error:
        if alone:
            raise
        return Verification(False, False, float("nan"), 0, str(error))  # the others are verified all the same
