"""What `against_revision.py` runs in processes of its own, against the sources of either revision.

    python revision_probe.py SRC bits FILE SHARE [LEARNER ...]   simulations and live use; results into FILE
    python revision_probe.py SRC steps                           simulates on request; CPU seconds as answers
    python revision_probe.py SRC start CASE                      CPU seconds until import, ask and tell, a simulation

Only public names are used, since inner ones differ between revisions.
"""

from __future__ import annotations

import gc
import json
import pickle
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from revision_cases import CASES, STARTED, TIMED, learners_without_cases

import covbandit as cb

_LIVE = 300  # rounds of live use
_MERGED = 40  # rounds told to each of two learners that are merged


def main(arguments: list[str]) -> None:
    """Do what the command line says."""
    source, command, *rest = arguments
    found = Path(cb.__file__).resolve().parent.parent
    if found != Path(source).resolve():
        raise RuntimeError(f"covbandit was imported from {found} instead of {source}")
    warnings.simplefilter("ignore")  # what a learner thinks of its settings is known
    if command == "bits":
        _bits(Path(rest[0]), float(rest[1]), rest[2:])
    elif command == "steps":
        _steps()
    elif command == "start":
        _start(rest[0])
    else:
        raise SystemExit(f"no such command: {command}")


# Bits -----------------------------------------------------------------------------------------------------------------


def _bits(file: Path, share: float, kinds: list[str]) -> None:
    """Play the cases of some learners, all by default, for a share of their horizons; write what came of it."""
    results: dict[str, Any] = {}
    for case in CASES:
        if (kinds and case.kind not in kinds) or not hasattr(cb, case.kind):
            continue
        results[case.name] = {
            "simulated": _attempt(_simulate, case, max(1, int(case.horizon * share))),
            "live": _attempt(_live, case),
        }
    file.write_bytes(pickle.dumps({"results": results, "without_cases": learners_without_cases()}))


def _attempt(call: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result, or the kind of error: the words of its message may change."""
    try:
        return call(*arguments)
    except Exception as error:
        return f"raised {type(error).__name__}"


def _simulate(case: Any, horizon: int) -> Any:
    result = cb.simulate(
        case.problem(),
        case.learner(),
        horizon,
        case.replications,
        seed=7,
        workers=1,
        environment=None if case.environment is None else case.environment(),
        checkpoints=sorted({max(1, horizon * k // 8) for k in range(9)}),
        progress=False,
    )
    return {"regret": result.regret, "weights": result.weights}


def _live(case: Any) -> Any:
    """Ask and tell, with missing rewards where the learner allows them, and with options that come and go."""
    problem, learner = case.played(), case.learner()
    d = problem.n_options
    rng = np.random.default_rng(d)
    spread = np.sqrt(np.diag(problem.covariance))
    rewards = problem.mean + spread * (rng.standard_normal((_LIVE, d)) + 0.5 * rng.standard_normal((_LIVE, 1)))
    missing = rng.random((_LIVE, d)) < 0.3
    missing[: _LIVE // 3] = False
    asked, documents, out = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "learner.json"
        for t, row in enumerate(rewards):
            if t in (_LIVE // 2, 3 * _LIVE // 4):
                wanted = [] if out else [d - 1]
                documents.append(_attempt(learner.set_retired, wanted))
                out = wanted if documents[-1] is None else out
            weights = learner.ask()
            asked.append(weights)
            if t % 50 == 7:
                asked.append(learner.ask(outstanding=3))
            if learner.feedback == "all":
                gaps = missing[t].copy()
                gaps[out] = True
                gaps[int(weights.argmax())] = False
                told = np.where(gaps, 0.0, weights)
                learner.tell_partly(told / told.sum(), np.where(gaps, np.nan, row))
            else:
                learner.tell(weights, _seen(learner, weights, row))
            if t % 75 == 20:
                documents += [_saved(learner, file), _attempt(_explained, learner)]
                learner = cb.load_learner(file)
        documents += [_saved(learner, file), _attempt(_merged, case, rewards, file)]
    return {"asked": np.array(asked), "documents": documents}


def _seen(learner: Any, weights: Any, row: Any) -> Any:
    """Return what a learner observes of a round."""
    if learner.feedback == "total":
        return float(weights @ row)
    return np.where(weights > 0, row, np.nan) if learner.feedback == "chosen" else row


def _saved(learner: Any, file: Path) -> Any:
    """Return what a learner's file says of the learner; it also says which version of the package wrote it."""
    learner.save(file)
    return json.loads(file.read_text(encoding="utf-8"))["learner"]


def _explained(learner: Any) -> Any:
    return learner.explain().to_dict()


def _merged(case: Any, rewards: Any, file: Path) -> Any:
    """Return what two learners know together."""
    parts = []
    for rows in (rewards[:_MERGED], rewards[_MERGED : 2 * _MERGED]):
        learner = case.learner()
        for row in rows:
            weights = learner.ask()
            learner.tell(weights, _seen(learner, weights, row))
        parts.append(learner)
    return _saved(parts[0].merge(parts[1]), file)


# Times ----------------------------------------------------------------------------------------------------------------


def _steps() -> None:
    """Answer each line, a case and a number of rounds, by the CPU seconds of simulating these rounds."""
    cases = {case.name: (case.problem(), case.learner()) for case in TIMED if hasattr(cb, case.kind)}
    for line in sys.stdin:
        name, rounds = json.loads(line)
        if name not in cases:
            print("null", flush=True)
            continue
        problem, learner = cases[name]
        gc.collect()
        gc.disable()
        begun = time.process_time()
        cb.simulate(problem, learner, rounds, 1, seed=7, workers=1, checkpoints=[rounds], progress=False)
        seconds = time.process_time() - begun
        gc.enable()
        print(json.dumps(seconds), flush=True)


def _start(name: str) -> None:
    """Print the CPU seconds that this process has spent after each step of a user's first contact."""
    case = next(case for case in STARTED if case.name == name)
    problem, learner = case.problem(), case.learner()
    seconds = [time.process_time()]
    weights = learner.ask()
    learner.tell(weights, _seen(learner, weights, problem.mean))
    learner.ask()
    seconds.append(time.process_time())
    cb.simulate(problem, learner, 100, 1, workers=1, progress=False)
    seconds.append(time.process_time())
    print(json.dumps(seconds))


if __name__ == "__main__":
    main(sys.argv[1:])
