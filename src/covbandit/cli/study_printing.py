"""Rounds, studies, forks and frontiers as people see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from covbandit.cli.printing import wrapped
from covbandit.cli.study_output import (
    Written,
    as_shown,
    as_weight,
    as_weights,
    duration,
    facts,
    local,
    say,
    show,
    to_minutes,
)
from covbandit.core.tables import with_error
from covbandit.studies import Change, Fork, Frontier, Round, StudyEstimates, StudySummary

_TIMES = ("once", "twice")
_SINGLE_COLUMNS = 6  # so many options have a column each
_BEFORE_WEIGHTS = 50  # blanks and letters of a row of the frontier before its weights, at most
_PAIRS = 20  # shown of more correlations than a screen is wide


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
    """Return what a round is and how it stands, in words."""
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
    """Return what is special about a round."""
    found = ["late"] if round_.late else []
    if round_.amendments:
        n = round_.amendments
        found.append(f"amended {_TIMES[n - 1] if n <= len(_TIMES) else f'{n} times'}")
    return found


def print_rounds(rounds: Sequence[Round], title: str) -> None:
    """Print rounds, one a row, with columns that nobody used left out."""
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
    """Print studies, one a row."""
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
    """Print what another learner advises beside what the study does, and what that does not say."""
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
