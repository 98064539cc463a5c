"""What is done with files of an older version: by the script that wrote them, and by the test that reads them today.

``tests/files_of_0_1/make_files.py`` loaded each file that it had written, went through these functions and kept what
they returned. ``tests/test_files_of_0_1.py`` does the same today and compares. So these functions must not change what
they do, and they use public names only: inner modules may be renamed. Texts for people (remarks, messages) are left
out: they may be worded better at any time.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import platform
import sqlite3
import struct
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import covbandit as cb

ROUNDS = 25  # that a learner goes on for
MOST_OPTIONS = 5
TOLERANCE = 1e-9
SEARCH_TOLERANCE = 1e-6  # of those that search for their weights, 1e-8 from the best ones
SEARCHING = ("MCUCB", "MCUCBGamma")
WORDS = {"message", "note", "reason", "remarks", "width_kind"}


# Where numbers were computed ------------------------------------------------------------------------------------------


def machine() -> dict[str, str]:
    """Return what the last bits depend on, other than this package."""
    import llvmlite
    import llvmlite.binding
    import numba
    import scipy

    features = sorted(name for name, there in llvmlite.binding.get_host_cpu_features().items() if there)
    return {
        "python": ".".join(platform.python_version_tuple()[:2]),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "libc": " ".join(platform.libc_ver()),
        "machine": platform.machine(),
        "processor": str(llvmlite.binding.get_host_cpu_name()),
        "processor features": hashlib.sha256(" ".join(features).encode()).hexdigest()[:16],
    }


def tolerance_of(learner_class: str) -> float:
    """Return by how much a learner's numbers may differ between machines."""
    return SEARCH_TOLERANCE if learner_class in SEARCHING else TOLERANCE


def differences(found: Any, expected: Any, tolerance: float | None, where: str = "") -> Iterator[str]:
    """Yield where plain data differs: in any bit or, with a tolerance, by more than it allows.

    The tolerance is relative: to the largest number in the same (nested) list, as entries of an array belong together.
    Entries that only newer versions have are left out.
    """
    if isinstance(expected, dict) and isinstance(found, dict):
        for key, value in expected.items():
            if key in WORDS:
                continue
            if key not in found:
                yield f"{where}.{key} is missing"
            else:
                yield from differences(found[key], value, tolerance, f"{where}.{key}")
        return
    if isinstance(expected, list) and isinstance(found, list):
        if len(found) != len(expected):
            yield f"{where} has {len(found)} entries, not {len(expected)}"
            return
        old, new = _numbers(expected), _numbers(found)
        if tolerance is not None and old is not None and new is not None and len(old) == len(new):
            yield from _far_apart(new, old, tolerance, where)
            return
        for k, (one, other) in enumerate(zip(found, expected, strict=True)):
            yield from differences(one, other, tolerance, f"{where}[{k}]")
        return
    if tolerance is not None and _is_number(found) and _is_number(expected):
        yield from _far_apart([found], [expected], tolerance, where)
    elif _as_bits(found) != _as_bits(expected):
        yield f"{where} is {found!r}, not {expected!r}"


def _far_apart(found: list[Any], expected: list[Any], tolerance: float, where: str) -> Iterator[str]:
    known = [abs(value) for value in expected if value is not None and np.isfinite(value)]
    allowed = tolerance * max(known, default=0.0)
    for one, other in zip(found, expected, strict=True):
        if one is None or other is None or not np.isfinite(one) or not np.isfinite(other):
            if repr(one) != repr(other):
                yield f"{where}: {one!r}, not {other!r}"
        elif abs(one - other) > allowed:
            yield f"{where}: {one!r} is not within {allowed:.1e} of {other!r}"


def _numbers(value: Any) -> list[Any] | None:
    """Return the numbers in nested lists of nothing but numbers and None; None if there is anything else."""
    if not isinstance(value, list):
        return [value] if value is None or _is_number(value) else None
    parts = [_numbers(item) for item in value]
    return None if None in parts else [number for part in parts for number in part or ()]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _as_bits(value: Any) -> Any:
    return ("float", value.hex()) if isinstance(value, float) else (type(value).__name__, value)


def plain(value: Any) -> Any:
    """Return what JSON makes of a value: floats keep every bit, tuples become lists."""
    return json.loads(json.dumps(value))


# A history ------------------------------------------------------------------------------------------------------------


