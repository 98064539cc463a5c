"""The commands that change studies, with their helps."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from covbandit.cli import study_options as shared
from covbandit.cli.study_options import DEFAULT_STORE

OPTION = Annotated[str, typer.Argument(metavar="OPTION", help="The option's name.", show_default=False)]


def set_(
    name: shared.NAME,
    risk_aversion: Annotated[
        str, typer.Option(metavar="RHO", help="ρ: mean given up per unit of variance.", show_default=False)
    ],
    store: shared.STORE = DEFAULT_STORE,
    json: shared.JSON = False,
) -> None:
    """Change the risk aversion.

    The learner is as if it had been so from the beginning; rounds already asked keep their weights.

    `covbandit study set funds --risk-aversion 0.5`
    """
    from covbandit.cli.study_arguments import as_number
    from covbandit.cli.study_change import change

    rho = as_number(risk_aversion, "--risk-aversion")
    change(name, lambda study: study.set_risk_aversion(rho), store, json)


def retire(name: shared.NAME, option: OPTION, store: shared.STORE = DEFAULT_STORE, json: shared.JSON = False) -> None:
    """Take an option out of use: weight 0 from now on, its statistics are kept.

    `covbandit study retire funds TLT`
    """
    from covbandit.cli.study_change import change

    change(name, lambda study: study.retire(option), store, json)


def restore(name: shared.NAME, option: OPTION, store: shared.STORE = DEFAULT_STORE, json: shared.JSON = False) -> None:
    """Bring a retired option back, with its statistics.

    `covbandit study restore funds TLT`
    """
    from covbandit.cli.study_change import change

    change(name, lambda study: study.restore(option), store, json)


def add(name: shared.NAME, option: OPTION, store: shared.STORE = DEFAULT_STORE, json: shared.JSON = False) -> None:
    """Add an option; it starts unseen, and is explored by the learner's own rule.

    `covbandit study add funds GLD`
    """
    from covbandit.cli.study_change import change

    change(name, lambda study: study.add_option(option), store, json)


def fork(
    name: shared.NAME,
    feedback: shared.FEEDBACK = None,
    learner: shared.LEARNER = None,
    risk_aversion: shared.RISK_AVERSION = None,
    min_weight: shared.MIN_WEIGHT = None,
    max_weight: shared.MAX_WEIGHT = None,
    seed: shared.SEED = None,
    settings: shared.SETTINGS = None,
    new: Annotated[
        str | None,
        typer.Option("--as", metavar="NEWNAME", help="Make it a study of its own, of that name.", show_default=False),
    ] = None,
    store: shared.STORE = DEFAULT_STORE,
    json: shared.JSON = False,
) -> None:
    """Tell the history to another learner, and see what it would advise now.

    That is **not how it would have performed**: the rounds are those that this study's learner chose. The other learner
    must be able to read this study's feedback: where all options are seen, the chosen ones and the total are too.

    `covbandit study fork funds --learner MCEmpirical --risk-aversion 0.5`

    `covbandit study fork funds --feedback total --risk-aversion 2 --as funds-from-totals`
    """
    from covbandit.cli import study_arguments as words
    from covbandit.cli.study_change import fork as run

    def describe(options: tuple[str, ...]) -> dict[str, Any]:
        return words.as_learner(options, feedback, learner, risk_aversion, min_weight, max_weight, seed, settings)

    run(name, describe, new, store, json)


def upgrade(
    store: shared.STORE = DEFAULT_STORE,
    check: Annotated[
        bool, typer.Option("--check", help="Only say whether it is needed: exit code 6 if so, 0 if not.")
    ] = False,
    json: shared.JSON = False,
) -> None:
    """Bring a store's tables to this version of covbandit: all steps, or none if one fails.

    Make a copy first; older versions cannot read it afterwards. A database without tables is set up.

    `covbandit study upgrade --check`

    `covbandit study upgrade --store postgresql://me@db.example.org/studies`
    """
    from covbandit.cli.study_change import upgrade as run

    run(store, check, json)
