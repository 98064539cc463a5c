"""``covbandit study set | retire | restore | add | fork | upgrade``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer

from covbandit.cli.failures import TABLE
from covbandit.cli.study_output import command, emit, say
from covbandit.cli.study_play import all_options, opened
from covbandit.cli.study_printing import print_change, print_fork
from covbandit.cli.study_waiting import Waiting
from covbandit.errors import StoreSchemaError
from covbandit.studies import Change, Store, Study
from covbandit.studies.schema import SCHEMA


def change(name: str, how: Callable[[Study], Change], store: str, as_json: bool) -> None:
    """Change a study's configuration."""
    with opened(name, store) as study, Waiting("telling all rounds again"):
        made = how(study)
        url = study.store.url
    if as_json:
        emit(made.to_dict())
        return
    print_change(made, name)
    say(f"rounds already asked keep their weights; what is proposed now: {command('explain', name, store=url)}")


def fork(
    name: str, describe: Callable[[tuple[str, ...]], dict[str, Any]], new: str | None, store: str, as_json: bool
) -> None:
    """Tell a study's history to another learner."""
    with opened(name, store) as study, Waiting("telling the history to another learner"):
        made = study.fork(describe(all_options(study)), new)
        now = study.explain()
        url = study.store.url
    if as_json:
        emit(made.to_dict())
        return
    print_fork(made, dict(zip(map(str, now.options), now.weights.tolist(), strict=True)), name)
    if made.study is not None:
        say(f"it is now the study {made.study}; next: {command('ask', made.study, store=url)}")
    else:
        say("nothing was stored; --as NEWNAME makes it a study of its own")


def upgrade(store: str, check: bool, as_json: bool) -> None:
    """Bring a store's tables to this version, or say whether that is needed."""
    with Store.of_any_schema(store) as place:
        url, before = place.url, place.schema()
        place.refuse_newer(before)
        after = before
        if not check:
            before, after = place.upgrade()
    if as_json:
        emit({"store": url, "before": before, "after": after, "newest": SCHEMA})
    elif before == SCHEMA:
        say(f"{url} has schema {before}, the newest: nothing to do")
    elif check:
        found = "has no tables yet" if before is None else f"has schema {before}"
        say(f"{url} {found}, the newest is {SCHEMA}; make a copy, then: {command('upgrade', store=url)}")
    elif before is None:
        say(f"{url} had no tables; it was set up with schema {after}")
    else:
        say(f"{url} was upgraded from schema {before} to {after}")
    if after != SCHEMA:
        raise typer.Exit(TABLE[StoreSchemaError].status)