@cache
def rewards(rounds: int = 700) -> np.ndarray:
    """Return rewards of five correlated options, made of whole numbers: the same on every machine and for ever."""
    state, rows = 20_261_118, []
    for _ in range(rounds):
        drawn = []
        for _ in range(MOST_OPTIONS + 1):
            total = 0
            for _ in range(12):
                state = (6_364_136_223_846_793_005 * state + 1_442_695_040_888_963_407) % 2**64
                total += state >> 44
            drawn.append(total / 2**20 - 6)  # nearly Gaussian
        common = drawn[-1]
        rows.append([(10 + 3 * i) / 64 + (2 + i) / 8 * (drawn[i] + (2 - i) / 2 * common) for i in range(MOST_OPTIONS)])
    return np.array(rows)


def total_of(weights: Any, row: Any) -> float:
    """Return what weights earned, added in order: Python's own sum adds otherwise since version 3.12."""
    total = 0.0
    for w, y in zip(weights, row, strict=True):
        total += float(w) * float(y)
    return total


@contextmanager
def without_warnings() -> Iterator[None]:
    """Leave out what is said of arguments and assumptions: here they are meant."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cb.errors.SetupWarning)
        warnings.simplefilter("ignore", cb.errors.AssumptionWarning)
        yield


# Learners -------------------------------------------------------------------------------------------------------------


def saved(thing: Any) -> dict[str, Any]:
    """Return the content of the file that saving something gives, without the arguments that it was made with."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "saved.json"
        thing.save(file)
        document = json.loads(file.read_text(encoding="utf-8"))
    content: dict[str, Any] = document[document["format"].removeprefix("covbandit-")]
    return {name: value for name, value in content.items() if name != "config"}


def tell_round(learner: cb.Learner, weights: Any, k: int, missing: bool = False) -> None:
    """Tell round k of the history; if some are to be missing, without every third reward of options without weight."""
    row = rewards()[k, : learner.n_options]
    if learner.feedback == "total":
        learner.tell(weights, total_of(weights, row))
    elif learner.feedback == "chosen":
        learner.tell(weights, np.where(np.asarray(weights) > 0, row, np.nan))
    elif missing:
        gone = [(k + i) % 3 == 0 and weights[i] == 0 for i in range(learner.n_options)]
        learner.tell_partly(weights, np.where(gone, np.nan, row))
    else:
        learner.tell(weights, row)


def look_at_learner(learner: cb.Learner) -> dict[str, Any]:
    """Return what a learner shows."""
    return {
        "class": type(learner).__name__,
        "rounds_told": learner.rounds_told,
        "counts": learner.counts.tolist(),
        "retired": list(learner.retired),
        "explain": learner.explain().to_dict(),
        "ahead": [learner.ask(outstanding).tolist() for outstanding in (0, 1, 2, 5)],
    }


def go_on_with_learner(learner: cb.Learner, missing: bool, restored_after: int | None) -> dict[str, Any]:
    """Return what a learner shows, what it asks in the rounds that follow, and what it is after them."""
    found: dict[str, Any] = {"before": look_at_learner(learner), "asked": []}
    with without_warnings():
        for k in range(ROUNDS):
            if k == restored_after:
                learner.set_retired([])
            weights = learner.ask()
            found["asked"].append(weights.tolist())
            tell_round(learner, weights, learner.rounds_told, missing)
    found["after"] = look_at_learner(learner)
    found["saved after"] = saved(learner)
    return plain(found)


def go_on_with_allocator(allocator: cb.Allocator) -> dict[str, Any]:
    """Return what an allocator asks by name, and what it is in the end."""
    found: dict[str, Any] = {
        "options": list(allocator.options),
        "explain": allocator.explain().to_dict(),
        "ahead": allocator.ask(3),
        "asked": [],
    }
    for _ in range(ROUNDS):
        weights = allocator.ask()
        found["asked"].append(weights)
        tell_allocator(allocator, weights)
    found["saved after"] = saved(allocator)
    return plain(found)


def tell_allocator(allocator: cb.Allocator, weights: dict[str, float]) -> None:
    """Tell the next round of the history by name."""
    row = dict(zip(allocator.options, rewards()[allocator.rounds_told].tolist(), strict=False))
    feedback = allocator.learner.feedback
    if feedback == "total":
        allocator.tell(weights, total_of(weights.values(), row.values()))
    else:
        allocator.tell(weights, {name: row[name] for name, w in weights.items() if feedback == "all" or w > 0})


# Moments from totals --------------------------------------------------------------------------------------------------


def totals(begin: int, end: int) -> tuple[np.ndarray, np.ndarray]:
    """Return mixes of three options, and their totals."""
    mixes, earned = [], []
    for k in range(begin, end):
        parts = [(7 * k) % 11 + 1, (5 * k + 3) % 13, (3 * k + 1) % 7]
        mixes.append([part / sum(parts) for part in parts])
        earned.append(total_of(mixes[-1], rewards()[k, :3]))
    return np.array(mixes), np.array(earned)


