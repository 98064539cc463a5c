"""How study commands answer: rounds, studies and frontiers for people, one strict JSON document for programs."""

from __future__ import annotations

import json
import math
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Self

import typer
from rich.console import Console

from covbandit.cli.console import labelled, print_table, wrapped
from covbandit.cli.study.options import DEFAULT_STORE, STORE_VARIABLE
from covbandit.core.tables import Table, as_number, with_error
from covbandit.errors import Conflict, NotFound

if TYPE_CHECKING:
    from covbandit.studies import Change, Fork, Frontier, Round, Study, StudyEstimates, StudySummary

_WEIGHTS_IN_A_CELL = 4
_DIGITS = 6  # with so many, amounts of money also keep their cents
_TIMES = ("once", "twice")
_SINGLE_COLUMNS = 6  # so many options have a column each
_BEFORE_WEIGHTS = 50  # blanks and letters of a row of the frontier before its weights, at most
_PAIRS = 20  # shown of more correlations than a screen is wide


class Written(float):
    """A cell of a table that is text already, and is aligned right as numbers are."""

    text: str

    def __new__(cls, text: str) -> Self:
        """Keep the text."""
        made = super().__new__(cls, 0.0)
        made.text = text
        return made


class Figures(Table):
    """A table for people, with a chosen number of significant digits."""

    digits = _DIGITS

    def cells(self) -> list[list[str]]:
        """Return every value as it is printed."""
        return [[as_shown(value, self.digits) for value in row] for row in self.rows]


def as_shown(value: object, digits: int = _DIGITS) -> str:
    """Return a value as people read it; None, which stands for unknown, as a dash.

    Examples
    --------
    >>> as_shown(1234.5678), as_shown(0.1 + 0.2), as_shown(12_345_678.25), as_shown(None)
    ('1,234.57', '0.3', '12,345,678.25', '-')
    """
    if value is None:
        return "-"
    if isinstance(value, Written):
        return value.text
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return local(value)
    if isinstance(value, float):
        return as_number(value, digits, decimals=2 if digits >= _DIGITS else 0)
    if isinstance(value, int | Decimal):
        return f"{value:,}"
    return str(value)


def as_weight(weight: float | None) -> str:
    """Return a weight with four decimals; only no weight at all is printed as 0.

    Examples
    --------
    >>> as_weight(1 / 3), as_weight(0.0), as_weight(0.00002)
    ('0.3333', '0', '2e-05')
    """
    if weight is None:
        return "-"
    return "0" if weight == 0 else f"{weight:.4f}" if weight >= 5e-5 else f"{weight:.1g}"


def as_weights(weights: Mapping[str, float]) -> str:
    """Return the largest weights in one cell."""
    held = sorted(((name, w) for name, w in weights.items() if w > 0), key=lambda each: -each[1])
    rest = len(held) - _WEIGHTS_IN_A_CELL
    shown = ", ".join(f"{name} {as_weight(w)}" for name, w in held[:_WEIGHTS_IN_A_CELL])
    return f"{shown}, {rest} more" if rest > 0 else shown


def local(moment: datetime | None) -> str:
    """Return a time on the user's clock, with its zone."""
    return "-" if moment is None else moment.astimezone().strftime("%Y-%m-%d %H:%M:%S %Z")


def to_minutes(moment: datetime | None) -> str:
    """Return a time on the user's clock, with its zone, for columns of a table."""
    return "-" if moment is None else moment.astimezone().strftime("%Y-%m-%d %H:%M %Z")


def duration(seconds: float | None) -> str:
    """Return a lease in words.

    Examples
    --------
    >>> duration(2_592_000), duration(5_400), duration(None)
    ('30 days', '1.5 hours', 'for ever')
    """
    if seconds is None:
        return "for ever"
    for name, size in (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1)):
        if seconds >= size or size == 1:
            count = as_number(seconds / size, _DIGITS)
            return f"{count} {name}" if count == "1" else f"{count} {name}s"
    raise AssertionError


def say(text: str = "", style: str = "") -> None:
    """Print a line for people as it is, without styles or wrapping."""
    Console().print(text, style=style or None, soft_wrap=True, highlight=False, markup=False)


def note(text: str) -> None:
    """Print a line beside the answer, on standard error."""
    Console(stderr=True).print(text, soft_wrap=True, highlight=False, markup=False)


def show(columns: Sequence[str], rows: Sequence[Sequence[object]], title: str = "", digits: int = _DIGITS) -> None:
    """Print a table for people, under its title."""
    table = Figures(columns, rows, title)
    table.digits = digits
    print_table(Console(), table)


def facts(rows: Sequence[tuple[str, object]]) -> None:
    """Print names and values in two columns."""
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        for line in labelled(f"{name:<{width}}", as_shown(value), Console().width):
            say(line)
    say()


