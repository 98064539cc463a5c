"""``covbandit study ask | tell | amend | outside``: the rounds of a study."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from covbandit.cli.errors import Located
from covbandit.cli.study.options import (
    DEFAULT_STORE,
    FILE,
    JSON,
    LEASE_HELP,
    NAME,
    OUTCOME_JSON,
    OUTCOMES,
    PLAYED,
    ROUND,
    STORE,
)
from covbandit.errors import CovbanditError, InvalidInput

if TYPE_CHECKING:
    from covbandit.cli.study.files import Entry
    from covbandit.studies import Round, Study

_LISTED = 20  # rounds of a batch that are shown


def ask(
    name: NAME,
    client: Annotated[
        str | None,
        typer.Option(metavar="WHO", help="Who asks: gets the same round again while it is open.", show_default=False),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(
            metavar="KEY", help="What for, such as 2026-W46: always gives the same round.", show_default=False
        ),
    ] = None,
    lease: Annotated[
        str | None,
        typer.Option(metavar="TIME", help=f"How long this round stays open: {LEASE_HELP}", show_default=False),
    ] = None,
    allocate: Annotated[
        str | None,
        typer.Option(metavar="TOTAL", help="Also split a total into amounts that sum to it.", show_default=False),
    ] = None,
    step: Annotated[str, typer.Option(metavar="STEP", help="What amounts are multiples of: 1, 0.01, 100, ...")] = "1",
    store: STORE = DEFAULT_STORE,
    json: JSON = False,
) -> None:
    """Ask for the weights of a round.

    Each ask opens a new round, except with `--client` or `--key`, which make it safe to repeat.

    `covbandit study ask funds --key 2026-W46`

    `covbandit study ask ads --client desk-1 --allocate 10000 --step 0.01`

    With `--json`, `--allocate` adds `amounts`: whole numbers, or decimals as text if the step is not whole.
    """
    from covbandit.cli.console import waiting_for_learner
    from covbandit.cli.study import parse
    from covbandit.cli.study.output import command, emit, note, print_round, say
    from covbandit.studies import Study
    from covbandit.studies import allocate as split_into

    split = None if allocate is None else (parse.as_exact(allocate, "--allocate"), parse.as_exact(step, "--step"))
    own = {} if lease is None else {"lease": parse.as_lease(lease)}
    with closing(Study.open(name, store)) as study, waiting_for_learner("asking"):
        if split is not None:
            split_into({name: 1.0}, *split)  # a total that cannot be split is refused before a round is opened
        found = study.ask(client, key, **own)
        amounts = None if split is None else found.allocate(*split)
        feedback, url = study.feedback, study.store.url
        check = study.risk_aversion_check()
    if check.message is not None:
        note(f"note: {check.message}")
    if json:
        emit(found.to_dict() if amounts is None else {**found.to_dict(), "amounts": amounts})
        return
    print_round(found, amounts)
    if found.status != "told":
        seen = [option for option, w in found.weights.items() if w > 0 or feedback == "all"]
        wanted = ["NUMBER"] if feedback == "total" else [f"{option}=NUMBER" for option in seen]
        say(f"when its outcome is known: {command('tell', name, str(found.id), *wanted, store=url)}")


def tell(
    name: NAME,
    round_id: ROUND = None,
    outcome: OUTCOMES = None,
    outcome_json: OUTCOME_JSON = None,
    played: PLAYED = None,
    file: FILE = None,
    store: STORE = DEFAULT_STORE,
    json: JSON = False,
) -> None:
    """Tell what happened in a round; early or late, in any order.

    Telling the same again changes nothing; telling something else is a conflict, see `amend`.

    `covbandit study tell funds 7 SPY=0.012 TLT=-0.004`

    `covbandit study tell funds 7 SPY=0.012 TLT=-0.004 --played SPY=0.5,TLT=0.5`  other weights were played than asked

    `covbandit study tell mix 7 -0.25`  where only the total is seen

    `echo '{"SPY": 0.3, "TLT": -0.1}' | covbandit study tell funds 7 -`

    **Many rounds**, all of them or none: `covbandit study tell funds --file outcomes.csv`

    CSV has a row per round: column `round`, a column per option (its name, or `outcome[NAME]`) or one column `outcome`
    of totals, and `played[NAME]` if that differs from what was asked. Rows without outcome are left out, so a file
    from `covbandit study export` can be filled in and told. JSON is a list of
    `{"id": 7, "outcome": {"SPY": 0.3, "TLT": -0.1}, "weights": {...}}`; weights are optional.
    """
    from covbandit.cli.console import Waiting
    from covbandit.cli.study.output import pointing_to_what_is_there
    from covbandit.studies import Study

    _require_rounds(round_id, outcome, outcome_json, played, file)
    with closing(Study.open(name, store)) as study:
        if file is not None:
            _tell_file(study, file, json)
            return
        number, told, weights = _told(study, round_id, outcome, outcome_json, played)
        with Waiting("telling"), pointing_to_what_is_there(study, number):
            found = study.tell(number, told, weights)
    _answer_with_one(found, json)


def amend(
    name: NAME,
    round_id: ROUND = None,
    outcome: OUTCOMES = None,
    outcome_json: OUTCOME_JSON = None,
    played: PLAYED = None,
    file: FILE = None,
    store: STORE = DEFAULT_STORE,
    json: JSON = False,
) -> None:
    """Correct a round that was told.

    The learner is then as if it had been told so at once; the log keeps both.

    `covbandit study amend funds 7 SPY=0.25 TLT=-0.1`

    `covbandit study amend funds --file corrections.csv`  files as for `tell`, one correction after the other
    """
    from covbandit.cli.console import Waiting
    from covbandit.cli.study.output import pointing_to_what_is_there
    from covbandit.studies import Study

    _require_rounds(round_id, outcome, outcome_json, played, file)
    with closing(Study.open(name, store)) as study:
        if file is not None:
            _amend_file(study, file, json)
            return
        number, told, weights = _told(study, round_id, outcome, outcome_json, played)
        with Waiting("telling all rounds again"), pointing_to_what_is_there(study, number):
            found = study.amend(number, told, weights)
    _answer_with_one(found, json)


def outside(
    name: NAME,
    outcome: OUTCOMES = None,
    outcome_json: OUTCOME_JSON = None,
    weights: Annotated[
        list[str] | None,
        typer.Option(
            "--weights",
            "--played",
            metavar="OPTION=WEIGHT",
            help="What was played: A=0.6,B=0.4, or repeated, or the word equal. Sums to one.",
            show_default=False,
        ),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(
            metavar="KEY",
            help="Makes it safe to repeat: a key is taken in once. With --file, what the keys of its rows begin with; "
            "by default the file's name.",
            show_default=False,
        ),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("--file", metavar="FILE", help="History: CSV, JSON, Excel or Parquet.", show_default=False),
    ] = None,
    kind: Annotated[
        str, typer.Option(metavar="returns|prices", help="With --file and --weights: what the table holds.")
    ] = "returns",
    unit: Annotated[
        str, typer.Option(metavar="fraction|percent", help="With --file and --weights: the unit of returns.")
    ] = "fraction",
    dates: Annotated[
        str | None,
        typer.Option(
            metavar="day-first|month-first|year-first",
            help="With --file and --weights: how dates such as 01/02/2024 are meant.",
            show_default=False,
        ),
    ] = None,
    decimal: Annotated[
        str | None,
        typer.Option(metavar=".|,", help="With --file and --weights: the decimal mark.", show_default=False),
    ] = None,
    worksheet: Annotated[
        str | None,
        typer.Option(
            metavar="SHEET", help="With --file and --weights: the sheet of an Excel file.", show_default=False
        ),
    ] = None,
    check: Annotated[
        bool,
        typer.Option(
            "--check/--no-check",
            help="With --file and --weights: refuse numbers that cannot be meant, such as prices read as returns.",
        ),
    ] = True,
    store: STORE = DEFAULT_STORE,
    json: JSON = False,
) -> None:
    """Tell rounds that were not asked for: history, or what others played.

    `covbandit study outside funds --weights SPY=0.6,TLT=0.4 SPY=0.3 TLT=-0.1 --key 2026-W45`

    **A table of returns or prices** (a row per period, a column per option), as if played with fixed weights:

    `covbandit study outside funds --file returns.csv --weights equal`

    `covbandit study outside funds --file prices.csv --weights SPY=0.6,TLT=0.4 --kind prices --unit percent`

    **A log of what was played**: columns `weight[NAME]` (or `played[NAME]`), `outcome[NAME]` or `outcome`, and `key` if
    rows have one; also what `covbandit study export` wrote.

    `covbandit study outside funds --file log.csv`

    Each row is kept under a key, so after Ctrl-C, or when rows were added, the same command goes on where it stopped.
    """
    from covbandit.cli.console import Waiting
    from covbandit.cli.study import parse
    from covbandit.studies import Study

    if file is not None and (outcome or outcome_json is not None):
        raise InvalidInput("--file has the outcomes; leave out those on the command line")
    with closing(Study.open(name, store)) as study:
        if file is not None:
            reading = {"dates": dates, "decimal": decimal, "worksheet": worksheet, "check": check}
            _tell_history(study, file, weights, key, {"kind": kind, "unit": unit, **reading}, json)
            return
        told = parse.as_outcome(outcome or (), outcome_json, parse.all_options(study))
        if not weights:
            raise InvalidInput("what was played? Give the weights: --weights SPY=0.6,TLT=0.4, or --weights equal")
        with Waiting("telling"):
            found = study.tell_outside(_played(study, weights), told, key)
    _answer_with_one(found, json)


# One round ------------------------------------------------------------------------------------------------------------


def _require_rounds(
    round_id: str | None,
    outcome: Sequence[str] | None,
    outcome_json: str | None,
    played: Sequence[str] | None,
    file: Path | None,
) -> None:
    """Refuse a command line that names no round, or rounds in two ways."""
    if file is not None and (round_id is not None or outcome or outcome_json is not None or played):
        raise InvalidInput("--file has rounds and outcomes; leave out those on the command line")
    if file is None and round_id is None:
        raise InvalidInput("which round? Give its number and outcome: tell NAME 7 SPY=0.3 TLT=-0.1; or --file FILE")


def _told(
    study: Study,
    round_id: str | None,
    outcome: Sequence[str] | None,
    outcome_json: str | None,
    played: Sequence[str] | None,
) -> tuple[int, Any, dict[str, float] | None]:
    """Return a round's number, its outcome, and the weights played if they are given."""
    from covbandit.cli.study import parse

    number = parse.as_round(round_id or "")
    options = parse.all_options(study)
    return number, parse.as_outcome(outcome or (), outcome_json, options), parse.as_played(played, options)