def look_at_moments(moments: cb.AggregateMoments) -> dict[str, Any]:
    """Return all estimates."""
    return {
        "n_observations": moments.n_observations,
        "options": list(moments.options or ()),
        "mean": moments.mean.tolist(),
        "covariance": moments.covariance.tolist(),
        "semidefinite": moments.semidefinite_covariance().tolist(),
        "mean_covariance": moments.mean_covariance.tolist(),
        "covariance_standard_errors": moments.covariance_standard_errors.tolist(),
        "kurtosis": moments.kurtosis,
        "utility": list(moments.utility([0.5, 0.25, 0.25], risk_aversion=0.75)),
    }


def go_on_with_moments(moments: cb.AggregateMoments) -> dict[str, Any]:
    """Return all estimates, and those after 250 more totals."""
    found: dict[str, Any] = {"before": look_at_moments(moments)}
    begin = moments.n_observations
    moments.update_many(*totals(begin, begin + 249))
    (mix,), (total,) = totals(begin + 249, begin + 250)
    moments.update(mix, total, weight=0.5)
    return plain({**found, "after": look_at_moments(moments), "saved after": saved(moments)})


# Simulations ----------------------------------------------------------------------------------------------------------

REPLICATIONS = 2  # in the files of results
MORE_REPLICATIONS = 4  # once they were continued


def simulations() -> dict[str, dict[str, Any]]:
    """Return the arguments of the simulations whose results are kept."""
    synthetic = cb.problems.synthetic(risk_aversion=2.0)
    limited = cb.problems.synthetic(risk_aversion=0.5, min_weight=0.25)
    hard = cb.theory.FullInformationLowerBound(3, 40)
    history = cb.data.Returns(rewards()[:30, :3], ["Süd", "Nord", "Ost"], [f"2020-01-{k:02}" for k in range(1, 31)])
    rho = hard.risk_aversion
    return {
        "everything seen": {
            "problem": synthetic,
            "learners": {
                "empirical": cb.MCEmpirical(n_options=5, risk_aversion=2.0),
                "shrunk": cb.ShrunkEmpirical(n_options=5, risk_aversion=2.0, hold=([0.2, 0.2, 0.2, 0.2, 0.2], 3)),
                "steps": cb.OGD(n_options=5, risk_aversion=2.0),
                "equal": cb.FixedWeights(n_options=5),
            },
            "horizon": 50,
            "seed": 3,
            "environment": cb.environments.StudentT(df=5.0),
        },
        "chosen seen": {
            "problem": limited,
            "learners": {"pairs": cb.PairUCB(n_options=5, risk_aversion=0.5, min_weight=0.25)},
            "horizon": 50,
            "seed": 4,
        },
        "totals seen": {
            "problem": synthetic,
            "learners": {
                "gradient": cb.GradientTS(n_options=5, risk_aversion=2.0, seed=1),
                "design": cb.MCETE(n_options=5, risk_aversion=2.0),
            },
            "horizon": 100,
            "seed": 5,
            "checkpoints": [20, 60, 80, 100],
        },
        "problems drawn": {
            "problem": hard,
            "learners": [cb.MCEmpirical(n_options=3, risk_aversion=rho)],
            "horizon": 40,
            "seed": 6,
        },
        "bootstrap": {
            "problem": history.problem(risk_aversion=1.0),
            "learners": [cb.MCEmpirical(n_options=3, risk_aversion=1.0)],
            "horizon": 40,
            "seed": 7,
            "environment": cb.environments.Bootstrap(history),
        },
        "replay": {
            "problem": history.problem(risk_aversion=1.0),
            "learners": [
                cb.MCEmpirical(n_options=3, risk_aversion=1.0),
                cb.GradientTS(n_options=3, risk_aversion=1.0, start_up=6),
            ],
            "seed": 8,
            "environment": cb.environments.Replay(history),
        },
    }


def look_at_result(result: cb.SimulationResult) -> dict[str, Any]:
    """Return all numbers of a result."""
    found = {
        "class": type(result).__name__,
        "learners": result.learners,
        "checkpoints": result.checkpoints.tolist(),
        "replications": result.replications.tolist(),
        "regret": result.regret.tolist(),
        "weights": result.weights.tolist(),
        "specification": result.specification,
        "summary": list(result.summary().to_dict().values()),
    }
    if isinstance(result, cb.ReplayResult):
        found |= {"rewards": result.rewards.tolist(), "best constant": result.best_constant.weights.tolist()}
    return plain(found)


