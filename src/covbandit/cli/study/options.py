"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DEFAULT_STORE = "sqlite:///covbandit.db"
STORE_VARIABLE = "COVBANDIT_STORE"

NAME = Annotated[str, typer.Argument(metavar="NAME", help="The study's name.", show_default=False)]
STORE = Annotated[
    str,
    typer.Option(
        "--store",
        metavar="URL",
        envvar=STORE_VARIABLE,
        help="Where studies live: sqlite:///folder/file.db or postgresql://user:password@host/database.",
    ),
]
JSON = Annotated[
    bool, typer.Option("--json", help="Print one JSON document with all digits, times in UTC; errors as JSON too.")
]

FEEDBACK = Annotated[
    str | None,
    typer.Option(
        metavar="all|chosen|total",
        help="What is seen of a round: the outcome of all options, played or not (funds); of the chosen ones, those "
        "with weight (campaigns); or only the total (a mix). Takes the default learner for it, which had less regret "
        "than the paper's in simulations; with few rounds equal weights may cost less than any.",
        show_default=False,
    ),
]
LEARNER = Annotated[
    str | None,
    typer.Option(metavar="CLASS", help="A learner by name instead: MCEmpirical, PairUCB, ...", show_default=False),
]
RISK_AVERSION = Annotated[
    str | None,
    typer.Option(
        metavar="RHO",
        help="ρ: mean reward given up per unit of variance, in 1 / (unit of reward); 0 looks at the mean only. With "
        "amounts in the thousands it is in the ten-thousandths. `covbandit study frontier` shows in which range it "
        "matters; in Python, `cb.choose_risk_aversion` helps to find it.",
        show_default=False,
    ),
]
MIN_WEIGHT = Annotated[
    str | None, typer.Option(metavar="C", help="Each weight is 0 or at least this.", show_default=False)
]
MAX_WEIGHT = Annotated[
    str | None,
    typer.Option(metavar="CAP", help="No weight exceeds this; or by option: A=0.2,B=0.5.", show_default=False),
]
SEED = Annotated[
    int | None, typer.Option(metavar="N", help="For randomised learners: same seed, same draws.", show_default=False)
]
SETTINGS = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Any other argument of the learner; the value is JSON, or else text. Repeat for more.",
        show_default=False,
    ),
]
PLAYED = Annotated[
    list[str] | None,
    typer.Option(
        "--played",
        "--weights",
        metavar="OPTION=WEIGHT",
        help="What was really played, if not what was asked: repeat it for each option with weight, or write "
        "A=0.6,B=0.4. Sums to one.",
        show_default=False,
    ),
]
OUTCOMES = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="OPTION=NUMBER",
        help="The outcome by option; one number where only the total is seen; or - for JSON on standard input. Names "
        "may contain = themselves.",
        show_default=False,
    ),
]
OUTCOME_JSON = Annotated[
    str | None,
    typer.Option(metavar="JSON", help='The outcome as JSON: \'{"SPY": 0.3, "TLT": -0.1}\'.', show_default=False),
]
ROUND = Annotated[
    str | None, typer.Argument(metavar="ROUND", help="The round's number, as `ask` gave it.", show_default=False)
]
OPTION = Annotated[str, typer.Argument(metavar="OPTION", help="The option's name.", show_default=False)]
FILE = Annotated[
    Path | None,
    typer.Option("--file", metavar="FILE", help="Many at once: CSV or JSON as above.", show_default=False),
]
LEASE_HELP = "90s, 30m, 12h, 30d, or none for ever."
