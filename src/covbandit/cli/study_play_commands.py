"""The commands that play a study, with their helps."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from covbandit.cli import study_options as shared
from covbandit.cli.study_options import DEFAULT_STORE


def create(
    name: shared.NAME,
    option: Annotated[
        list[str] | None,
        typer.Option("--option", metavar="OPTION", help="One of the options; repeat it.", show_default=False),
    ] = None,
    options: Annotated[
        str | None, typer.Option(metavar="A,B,C", help="The options, separated by commas.", show_default=False)
    ] = None,
    outcome: Annotated[
        str,
        typer.Option(
            metavar="per_unit|amount",
            help="What will be told. per_unit: the reward per unit of weight, such as a fund's return or a "
            "conversion rate, whatever the weight was. amount: what each option earned at its weight, such as the "
            "revenue of a campaign; it is divided by the weight. Cannot be changed later.",
            show_default=False,
        ),
    ] = "",
    feedback: shared.FEEDBACK = None,
    learner: shared.LEARNER = None,
    risk_aversion: shared.RISK_AVERSION = None,
    min_weight: shared.MIN_WEIGHT = None,
    max_weight: shared.MAX_WEIGHT = None,
    seed: shared.SEED = None,
    settings: shared.SETTINGS = None,
    lease: Annotated[
        str, typer.Option(metavar="TIME", help=f"How long a round stays open for its client: {shared.LEASE_HELP}")
    ] = "30d",
    store: shared.STORE = DEFAULT_STORE,
    json: shared.JSON = False,
) -> None:
    """Create a study.

    **Funds**, whose returns are all seen:

    `covbandit study create funds --options SPY,TLT --feedback all --risk-aversion 2 --outcome per_unit`

    **Campaigns**, of which those with budget are seen; each gets nothing or at least a tenth. Their sales are amounts
    in the thousands, so ρ is small: at 0.0002, a standard deviation of 2,000 costs as much as 800 of sales:

    `covbandit study create ads --options search,social,video --feedback chosen --risk-aversion 0.0002 --min-weight 0.1
    --outcome amount`

    **A mix**, of which only the total is seen:

    `covbandit study create mix --option A --option B --feedback total --risk-aversion 1 --outcome per_unit`

    **A learner of your choice**, with arguments of its own:

    `covbandit study create slow --options SPY,TLT --learner MCEmpirical --risk-aversion 2 --set half_life=50
    --outcome per_unit`
    """
    from covbandit.cli import study_arguments as words
    from covbandit.cli.study_play import create as run
    from covbandit.errors import InvalidInput

    if not outcome:
        raise InvalidInput(
            "say what will be told: --outcome per_unit (reward per unit of weight, as returns are) or --outcome amount "
            "(what each option earned at its weight)"
        )
    names = words.as_options(option, options)
    described = words.as_learner(names, feedback, learner, risk_aversion, min_weight, max_weight, seed, settings)
    run(name, names, described, outcome, lease, store, json)


def ask(
    name: shared.NAME,
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
        typer.Option(metavar="TIME", help=f"How long this round stays open: {shared.LEASE_HELP}", show_default=False),
    ] = None,
    allocate: Annotated[
        str | None,
        typer.Option(metavar="TOTAL", help="Also split a total into amounts that sum to it.", show_default=False),
    ] = None,
    step: Annotated[str, typer.Option(metavar="STEP", help="What amounts are multiples of: 1, 0.01, 100, ...")] = "1",
    store: shared.STORE = DEFAULT_STORE,
    json: shared.JSON = False,
) -> None:
    """Ask for the weights of a round.

    Each ask opens a new round, except with `--client` or `--key`, which make it safe to repeat.

    `covbandit study ask funds --key 2026-W46`

    `covbandit study ask ads --client desk-1 --allocate 10000 --step 0.01`

    With `--json`, `--allocate` adds `amounts`: whole numbers, or decimals as text if the step is not whole.
    """
    from covbandit.cli.study_play import ask as run

    run(name, client, key, lease, allocate, step, store, json)


def tell(
    name: shared.NAME,
    round_id: shared.ROUND = None,
    outcome: shared.OUTCOMES = None,
    outcome_json: shared.OUTCOME_JSON = None,
    played: shared.PLAYED = None,
    file: shared.FILE = None,
    store: shared.STORE = DEFAULT_STORE,
    json: shared.JSON = False,
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
    from covbandit.cli.study_play import tell as run

    run(name, round_id, outcome or (), outcome_json, played, file, False, store, json)


def amend(
    name: shared.NAME,
    round_id: shared.ROUND = None,
    outcome: shared.OUTCOMES = None,
    outcome_json: shared.OUTCOME_JSON = None,
    played: shared.PLAYED = None,
    file: shared.FILE = None,
    store: shared.STORE = DEFAULT_STORE,
    json: shared.JSON = False,
) -> None:
    """Correct a round that was told.

    The learner is then as if it had been told so at once; the log keeps both.

    `covbandit study amend funds 7 SPY=0.25 TLT=-0.1`

    `covbandit study amend funds --file corrections.csv`  files as for `tell`, one correction after the other
    """
    from covbandit.cli.study_play import tell as run

    run(name, round_id, outcome or (), outcome_json, played, file, True, store, json)


def outside(
    name: shared.NAME,
    outcome: shared.OUTCOMES = None,
    outcome_json: shared.OUTCOME_JSON = None,
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
    store: shared.STORE = DEFAULT_STORE,
    json: shared.JSON = False,
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
    from covbandit.cli.study_play import outside as run

    reading = {"dates": dates, "decimal": decimal, "worksheet": worksheet, "check": check}
    run(name, outcome or (), outcome_json, weights, key, file, kind, unit, reading, store, json)