def _played(study: Study, weights: Sequence[str]) -> dict[str, float]:
    """Return the weights that were played, by option name."""
    from covbandit.cli.study import parse

    if list(weights) == ["equal"]:
        return {option: 1.0 / len(study.options) for option in study.options}
    return parse.as_pairs(weights, "weight", parse.all_options(study))


def _answer_with_one(found: Round, as_json: bool) -> None:
    from covbandit.cli.study.output import emit, print_round

    if as_json:
        emit(found.to_dict())
    else:
        print_round(found)


# Files ----------------------------------------------------------------------------------------------------------------


def _tell_file(study: Study, file: Path, as_json: bool) -> None:
    """Tell the rounds in a file: all of them, or none."""
    from covbandit.cli.console import Waiting

    entries, without = _entries(study, file, history=False)
    with Waiting(f"telling {len(entries):,} rounds"):
        found = study.tell_many([(entry.round, entry.outcome, entry.weights) for entry in entries])
    _answer_with_many(found, without, "told", file, as_json)


def _amend_file(study: Study, file: Path, as_json: bool) -> None:
    """Correct the rounds in a file, one after the other."""
    from covbandit.cli.console import Waiting

    entries, without = _entries(study, file, history=False)
    found = []
    with Waiting("correcting", len(entries)) as waiting:
        for done, entry in enumerate(entries):
            waiting(done)
            with _located(entry, done):
                found.append(study.amend(entry.round, entry.outcome, entry.weights))  # type: ignore[arg-type]
    _answer_with_many(found, without, "amended", file, as_json)