JOURNAL = b"covbandit journal 1\n"
RECORD = struct.Struct("<QI")  # length and checksum, before so many bytes


def records(journal: bytes) -> list[bytes]:
    """Return the records of a journal, with their lengths and checksums; the first is its header."""
    assert journal.startswith(JOURNAL)
    found, at = [], len(JOURNAL)
    while at < len(journal):
        end = at + RECORD.size + RECORD.unpack_from(journal, at)[0]
        found.append(journal[at:end])
        at = end
    return found


# Studies --------------------------------------------------------------------------------------------------------------


def restored_store(dump: Path, file: Path) -> Path:
    """Make a store of the text that it was dumped as."""
    with sqlite3.connect(file) as connection:
        connection.executescript(dump.read_text(encoding="utf-8"))
    connection.close()
    return file


def tell_study(study: cb.Study, asked: cb.Round, k: int) -> cb.Round:
    """Tell a round of a study what row k of the history says."""
    row = dict(zip(asked.weights, rewards()[k].tolist(), strict=False))
    if study.feedback == "total":
        return study.tell(asked.id, total_of(asked.weights.values(), row.values()))
    held = {name for name, w in asked.weights.items() if w > 0}
    seen = held | set(study.options) if study.feedback == "all" else held
    scale = asked.weights if study.outcome == "amount" else dict.fromkeys(asked.weights, 1.0)
    return study.tell(asked.id, {name: row[name] * scale[name] for name in asked.weights if name in seen})


def is_own(learner: cb.Learner) -> bool:
    """Return True if a learner is a user's own; those here cannot learn from rounds in which options are retired."""
    return type(learner).__module__.partition(".")[0] != "covbandit"


def look_at_study(study: cb.Study, exports: bool) -> dict[str, Any]:
    """Return what a study shows; with all its rounds, told outcomes and changes, if exports are wanted."""
    verified = study.verify()
    found: dict[str, Any] = {
        "summary": study.summary().to_dict(),
        "verify": {"ok": verified.ok, "rounds": verified.rounds},
        "explain": study.explain().to_dict(),
        "estimates": study.estimates().to_dict(),
        "frontier": study.frontier(points=4).to_dict(),
        "statistics": saved(study.learner),
    }
    if exports:
        found["history"] = study.history().to_dict()
        found["json"] = json.loads(study.export(format="json"))
        found["csv"] = _columns(study.export(format="csv").decode())
    return plain(found)


def go_on_with_study(study: cb.Study) -> dict[str, Any]:
    """Return what a study asks when it goes on, told and changed in every way; and what it has learned then."""
    asked: list[dict[str, float]] = []
    with without_warnings():
        waiting = study.ask("waiting", lease=None)
        again = study.ask("waiting")
        assert again.id == waiting.id
        asked.append(waiting.weights)
        beside = study.ask("beside", lease=None)
        asked.append(beside.weights)
        tell_study(study, waiting, 100)
        for k in range(101, 107):
            proposed = study.ask("waiting", lease=None)
            asked.append(proposed.weights)
            told = tell_study(study, proposed, k)
        tell_study(study, beside, 107)
        assert told.outcome is not None
        if isinstance(told.outcome, dict):
            study.amend(told.id, {name: value + 0.125 for name, value in told.outcome.items()})
        else:
            study.amend(told.id, told.outcome + 0.125)
        asked.append(_asked(study))
        if study.risk_aversion is not None:
            study.set_risk_aversion(0.75 * study.risk_aversion)
            asked.append(_asked(study))
        if len(study.options) > 2 and not is_own(study.learner):
            last = study.options[-1]
            study.retire(last)
            asked.append(_asked(study))
            study.restore(last)
            asked.append(_asked(study))
        explained = study.explain().to_dict()
        verified = study.verify()
    return plain(
        {
            "asked": asked,
            "explain": explained,
            "statistics": saved(study.learner),
            "verify": {"ok": verified.ok, "exact": verified.exact, "rounds": verified.rounds},
        }
    )


def _asked(study: cb.Study) -> dict[str, float]:
    proposed = study.ask(lease=None)
    tell_study(study, proposed, 108)
    return proposed.weights


def _columns(text: str) -> dict[str, list[Any]]:
    """Return the columns of a table in CSV, numbers as such."""
    head, *rows = list(csv.reader(io.StringIO(text)))
    return {name: [_cell(cell) for cell in column] for name, *column in zip(head, *rows, strict=True)}


def _cell(text: str) -> float | str | None:
    try:
        return float(text)
    except ValueError:
        return text or None