def emit(value: Any) -> None:
    """Print plain data as one strict JSON document, with all digits; a number that is not finite is null."""
    typer.echo(json.dumps(_plain(value), allow_nan=False, indent=2))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, Decimal):
        return str(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


def command(verb: str, *arguments: str, store: str) -> str:
    """Return a command that the user may copy; `store` is its address without a password."""
    from covbandit.studies.store import as_url

    here = as_url(os.environ.get(STORE_VARIABLE) or DEFAULT_STORE).render_as_string(hide_password=True)
    words = ["covbandit", "study", verb, *map(shlex.quote, arguments)]
    same = as_url(store).render_as_string(hide_password=True) == here
    return " ".join(words if same else [*words, "--store", shlex.quote(store)])


@contextmanager
def pointing_to_what_is_there(study: Study, round_id: int) -> Iterator[None]:
    """Add a hint where to look if a round is not there, or was told otherwise."""
    try:
        yield
    except Conflict as error:
        error.hint = f"what was told: {command('show', study.name, str(round_id), store=study.store.url)}"
        raise
    except NotFound as error:
        error.hint = f"what rounds there are: {command('rounds', study.name, store=study.store.url)}"
        raise


# Rounds, studies and what they learned --------------------------------------------------------------------------------


def print_round(round_: Round, amounts: Mapping[str, object] | None = None) -> None:
    """Print a round: how it stands, and its weights, amounts and outcome by option."""
    columns: dict[str, list[Any]] = {
        "option": list(round_.weights),
        "weight": [as_weight(w) for w in round_.weights.values()],
    }
    if amounts is not None:
        columns["amount"] = [amounts[name] for name in round_.weights]
    if round_.played is not None and round_.played != round_.weights:
        columns["played"] = [as_weight(round_.played.get(name, 0.0)) for name in round_.weights]
    if isinstance(round_.outcome, dict):
        columns["outcome"] = [round_.outcome.get(name) for name in round_.weights]
        if round_.rewards is not None and round_.rewards != round_.outcome:
            columns["per unit"] = [round_.rewards.get(name) for name in round_.weights]
    rows = list(zip(*columns.values(), strict=True))
    cells = [[row[0], *(Written(as_shown(value)) for value in row[1:])] for row in rows]
    show(list(columns), cells, "\n".join(headline(round_)))


def headline(round_: Round) -> list[str]:
    """Return what a round is and its status, in words."""
    status = {
        "open": "open" + ("" if round_.expires is None else f" until {local(round_.expires)}"),
        "expired": f"its lease ended {local(round_.expires)}; it may still be told",
        "told": f"told {local(round_.told_at)}",
    }[round_.status]
    origin = "told from outside" if round_.source == "outside" else f"asked {local(round_.asked_at)}"
    who = [f"{name} {value}" for name, value in (("client", round_.client), ("key", round_.key)) if value is not None]
    lines = [f"round {round_.id} of {round_.study}: {', '.join([status, *remarks(round_)])}"]
    lines.append(", ".join([origin, *who]))
    if round_.reward is not None:
        lines.append(f"reward of the weights played: {as_shown(round_.reward)} per unit")
    return lines


def remarks(round_: Round) -> list[str]:
    """Return in words whether a round was told late or amended."""
    found = ["late"] if round_.late else []
    if round_.amendments:
        n = round_.amendments
        found.append(f"amended {_TIMES[n - 1] if n <= len(_TIMES) else f'{n} times'}")
    return found


def print_rounds(rounds: Sequence[Round], title: str) -> None:
    """Print rounds, one per row, without columns that are empty."""
    columns: dict[str, list[Any]] = {
        "round": [each.id for each in rounds],
        "status": [", ".join([_status(each), *remarks(each)]) for each in rounds],
        "client": [each.client for each in rounds],
        "key": [each.key for each in rounds],
        "since": [to_minutes(each.told_at or each.asked_at) for each in rounds],
        "reward": [each.reward for each in rounds],
        "played, or to play": [as_weights(each.played or each.weights) for each in rounds],
    }
    for name in ("client", "key"):
        if not any(columns[name]):
            del columns[name]
    show(list(columns), list(zip(*columns.values(), strict=True)), title)


def _status(round_: Round) -> str:
    return "outside" if round_.source == "outside" else round_.status


def print_studies(found: Sequence[StudySummary], store: str) -> None:
    """Print studies, one per row."""
    columns: dict[str, list[Any]] = {
        "study": [each.name for each in found],
        "options": [len(each.options) for each in found],
        "retired": [len(each.retired) for each in found],
        "feedback": [each.feedback for each in found],
        "outcome": [each.outcome for each in found],
        "learner": [each.learner_class for each in found],
        "ρ": [each.risk_aversion for each in found],
        "told": [each.told for each in found],
        "open": [each.open for each in found],
        "expired": [each.expired for each in found],
        "last told": [to_minutes(each.last_told_at) for each in found],
    }
    for name in ("retired", "expired"):
        if not any(columns[name]):
            del columns[name]
    title = f"{len(found)} {'study' if len(found) == 1 else 'studies'} in {store}"
    show(list(columns), list(zip(*columns.values(), strict=True)), title)


def print_summary(study: StudySummary, store: str) -> None:
    """Print a study at a glance."""
    kinds = {
        "per_unit": "per_unit (reward per unit of weight)",
        "amount": "amount (what each option earned at its weight)",
    }
    sees = {
        "all": "all (every option's outcome)",
        "chosen": "chosen (the outcomes of options with weight)",
        "total": "total (one number)",
    }
    say(f"study {study.name}", style="bold")
    rows: list[tuple[str, object]] = [
        ("options", ", ".join(study.options)),
        ("retired", ", ".join(study.retired) or None),
        ("feedback", sees[study.feedback]),
        ("outcome", kinds[study.outcome]),
        ("learner", study.learner),
        ("rounds", f"{study.rounds:,} ({study.told:,} told, {study.open:,} open, {study.expired:,} expired)"),
        ("amended", study.amended or None),
        ("lease", duration(study.lease_seconds)),
        ("created", study.created_at),
        ("last told", study.last_told_at),
        ("revision", study.revision),
        ("store", store),
    ]
    facts([row for row in rows if row[1] is not None])
    check = study.risk_aversion_check
    for remark in [*study.remarks, *([check.message] if check is not None and check.message is not None else [])]:
        say(f"note: {remark}", style="yellow")


def print_change(change: Change, study: str) -> None:
    """Print what was changed."""
    say(f"{study}: {in_words(change)}; since {local(change.at)}, revision {change.revision}")


def in_words(change: Change) -> str:
    """Return a change in words."""
    detail = change.detail
    if change.kind == "created":
        origin = f", forked from {detail['forked_from']}" if detail.get("forked_from") else ""
        return f"created with {detail['learner']}{origin}"
    if change.kind == "risk_aversion":
        return f"risk aversion {as_shown(detail['risk_aversion'])}, before {as_shown(detail.get('before'))}"
    return f"{change.kind} {detail.get('option', detail)}"


def print_fork(fork: Fork, now: Mapping[str, float], study: str) -> None:
    """Print what another learner proposes beside what the study proposes, and what that comparison does not say."""
    say(fork.note, style="bold yellow")
    say()
    rows = [[name, Written(as_weight(now.get(name))), Written(as_weight(w))] for name, w in fork.weights.items()]
    show(
        ["option", f"{study} proposes", "the fork proposes"],
        rows,
        f"{fork.learner}\nafter {fork.rounds_replayed:,} rounds of {study}",
    )


def print_correlations(found: StudyEstimates) -> None:
    """Print correlations as a matrix, with numbers for long names; of very many options, the strongest pairs."""
    names, d = found.options, len(found.options)
    room = Console().width - max(map(len, names))
    numbered = [f"{k + 1}" for k in range(d)]
    if sum(max(len(name), 6) + 2 for name in names) < room - 12:
        head, labels = list(names), list(names)
    elif 8 * d < room - 6:
        head, labels = numbered, [f"{k} {name}" for k, name in zip(numbered, names, strict=True)]
    else:
        pairs = [(names[i], names[j], found.correlation[i][j]) for i in range(d) for j in range(i)]
        known = sorted((pair for pair in pairs if pair[2] is not None), key=lambda pair: -abs(pair[2] or 0.0))
        rows = [[one, other, Written(f"{value:.3f}")] for one, other, value in known[:_PAIRS]]
        show(["option", "with", "correlation"], rows, f"the {len(rows)} strongest of {len(pairs):,} correlations")
        return
    rows = [
        [label, *(Written("-" if value is None else f"{value:.3f}") for value in row)]
        for label, row in zip(labels, found.correlation, strict=True)
    ]
    show(["correlation", *head], rows)


def print_frontier(frontier: Frontier, study: str) -> None:
    """Print mean against risk along the frontier, where the study stands, and what would be best."""
    if not frontier.known:
        say(f"no frontier of {study} yet: {frontier.reason}")
        return
    points = [*frontier.points]
    names = list(dict.fromkeys(name for point in points for name in point["weights"]))
    room = Console().width - _BEFORE_WEIGHTS
    single = len(names) <= _SINGLE_COLUMNS and sum(max(len(name), 6) + 2 for name in names) <= room

    def row(label: object, point: Mapping[str, Any]) -> list[object]:
        weights = point["weights"]
        cells: list[object] = [Written(as_weight(weights.get(name, 0.0))) for name in names] if single else []
        return [label, point["mean"], point["sd"], *(cells or [as_weights(weights)])]

    head = ["mean", "sd", *(names if single else ["weights"])]
    title = f"efficient frontier of {study} by its estimates, from daring to cautious"
    show(["ρ", *head], [row(point["risk_aversion"], point) for point in points], title, digits=4)
    best = f"best at ρ = {as_shown(frontier.risk_aversion)}"
    stands = []
    for label, at in (("proposed now", frontier.current), (best, frontier.optimal)):
        if at is not None:
            mean, sd = (Written(with_error(at[name], at[f"{name}_error"])) for name in ("mean", "sd"))
            stands.append([label, mean, sd, *row(label, at)[3:]])
    if stands:
        show(["", *head], stands, "where the study stands, and what would be best were the estimates true")
        for line in wrapped(f"±: {frontier.error_kind}", Console().width):
            say(line)