def _tell_history(
    study: Study, file: Path, weights: Sequence[str] | None, key: str | None, reading: dict[str, Any], as_json: bool
) -> None:
    """Tell the rounds in a file that were not asked for; `reading` has further arguments of `read_returns`."""
    from covbandit.cli.console import Waiting
    from covbandit.cli.study.files import content_key, entries_of_returns
    from covbandit.cli.study.output import note

    if weights:
        entries, without = entries_of_returns(study, file, _played(study, weights), reading), 0
    else:
        entries, without = _entries(study, file, history=True)
    before = study.summary().rounds
    found = []
    seen: Counter[str] = Counter()
    with Waiting(f"telling {file.name}", len(entries)) as waiting:
        for done, entry in enumerate(entries):
            waiting(done)
            own = entry.key
            if key is not None or own is None:
                # By date or key or, without either, by content rather than by line: rows may be added above.
                place = entry.key or (entry.label if weights else content_key(entry, seen))
                own = f"{key or file.name}, {place}"
            with _located(entry, done):
                found.append(study.tell_outside(entry.weights or {}, entry.outcome, own))
    _answer_with_many(found, without, "told", file, as_json)
    if not as_json and (known := len(found) - (study.summary().rounds - before)):
        note(f"note: {known:,} of them were known already, and not counted again; rounds that only look alike: --key")


def _entries(study: Study, file: Path, history: bool) -> tuple[list[Entry], int]:
    """Return the rounds in a file, and the number of rows without an outcome."""
    from covbandit.cli.study.files import read_entries
    from covbandit.cli.study.parse import all_options

    return read_entries(file, all_options(study), study.feedback == "total", history)


@contextmanager
def _located(entry: Entry, done: int) -> Iterator[None]:
    """Add to an error where in the file the refused entry stands."""
    try:
        yield
    except CovbanditError as error:
        before = f"The {done:,} before it are in. Corrected, the same command goes on and counts nothing twice."
        raise Located(entry.place, error, before if done else "") from error


def _answer_with_many(found: list[Round], without: int, verb: str, file: Path, as_json: bool) -> None:
    from covbandit.cli.study.output import emit, note, print_rounds, say

    if as_json:
        emit({"rounds": [each.to_dict() for each in found]})
        return
    if found:
        last = f"; the last {_LISTED}" if len(found) > _LISTED else ""
        print_rounds(found[-_LISTED:], f"{len(found):,} rounds of {file.name} {verb}{last}")
    else:
        say(f"{file.name} has no outcomes: nothing was {verb}")
    if without:
        note(f"note: {without:,} rows of {file.name} have no outcome yet and were left out")
