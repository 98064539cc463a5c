"""``covbandit study create | set | retire | restore | add | fork | upgrade``: what a study is."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from covbandit.cli.study.options import (
    DEFAULT_STORE,
    FEEDBACK,
    JSON,
    LEARNER,
    LEASE_HELP,
    MAX_WEIGHT,
    MIN_WEIGHT,
    NAME,
    OPTION,
    RISK_AVERSION,
    SEED,
    SETTINGS,
    STORE,
)
from covbandit.errors import InvalidInput, StoreSchemaError

if TYPE_CHECKING:
    from covbandit.studies import Change, Study


def create(
    name: NAME,
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
    feedback: FEEDBACK = None,
    learner: LEARNER = None,
    risk_aversion: RISK_AVERSION = None,
    min_weight: MIN_WEIGHT = None,
    max_weight: MAX_WEIGHT = None,
    seed: SEED = None,
    settings: SETTINGS = None,
    lease: Annotated[
        str, typer.Option(metavar="TIME", help=f"How long a round stays open for its client: {LEASE_HELP}")
    ] = "30d",
    store: STORE = DEFAULT_STORE,
    json: JSON = False,
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
    from covbandit.cli.console import Waiting
    from covbandit.cli.study.output import command, emit, print_summary, say
    from covbandit.cli.study.parse import as_learner, as_lease, as_options
    from covbandit.learners.protocol.setup_warnings import said_before
    from covbandit.studies import Study

    if not outcome:
        raise InvalidInput(
            "say what will be told: --outcome per_unit (reward per unit of weight, as returns are) or --outcome amount "
            "(what each option earned at its weight)"
        )
    names = as_options(option, options)
    described = as_learner(
        names,
        feedback=feedback,
        learner=learner,
        risk_aversion=risk_aversion,
        min_weight=min_weight,
        max_weight=max_weight,
        seed=seed,
        settings=settings,
    )
    with (
        Waiting("creating the study"),
        said_before(),  # the summary has the remarks
        closing(Study.create(name, names, described, outcome, store, lease=as_lease(lease))) as study,
    ):
        summary, url = study.summary(), study.store.url
    if json:
        emit(summary.to_dict())
        return
    print_summary(summary, url)
    say(f"next: {command('ask', name, store=url)}")


def set_(
    name: NAME,
    risk_aversion: Annotated[
        str, typer.Option(metavar="RHO", help="ρ: mean given up per unit of variance.", show_default=False)
    ],
    store: STORE = DEFAULT_STORE,
    json: JSON = False,
) -> None:
    """Change the risk aversion.

    The learner is as if it had been so from the beginning; rounds already asked keep their weights.

    `covbandit study set funds --risk-aversion 0.5`
    """
    from covbandit.cli.study.parse import as_number

    rho = as_number(risk_aversion, "--risk-aversion")
    _change(name, lambda study: study.set_risk_aversion(rho), store, json)


def retire(name: NAME, option: OPTION, store: STORE = DEFAULT_STORE, json: JSON = False) -> None:
    """Take an option out of use: weight 0 from now on, its statistics are kept.

    `covbandit study retire funds TLT`
    """
    _change(name, lambda study: study.retire(option), store, json)


def restore(name: NAME, option: OPTION, store: STORE = DEFAULT_STORE, json: JSON = False) -> None:
    """Bring a retired option back, with its statistics.

    `covbandit study restore funds TLT`
    """
    _change(name, lambda study: study.restore(option), store, json)


def add(name: NAME, option: OPTION, store: STORE = DEFAULT_STORE, json: JSON = False) -> None:
    """Add an option; it starts unseen, and is explored by the learner's own rule.

    `covbandit study add funds GLD`
    """
    _change(name, lambda study: study.add_option(option), store, json)


def fork(
    name: NAME,
    feedback: FEEDBACK = None,
    learner: LEARNER = None,
    risk_aversion: RISK_AVERSION = None,
    min_weight: MIN_WEIGHT = None,
    max_weight: MAX_WEIGHT = None,
    seed: SEED = None,
    settings: SETTINGS = None,
    new: Annotated[
        str | None,
        typer.Option("--as", metavar="NEWNAME", help="Make it a study of its own, of that name.", show_default=False),
    ] = None,
    store: STORE = DEFAULT_STORE,
    json: JSON = False,
) -> None:
    """Tell the history to another learner, and see what it would advise now.

    That is **not how it would have performed**: the rounds are those that this study's learner chose. The other learner
    must be able to read this study's feedback: where all options are seen, the chosen ones and the total are too.

    `covbandit study fork funds --learner MCEmpirical --risk-aversion 0.5`

    `covbandit study fork funds --feedback total --risk-aversion 2 --as funds-from-totals`
    """
    from covbandit.cli.console import Waiting
    from covbandit.cli.study.output import command, emit, print_fork, say
    from covbandit.cli.study.parse import all_options, as_learner
    from covbandit.studies import Study

    with closing(Study.open(name, store)) as study, Waiting("telling the history to another learner"):
        described = as_learner(
            all_options(study),
            feedback=feedback,
            learner=learner,
            risk_aversion=risk_aversion,
            min_weight=min_weight,
            max_weight=max_weight,
            seed=seed,
            settings=settings,
        )
        made = study.fork(described, new)
        now = study.explain()
        url = study.store.url
    if json:
        emit(made.to_dict())
        return
    print_fork(made, dict(zip(map(str, now.options), now.weights.tolist(), strict=True)), name)
    if made.study is not None:
        say(f"it is now the study {made.study}; next: {command('ask', made.study, store=url)}")
    else:
        say("nothing was stored; --as NEWNAME makes it a study of its own")


def upgrade(
    store: STORE = DEFAULT_STORE,
    check: Annotated[
        bool, typer.Option("--check", help="Only say whether it is needed: exit code 6 if so, 0 if not.")
    ] = False,
    json: JSON = False,
) -> None:
    """Bring a store's tables to this version of covbandit: all steps, or none if one fails.

    Make a copy first; older versions cannot read it afterwards. A database without tables is set up.

    `covbandit study upgrade --check`

    `covbandit study upgrade --store postgresql://me@db.example.org/studies`
    """
    from covbandit.cli.study.output import command, emit, say
    from covbandit.core.error_table import ERROR_TABLE
    from covbandit.studies import Store
    from covbandit.studies.schema import SCHEMA

    with Store.of_any_schema(store) as place:
        url, before = place.url, place.schema()
        place.refuse_newer(before)
        after = before
        if not check:
            before, after = place.upgrade()
    if json:
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
        raise typer.Exit(ERROR_TABLE[StoreSchemaError].command_line.status)


def _change(name: str, how: Callable[[Study], Change], store: str, as_json: bool) -> None:
    """Change a study's configuration, and print what was changed."""
    from covbandit.cli.console import Waiting
    from covbandit.cli.study.output import command, emit, print_change, say
    from covbandit.studies import Study

    with closing(Study.open(name, store)) as study, Waiting("telling all rounds again"):
        made = how(study)
        url = study.store.url
    if as_json:
        emit(made.to_dict())
        return
    print_change(made, name)
    say(f"rounds already asked keep their weights; what is proposed now: {command('explain', name, store=url)}")
