"""``covbandit bounds``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from covbandit.errors import InvalidInput

if TYPE_CHECKING:
    from covbandit.core.tables import Table
    from covbandit.problems.distribution import ProblemDistribution
    from covbandit.problems.problem import Problem

_HORIZON = 10_000


def bounds(
    source: Annotated[
        str, typer.Argument(metavar="SPEC", help="A specification (TOML file), or a preset: synthetic, etf.")
    ],
    horizon: Annotated[
        int | None, typer.Option(help="Rounds; by default those of the file, 10,000 for a preset.")
    ] = None,
    regularization: Annotated[float, typer.Option(help="λ of MC-UCB.")] = 0.5,
    variance_bound: Annotated[
        float | None, typer.Option(help="b: no variance exceeds it; by default the largest there is.")
    ] = None,
) -> None:
    """Print the paper's regret bounds for your problem, with every quantity in them.

    Theorems 1, 3 and 5 (full information, semi-bandit, full bandit), with their conditions checked. All are O(·) in the
    paper; they are shown with **constant 1**: compare problems and rates by them, not learners.

    `covbandit bounds synthetic`

    `covbandit bounds my.toml --horizon 100000`  for each problem of a specification
    """
    from rich.console import Console

    from covbandit.cli.console import print_table
    from covbandit.core.tables import Table
    from covbandit.problems.problem import Problem
    from covbandit.theory import bounds_table

    console = Console()
    for label, problem, rounds in _problems(source, horizon):
        table = (
            bounds_table(problem, rounds, regularization, variance_bound)
            if isinstance(problem, Problem)
            else _lower_bound(problem, rounds)
        )
        print_table(console, Table(table.columns, table.rows, f"{label}\n{table.title}"))


def _problems(source: str, horizon: int | None) -> Iterator[tuple[str, Problem | ProblemDistribution, int]]:
    """Yield each problem of a specification, or of a preset, with its label and the number of rounds."""
    from covbandit.learners.protocol.setup_warnings import said_before
    from covbandit.specifications import load, presets
    from covbandit.specifications.diagnostics import did_you_mean

    known = presets()
    if source in known and not os.path.isfile(source):
        rounds = _HORIZON if horizon is None else horizon
        try:
            problem = known[source]()
        except TypeError:
            raise InvalidInput(
                f"preset {source!r} needs parameters: write them into a specification (`covbandit simulate --example` "
                "prints one), and name the file"
            ) from None
        yield f"{source}, ρ = {problem.risk_aversion:g}", problem, rounds
        return
    if not os.path.exists(source) and Path(source).suffix != ".toml":  # a Path raises if the name is too long
        raise InvalidInput(f"{source!r} is neither a file nor a preset; {did_you_mean(source, known)}")
    with said_before():  # bounds have nothing to do with learners, so neither do remarks on them
        specification = load(source, horizon=horizon)
    for simulation in specification.simulations:
        yield simulation.label or specification.name, simulation.problem, simulation.plan.horizon


def _lower_bound(family: ProblemDistribution, rounds: int) -> Table:
    """Return the table of a family of problems: the regret that every learner has, where a theorem says it."""
    from covbandit.core.tables import Table

    floor = getattr(family, "regret_floor", None)
    rows = [["T", "rounds", rounds], ["floor", "what every learner pays on average", floor]]
    title = f"After {rounds:,} rounds. Problems drawn at random: upper bounds belong to single ones"
    return Table(["quantity", "meaning", "value"], rows, title)
