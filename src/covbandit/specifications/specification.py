"""A specification: simulations described in a TOML file, checked as a whole before anything runs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from covbandit.core import validation
from covbandit.core.tables import Table
from covbandit.environments import Replay
from covbandit.learners import Learner
from covbandit.problems.distribution import ProblemDistribution, checked_draw
from covbandit.problems.problem import Problem
from covbandit.simulation.campaign import Task, Watcher, run_tasks
from covbandit.simulation.plan import Plan, as_plan, as_replications, default_checkpoints
from covbandit.specifications.document import Document, parse, read
from covbandit.specifications.environment_tables import PendingEnvironment, environment_for, environments_of
from covbandit.specifications.learner_tables import PendingLearner, learner_for, learners_of
from covbandit.specifications.problem_tables import ProblemSetup, problems_of
from covbandit.specifications.sweep import Sweep
from covbandit.specifications.sweep_tables import TOP, first_named, in_words, label_of, value_label

_MOST_SIMULATIONS = 1_000


@dataclass(frozen=True)
class Simulation:
    """One of the simulations of a specification.

    Attributes
    ----------
    name : str
        Names its files.
    swept : dict
        The values that tell it apart from the others; empty if there is only one.
    plan : Plan
        What it does.
    replications : int
        How often.
    """

    name: str
    swept: dict[str, Any]
    plan: Plan
    replications: int

    @property
    def label(self) -> str:
        """What tells it apart, in words."""
        return label_of(self.swept)

    @property
    def problem(self) -> Problem | ProblemDistribution:
        """What is played."""
        return self.plan.problem


@dataclass(frozen=True)
class Specification:
    """Simulations that differ in what a file gives as lists.

    Attributes
    ----------
    name : str
        The file's name without its suffix.
    title : str
        For figures.
    simulations : tuple of Simulation
        All combinations of the problem's and the environment's values.
    learners : dict
        The names of the learners, each with the values that tell it apart from others of its table.
    rounds : tuple of int
        The checkpoints given: tables report them besides the last round.
    notes : tuple of str
        What was done to data files to read them, for example how many rounds were dropped.
    """

    name: str
    title: str
    simulations: tuple[Simulation, ...]
    learners: dict[str, dict[str, Any]]
    rounds: tuple[int, ...]
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Specification({self.name!r}: {len(self.simulations)} simulation(s) of {len(self.learners)} learner(s))"

    def tasks(self) -> list[Task]:
        """Return the simulations as tasks of a campaign."""
        return [Task(each.name, each.plan, each.replications, each.label) for each in self.simulations]

    def overview(self) -> Table:
        """Return what will run: a row per simulation."""
        rows = [
            [each.name, each.plan.problem.n_options, len(each.plan.learners), each.plan.horizon, each.replications]
            for each in self.simulations
        ]
        return Table(["simulation", "options", "learners", "rounds", "replications"], rows)

    def run(self, folder: str | Path, workers: int | Executor | None = None, watcher: Watcher | None = None) -> Sweep:
        """Run all simulations, or find their results in the folder, and return them together.

        Parameters
        ----------
        folder : path
            Where results are kept: what was computed there before is not computed again.
        workers : int or concurrent.futures.Executor, optional
            As in `simulate`.
        watcher : Watcher, optional
            Is told how it goes on.

        Raises
        ------
        Interrupted
            On Ctrl-C. All finished replications are kept; the same call continues.
        """
        results = run_tasks(self.tasks(), Path(folder), workers, watcher)
        return Sweep(
            title=self.title or self.name,
            swept=tuple(each.swept for each in self.simulations),
            results=tuple(results[each.name] for each in self.simulations),
            learners=self.learners,
            rounds=self.rounds,
        )


def example() -> str:
    """Return the text of a specification that runs as it is and explains itself.

    Examples
    --------
    >>> import covbandit as cb
    >>> cb.specifications.loads(cb.specifications.example(), "example.toml")
    Specification('example': 3 simulation(s) of 6 learner(s))
    """
    return files("covbandit.specifications").joinpath("example.toml").read_text(encoding="utf-8")


def load(
    path: str | Path, *, horizon: int | None = None, replications: int | None = None, seed: int | None = None
) -> Specification:
    """Read a specification, and check all of it.

    Parameters
    ----------
    path : path
        A TOML file; ``covbandit simulate --example`` prints one.
    horizon, replications, seed : int, optional
        Used instead of those in the file. Checkpoints beyond the horizon are left out then.

    Raises
    ------
    InvalidSpecification
        If there are mistakes; all of them, each with its line, key, value, cause and the way out.
    """
    text, source, folder = read(path)
    return loads(text, source, folder, horizon=horizon, replications=replications, seed=seed)


def loads(
    text: str,
    source: str = "specification",
    folder: str | Path = ".",
    *,
    horizon: int | None = None,
    replications: int | None = None,
    seed: int | None = None,
) -> Specification:
    """Return the specification that a text describes. See `load`.

    Parameters
    ----------
    text : str
        TOML.
    source : str
        What messages call it.
    folder : path
        Where data files are looked for.
    horizon, replications, seed : int, optional
        See `load`.

    Examples
    --------
    >>> import covbandit as cb
    >>> spec = cb.specifications.loads('''
    ... horizon = 100
    ... replications = 4
    ...
    ... [problem]
    ... preset = "synthetic"
    ... risk_aversion = [0.1, 10.0]
    ...
    ... [[learners]]
    ... class = ["MCEmpirical", "FixedWeights"]
    ... ''')
    >>> spec
    Specification('specification': 2 simulation(s) of 2 learner(s))
    >>> [each.label for each in spec.simulations]
    ['risk_aversion=0.1', 'risk_aversion=10']
    """
    changes = {"horizon": horizon, "replications": replications, "seed": seed}
    return _specification(parse(text, source, validation.as_path(folder, "folder"), changes))


def _specification(document: Document) -> Specification:
    outline, mistakes = document.outline, document.mistakes
    setups = problems_of(outline.problem, outline.horizon, document.folder, mistakes)
    environments = environments_of(outline.environment, mistakes)
    learners = learners_of(outline.learners, mistakes)
    if (count := len(setups) * len(environments)) > _MOST_SIMULATIONS:
        mistakes.add(
            (), f"the lists combine to {count:,} simulations; {_MOST_SIMULATIONS:,} are the most: shorten them"
        )
        setups = []
    plans: list[tuple[dict[str, Any], Plan]] = []
    for setup in setups:
        for environment in environments:
            swept = _together(setup.swept, environment.swept)
            plan = _plan(document, setup, environment, learners, swept)
            if plan is not None:
                plans.append((swept, plan))
    if len({isinstance(plan.environment, Replay) for _, plan in plans}) > 1:
        mistakes.add(
            ("environment", "class"), "a Replay is measured otherwise than the rest; give it a specification of its own"
        )
    mistakes.raise_if_any()
    names = _file_names([swept for swept, _ in plans], document.name)
    simulations = tuple(
        Simulation(name, swept, plan, as_replications(outline.replications, plan.environment))
        for name, (swept, plan) in zip(names, plans, strict=True)
    )
    return Specification(
        document.name,
        outline.title,
        simulations,
        {learner.name: learner.swept for learner in learners},
        tuple(sorted(set(outline.checkpoints or ()))),
        tuple(dict.fromkeys(note for each in setups if each.history is not None for note in each.history.notes)),
    )


def _together(problem: dict[str, Any], environment: dict[str, Any]) -> dict[str, Any]:
    """Return what tells a simulation apart; where both tables use a name, the environment's says so."""
    return {**problem, **{f"environment.{key}" if key in problem else key: v for key, v in environment.items()}}


