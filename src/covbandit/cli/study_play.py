"""``covbandit study create | ask | tell | amend | outside``."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from covbandit.cli import study_arguments as words
from covbandit.cli.study_files import Entry, read_entries
from covbandit.cli.study_output import command, emit, note, say
from covbandit.cli.study_printing import print_round, print_rounds, print_summary
from covbandit.cli.study_waiting import Waiting, waiting_for
from covbandit.errors import Conflict, CovbanditError, InvalidInput, NotFound
from covbandit.learners.protocol.setup_warnings import said_before
from covbandit.studies import Round, Study, allocate

_LISTED = 20  # rounds of a batch that are shown


@contextmanager
def opened(name: str, store: str) -> Iterator[Study]:
    """Open a study for one command."""
    study = Study.open(name, store)
    try:
        yield study
    finally:
        study.close()


def all_options(study: Study) -> tuple[str, ...]:
    """Return the options in use and the retired ones."""
    return (*study.options, *study.retired)


def create(
    name: str, options: list[str], learner: dict[str, Any], outcome: str, lease: str, store: str, as_json: bool
) -> None:
    """Create a study, and say how to go on."""
    with Waiting("creating the study"), said_before():  # the summary has the remarks
        study = Study.create(name, options, learner, outcome, store, lease=words.as_lease(lease))
        try:
            summary, url = study.summary(), study.store.url
        finally:
            study.close()
    if as_json:
        emit(summary.to_dict())
        return
    print_summary(summary, url)
    say(f"next: {command('ask', name, store=url)}")


def ask(
    name: str,
    client: str | None,
    key: str | None,
    lease: str | None,
    total: str | None,
    step: str,
    store: str,
    as_json: bool,
) -> None:
    """Ask for weights, and say how to tell what they earned."""
    split = None if total is None else (words.as_exact(total, "--allocate"), words.as_exact(step, "--step"))
    own = {} if lease is None else {"lease": words.as_lease(lease)}
    with opened(name, store) as study, waiting_for("asking"):
        if split is not None:
            allocate({name: 1.0}, *split)  # what cannot be split is refused before a round is opened
        found = study.ask(client, key, **own)
        amounts = None if split is None else found.allocate(*split)
        feedback, url = study.feedback, study.store.url
        check = study.risk_aversion_check()
    if check.message is not None:
        note(f"note: {check.message}")
    if as_json:
        emit(found.to_dict() if amounts is None else {**found.to_dict(), "amounts": amounts})
        return
    print_round(found, amounts)
    if found.status != "told":
        seen = [option for option, w in found.weights.items() if w > 0 or feedback == "all"]
        wanted = ["NUMBER"] if feedback == "total" else [f"{option}=NUMBER" for option in seen]
        say(f"when its outcome is known: {command('tell', name, str(found.id), *wanted, store=url)}")


def tell(
    name: str,
    round_id: str | None,
    texts: Sequence[str],
    outcome_json: str | None,
    played: Sequence[str] | None,
    file: Path | None,
    amend: bool,
    store: str,
    as_json: bool,
) -> None:
    """Tell or correct one round, or those in a file."""
    _require_one(round_id, texts, outcome_json, played, file)
    with opened(name, store) as study:
        if file is not None:
            _tell_file(study, file, amend, as_json)
            return
        number = words.as_round(round_id or "")
        options = all_options(study)
        outcome = words.as_outcome(texts, outcome_json, options)
        weights = words.as_played(played, options)
        act = study.amend if amend else study.tell
        with Waiting("telling all rounds again" if amend else "telling"), pointing_to_what_is_there(study, number):
            found = act(number, outcome, weights)
    if as_json:
        emit(found.to_dict())
    else:
        print_round(found)


def _require_one(
    round_id: str | None,
    texts: Sequence[str],
    outcome_json: str | None,
    played: Sequence[str] | None,
    file: Path | None,
) -> None:
    if file is not None and (round_id is not None or texts or outcome_json is not None or played):
        raise InvalidInput("--file has rounds and outcomes; leave out those on the command line")
    if file is None and round_id is None:
        raise InvalidInput("which round? Give its number and outcome: tell NAME 7 SPY=0.3 TLT=-0.1; or --file FILE")


@contextmanager
def pointing_to_what_is_there(study: Study, round_id: int) -> Iterator[None]:
    """Say where to look when a round is not there, or was told otherwise."""
    try:
        yield
    except Conflict as error:
        error.hint = f"what was told: {command('show', study.name, str(round_id), store=study.store.url)}"
        raise
    except NotFound as error:
        error.hint = f"what rounds there are: {command('rounds', study.name, store=study.store.url)}"
        raise


def _tell_file(study: Study, file: Path, amend: bool, as_json: bool) -> None:
    entries, without = read_entries(file, all_options(study), study.feedback == "total", history=False)
    if amend:
        found = []
        with Waiting("correcting", len(entries)) as waiting:
            for done, entry in enumerate(entries):
                waiting(done)
                with _located(entry, done):
                    found.append(study.amend(entry.round, entry.outcome, entry.weights))  # type: ignore[arg-type]
    else:
        with Waiting(f"telling {len(entries):,} rounds"):
            found = study.tell_many([(entry.round, entry.outcome, entry.weights) for entry in entries])
    _answer(found, without, "amended" if amend else "told", file, as_json)


@contextmanager
def _located(entry: Entry, done: int) -> Iterator[None]:
    """Say where in the file a refused entry stands."""
    try:
        yield
    except CovbanditError as error:
        error.args = (f"{entry.place}: {error}",)
        if done:
            error.hint = f"The {done:,} before it are in. Corrected, the same command goes on and counts nothing twice."
        raise


def _answer(found: list[Round], without: int, verb: str, file: Path, as_json: bool) -> None:
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


def outside(
    name: str,
    texts: Sequence[str],
    outcome_json: str | None,
    played: Sequence[str] | None,
    key: str | None,
    file: Path | None,
    kind: str,
    unit: str,
    reading: dict[str, Any],
    store: str,
    as_json: bool,
) -> None:
    """Tell rounds that were not asked for; `reading` has further arguments of `read_returns`."""
    if file is not None and (texts or outcome_json is not None):
        raise InvalidInput("--file has the outcomes; leave out those on the command line")
    with opened(name, store) as study:
        if file is not None:
            _tell_history(study, file, played, key, {"kind": kind, "unit": unit, **reading}, as_json)
            return
        options = all_options(study)
        outcome = words.as_outcome(texts, outcome_json, options)
        if not played:
            raise InvalidInput("what was played? Give the weights: --weights SPY=0.6,TLT=0.4, or --weights equal")
        with Waiting("telling"):
            found = study.tell_outside(_weights(study, played), outcome, key)
    if as_json:
        emit(found.to_dict())
    else:
        print_round(found)


def _weights(study: Study, played: Sequence[str]) -> dict[str, float]:
    if list(played) == ["equal"]:
        return {option: 1.0 / len(study.options) for option in study.options}
    return words.as_pairs(played, "weight", all_options(study))


def _tell_history(
    study: Study, file: Path, played: Sequence[str] | None, key: str | None, reading: dict[str, Any], as_json: bool
) -> None:
    if played:
        entries, without = _returns(study, file, _weights(study, played), reading), 0
    else:
        entries, without = read_entries(file, all_options(study), study.feedback == "total", history=True)
    before = study.summary().rounds
    found = []
    seen: Counter[str] = Counter()
    with Waiting(f"telling {file.name}", len(entries)) as waiting:
        for done, entry in enumerate(entries):
            waiting(done)
            own = entry.key
            if key is not None or own is None:
                # By date or key or, without either, by content rather than by line: rows may be added above.
                place = entry.key or (entry.label if played else _fingerprint(entry, seen))
                own = f"{key or file.name}, {place}"
            with _located(entry, done):
                found.append(study.tell_outside(entry.weights or {}, entry.outcome, own))
    _answer(found, without, "told", file, as_json)
    if not as_json and (known := len(found) - (study.summary().rounds - before)):
        note(f"note: {known:,} of them were known already, and not counted again; rounds that only look alike: --key")


def _as_options(message: str) -> str:
    """Return a message with the arguments that it names written as on the command line."""
    message = message.replace("check=False", "--no-check")
    return re.sub(r"\b(kind|unit|dates|decimal|worksheet)=(\"[^\"]*\"|'[^']*')", r"--\1 \2", message)


def _fingerprint(entry: Entry, seen: Counter[str]) -> str:
    """Return what tells a round from others: its content, and how often that stood in the file so far."""
    content = json.dumps([entry.weights, entry.outcome], sort_keys=True)
    found = hashlib.blake2b(content.encode(), digest_size=6).hexdigest()
    seen[found] += 1
    return f"{found}-{seen[found]}"


def _returns(study: Study, file: Path, weights: dict[str, float], reading: dict[str, Any]) -> list[Entry]:
    """Return a table of returns as rounds that were played with the same weights."""
    from covbandit.data import read_returns

    feedback = study.feedback
    if study.outcome == "amount" and feedback != "total":
        raise InvalidInput(
            "a table of returns tells rewards per unit of weight, but this study is told amounts; give a file with "
            "columns weight[OPTION] and outcome[OPTION] instead"
        )
    try:
        returns = read_returns(file, options=study.options, **reading)
    except InvalidInput as error:
        error.args = (_as_options(str(error)),)
        raise
    for remark in returns.notes:
        note(f"note: {file.name}: {remark}")
    held = [option for option in study.options if weights.get(option, 0.0) > 0]
    entries = []
    for label, row in zip(returns.index, returns.values.tolist(), strict=True):
        rewards = dict(zip(study.options, row, strict=True))
        outcome: Any = rewards
        if feedback == "total":
            outcome = sum(weights[option] * rewards[option] for option in held)
        elif feedback == "chosen":
            outcome = {option: rewards[option] for option in held}
        entries.append(Entry(file.name, label, None, None, outcome, weights))
    return entries
