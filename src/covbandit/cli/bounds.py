"""``covbandit bounds``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from covbandit.cli.printing import print_table
from covbandit.core.tables import Table
from covbandit.errors import InvalidInput
from covbandit.learners.protocol.setup_warnings import said_before
from covbandit.problems.distribution import ProblemDistribution
from covbandit.problems.problem import Problem
from covbandit.specifications import load, presets
from covbandit.specifications.diagnostics import did_you_mean
from covbandit.theory import bounds_table

_HORIZON = 10_000


def run(source: str, horizon: int | None, regularization: float, variance_bound: float | None) -> None:
    """Print the paper's bounds for each problem of a specification, or for a preset."""
    console = Console()
    for label, problem, rounds in _problems(source, horizon):
        table = (
            bounds_table(problem, rounds, regularization, variance_bound)
            if isinstance(problem, Problem)
            else _floor(problem, rounds)
        )
        print_table(console, Table(table.columns, table.rows, f"{label}\n{table.title}"))


def _problems(source: str, horizon: int | None) -> Iterator[tuple[str, Problem | ProblemDistribution, int]]:
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
    with said_before():  # learners have no part in bounds, so neither have remarks on them
        specification = load(source, horizon=horizon)
    for simulation in specification.simulations:
        yield simulation.label or specification.name, simulation.problem, simulation.plan.horizon


def _floor(family: ProblemDistribution, rounds: int) -> Table:
    """Return what a theorem says that every learner pays, where it does."""
    floor = getattr(family, "regret_floor", None)
    rows = [["T", "rounds", rounds], ["floor", "what every learner pays on average", floor]]
    title = f"After {rounds:,} rounds. Problems drawn at random: upper bounds belong to single ones"
    return Table(["quantity", "meaning", "value"], rows, title)