def _plan(
    document: Document,
    setup: ProblemSetup,
    environment: PendingEnvironment,
    learners: list[PendingLearner],
    swept: dict[str, Any],
) -> Plan | None:
    outline, mistakes = document.outline, document.mistakes
    at = label_of(swept)
    world = environment_for(environment, setup, mistakes)
    problem = setup.problem
    try:
        first = problem if isinstance(problem, Problem) else checked_draw(problem, outline.seed, 0)
    except setup.refusals as error:
        mistakes.add(("problem",), in_words(error))
        return None
    able: dict[str, Learner] = {}
    for pending in list(learners):
        learner = learner_for(pending, first, at, mistakes)
        if learner is None:
            learners.remove(pending)  # in the next problem its mistake would be the same
        else:
            able[pending.name] = learner
    if world is None or not able:
        return None
    try:
        plan = as_plan(problem, able, outline.horizon, outline.seed, world, outline.checkpoints)
    except (*setup.refusals, *environment.maker.refusals) as error:
        mistakes.add((first_named(str(error), TOP) or "environment",), in_words(error))
        return None
    if outline.checkpoints is None:
        return plan
    return replace(plan, checkpoints=np.union1d(plan.checkpoints, default_checkpoints(plan.horizon)))  # for figures


def _file_names(swept: Iterable[dict[str, Any]], only: str) -> list[str]:
    """Return names for files, which stay the same when values are added to a list."""
    names: list[str] = []
    for values in swept:
        parts = [f"{key}-{value_label(value)}" for key, value in values.items()] or [only]
        name = "_".join(re.sub(r"[^A-Za-z0-9.-]+", "-", part).strip(".") for part in parts)[:100]
        names.append(name if name not in names else f"{name}_{names.count(name) + len(names)}")
    return names
