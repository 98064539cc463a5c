"""What a simulation is to do: everything that determines its numbers, checked, and nothing else."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import scipy
from numpy.typing import ArrayLike

from covbandit._version import __version__
from covbandit.core import validation
from covbandit.core.fingerprints import SOURCE, foreign_source, source_hash
from covbandit.core.size_limits import as_rounds
from covbandit.core.typing import I64
from covbandit.environments import Bootstrap, Environment, Gaussian, Replay
from covbandit.errors import InvalidInput
from covbandit.learners import Learner
from covbandit.learners.protocol.serialization import class_name, to_plain
from covbandit.problems.distribution import ProblemDistribution, checked_draw
from covbandit.problems.problem import Problem

# What may change the numbers of a simulation without changing its specification.
_DETERMINE_NUMBERS = (
    "aggregate",
    "environments",
    "kernels",
    "learners",
    "maximization",
    "problems/designs.py",
    "problems/distribution.py",
    "problems/problem.py",
    "reproduction/known_covariance.py",
    "simulation/driver.py",
    "simulation/engine.py",
    "simulation/regret.py",
    "theory/hard_instances.py",
)


@dataclass(frozen=True)
class Plan:
    """One simulation, without its replications: picklable, so that it can be sent to workers."""

    problem: Problem | ProblemDistribution
    learners: dict[str, Learner]
    horizon: int
    seed: int
    environment: Environment
    checkpoints: I64

    def problem_of(self, replication: int) -> Problem:
        """Return the problem that a replication plays: its own, if problems are drawn."""
        if isinstance(self.problem, Problem):
            return self.problem
        return checked_draw(self.problem, self.seed, replication)

    def specification(self) -> dict[str, Any]:
        """Return everything that determines the numbers, as plain data."""
        return {
            "problem": self._problem_in_words(),
            "learners": {
                name: {"class": class_name(type(learner)), "config": to_plain(learner.config())}
                | foreign_source(type(learner))
                for name, learner in self.learners.items()
            },
            "environment": to_plain(self.environment.to_dict()) | foreign_source(type(self.environment)),
            "horizon": self.horizon,
            "seed": self.seed,
            "checkpoints": self.checkpoints.tolist(),
        }

    def _problem_in_words(self) -> dict[str, Any]:
        described: dict[str, Any] = to_plain(self.problem.to_dict())
        return described if isinstance(self.problem, Problem) else described | foreign_source(type(self.problem))

    def fingerprint(self) -> str:
        """Return eight letters that tell specifications, and the versions they ran on, apart: for names of files."""
        determined_by = json.dumps([self.specification(), versions()], sort_keys=True)
        return hashlib.sha256(determined_by.encode()).hexdigest()[:8]


def as_plan(
    problem: Problem | ProblemDistribution,
    learners: Learner | Mapping[str, Learner] | Sequence[Learner],
    horizon: int | None = None,
    seed: int = 0,
    environment: Environment | None = None,
    checkpoints: ArrayLike | None = None,
) -> Plan:
    """Return a plan made of what a user handed in."""
    if not isinstance(problem, Problem | ProblemDistribution):
        raise InvalidInput(f"problem must be a Problem or a ProblemDistribution, got {type(problem).__name__}")
    if environment is not None and not isinstance(environment, Environment):
        raise InvalidInput(f"environment must be an Environment, got {environment!r}")
    environment = environment or Gaussian()
    if not isinstance(problem, Problem) and isinstance(environment, Bootstrap | Replay):
        raise InvalidInput(
            "a history belongs to one problem, not to a distribution of them: use returns.problem(risk_aversion)"
        )
    horizon = as_horizon(horizon, environment)
    seed = validation.as_count(seed, "seed")
    first = problem if isinstance(problem, Problem) else checked_draw(problem, seed, 0)
    environment.check(first)
    return Plan(
        problem=problem,
        learners=as_learners(learners, first),
        horizon=horizon,
        seed=seed,
        environment=environment,
        checkpoints=as_checkpoints(checkpoints, horizon, environment),
    )


def difference(there: Mapping[str, Any], here: Mapping[str, Any]) -> str:
    """Return which entry of two specifications differs first, and how; nothing if none does."""
    for key in {**here, **there}:
        if not _same(there.get(key), here.get(key)):
            inside, old, new = _innermost(there.get(key), here.get(key))
            where = f"{key} differs in {'.'.join(inside)}" if inside else f"{key} differs"
            if inside and inside[-1] == SOURCE:
                return f"{where}: the class, or a module of yours that it imports, is not the same code"
            return f"{where} ({_short(old)} there, {_short(new)} here)"
    return ""


def _same(there: Any, here: Any) -> bool:
    return json.dumps(there, sort_keys=True) == json.dumps(here, sort_keys=True)


def _innermost(there: Any, here: Any) -> tuple[list[str], Any, Any]:
    """Return where in entries made of the same parts the first difference is, and what stands there."""
    if isinstance(there, dict) and isinstance(here, dict) and there.keys() == here.keys():
        for key in here:
            if not _same(there[key], here[key]):
                inside, old, new = _innermost(there[key], here[key])
                return [key, *inside], old, new
    return [], there, here


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."


def versions() -> dict[str, str]:
    """Return the versions on which bits may depend."""
    return {
        "covbandit": __version__,
        "sources": source_hash(_DETERMINE_NUMBERS),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "numba": numba.__version__,
        "machine": platform.machine(),
    }


def default_checkpoints(horizon: int) -> I64:
    """Return about twelve log-spaced rounds per decade, with the horizon and its tenths, hundredths, ... among them."""
    count = max(2, int(np.ceil(12 * np.log10(max(horizon, 2)))))
    tenths = [horizon // 10**k for k in range(int(np.log10(horizon)) + 1)]
    grid = np.concatenate([np.geomspace(1, horizon, count).round(), tenths])
    return np.unique(grid[(grid >= 1) & (grid <= horizon)]).astype(np.int64)


def as_horizon(value: int | None, environment: Environment) -> int:
    """Return the number of rounds, by default as many as the environment has."""
    length = environment.length
    if length is not None:
        length = validation.as_count(length, f"the length of environment {type(environment).__name__}", 1)
    if value is None:
        if length is None:
            raise InvalidInput(f"horizon is missing: rewards of {type(environment).__name__} have no end")
        return length
    horizon = as_rounds(value)
    if length is not None and horizon > length:
        raise InvalidInput(f"horizon must be at most {length}, the rounds that there are, got {horizon}")
    return horizon


def as_replications(value: int | None, environment: Environment) -> int:
    """Return the number of replications: 50 by default, but a history is replayed once."""
    if value is None:
        return 1 if isinstance(environment, Replay) else 50
    return validation.as_count(value, "replications", 1)


def as_checkpoints(value: ArrayLike | None, horizon: int, environment: Environment) -> I64:
    """Return ascending rounds up to the horizon, which is always the last."""
    if isinstance(environment, Replay):
        if value is not None:
            raise InvalidInput("a Replay records every round, which drawdown and turnover need: leave checkpoints out")
        return np.arange(1, horizon + 1)
    if value is None:
        return default_checkpoints(horizon)
    rounds = validation.as_vector(value, "checkpoint")
    if (rounds != np.round(rounds)).any() or (rounds < 1).any() or (rounds > horizon).any():
        raise InvalidInput(f"checkpoints must be whole rounds from 1 to the horizon {horizon}, got {value!r}")
    return np.unique(np.append(rounds, horizon)).astype(np.int64)


def as_learners(value: Learner | Mapping[str, Learner] | Sequence[Learner], problem: Problem) -> dict[str, Learner]:
    """Return learners by name; refuse one that does not fit the problem."""
    if isinstance(value, Learner):
        value = [value]
    if not isinstance(value, Mapping):
        names = [type(learner).__name__ for learner in value]
        if len(set(names)) < len(names):
            raise InvalidInput(f"several learners of one class need names: pass a dictionary, not {names}")
        value = dict(zip(names, value, strict=True))
    if not value:
        raise InvalidInput("no learners to simulate")
    for name, learner in value.items():
        if not isinstance(learner, Learner):
            raise InvalidInput(f"learner {name!r} is not a Learner but a {type(learner).__name__}")
        reason = learner.mismatch(problem)
        if reason:
            raise InvalidInput(f"learner {name!r} does not fit the problem: {reason}")
    return {str(name): learner for name, learner in value.items()}
