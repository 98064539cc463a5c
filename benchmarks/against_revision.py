"""The present tree against an earlier revision: whether its numbers have the same bits, and whether it is no slower.

    python benchmarks/against_revision.py REV [--quick] [--only bits,steps,compilation,start] [--json FILE.json]

REV is a commit, or a folder with a tree. Its sources and the present ones, changes that are not committed included, are
copied into a temporary folder and run by this Python, each with caches of its own. Four parts:

* bits: every learner on a fixed list of cases (`revision_cases.py`), simulated and live, with missing rewards, retired
  options, saved files. Regret, weights and saved statistics must have the same bits.
* steps: CPU time of a simulated step, both revisions in turns.
* compilation: CPU time of processes that find nothing compiled.
* start: CPU time of processes that find everything compiled, and of ``--help``.

Times need a machine that does nothing else. The program ends with status 1 if a bit differs or a limit is missed.
"""

from __future__ import annotations

import argparse
import json
import math
import pickle
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from processes import run_python
from report import Part, Report
from revision_cases import STARTED, TIMED, Case
from revision_trees import ROOT, Stepper, Tree, run_together, side_by_side
from timing import Check, Section, machine, say, versions

from covbandit.core.tables import Table

PACKAGES = ("numpy", "scipy", "numba")
PARTS = ("bits", "steps", "compilation", "start")

STEP_LIMIT = 1.03
STEP_LIMITS = {"PairUCB": 1.05, "GradientTS": 1.05}
NO_WORSE = 1.05
"""What counts as no worse for whole processes. Where a process lies in memory, and what else the machine does, bear on
its CPU time: one and the same revision against itself gave ratios from .96 to 1.02 for single compilations, and medians
of three starts from .98 to 1.065, on two cores with a load of about ten."""

_BATCH = 0.15  # CPU seconds of a batch of steps, of which there are two in a turn
_FEWEST = 1_000  # rounds of a batch, so that start-up is not all of it
_MORE_TURNS = 3  # times the turns, at most, for what seems to miss its limit

_HELP = "import sys; from covbandit.cli import main; sys.argv = {arguments!r}; sys.exit(main())"  # as installed scripts
_STAGES = ("import", "ask and tell", "simulate")

Pair = tuple[Tree, Tree]
"""The revision and the present tree."""


# Bits -----------------------------------------------------------------------------------------------------------------


def measure_bits(trees: Pair, share: float, kinds: Sequence[str]) -> Section:
    """Compare what learners do.

    Parameters
    ----------
    trees : Pair
        The revision and the present tree.
    share : float
        Of the horizons of the list.
    kinds : sequence of str
        Learners, all if there are none.
    """
    say("bits: every case on both sides")
    files = [tree.folder / "bits.pickle" for tree in trees]
    run_together(trees, [["bits", str(file), str(share), *kinds] for file in files])
    before, now = (pickle.loads(file.read_bytes()) for file in files)
    if now["without_cases"]:
        raise RuntimeError(f"revision_cases.py has no case for {', '.join(now['without_cases'])}")
    section, rows, differing = Section("bits"), [], 0
    nothing = {"simulated": None, "live": None}
    for name in now["results"] | before["results"]:
        old, new = (side["results"].get(name, nothing) for side in (before, now))
        verdicts = {part: compared(old[part], new[part]) for part in nothing}
        same = all(verdict in ("equal", "new") for verdict in verdicts.values())
        differing += not same
        rows.append([name, *verdicts.values()])
        section.data.append({"case": name, "same": same, **verdicts})
    if not rows:
        raise RuntimeError(f"no case of {', '.join(kinds)}")
    section.tables.append(Table(["case", "simulated", "live"], rows, f"Bits: {trees[0].name} and the present tree"))
    section.notes = [
        "simulated: regret and weights at nine rounds of each replication; live: weights asked, explanations, saved",
        "statistics. Where they differ: the largest difference of two numbers.",
    ]
    section.checks.append(Check(f"bits: cases that differ, of {len(rows)}", differing, "<=", 0))
    return section


def compared(old: Any, new: Any) -> str:
    """Return "equal", "new" where the revision has no such learner, or what is wrong with the new result.

    An error is wrong even if it is an old one: then the case compares nothing.
    """
    if isinstance(new, str):
        return new
    if old is None or new is None:
        return "new" if old is None else "no such learner"
    if isinstance(old, str):
        return f"before: {old}"
    size = difference(old, new)
    if size == 0:
        return "equal"
    return "differs in form" if math.isinf(size) else f"differs by {size:.1e}"


def difference(old: Any, new: Any) -> float:
    """Return the largest difference of two numbers in equal places, 0 if all bits agree, infinite if forms differ."""
    if isinstance(old, np.ndarray) and isinstance(new, np.ndarray):
        if old.shape != new.shape or old.dtype != new.dtype:
            return math.inf
        if old.tobytes() == new.tobytes():
            return 0.0
        return max(difference(a, b) for a, b in zip(old.ravel().tolist(), new.ravel().tolist(), strict=True))
    if isinstance(old, dict) and isinstance(new, dict):
        if old.keys() != new.keys():
            return math.inf
        return max((difference(old[key], new[key]) for key in old), default=0.0)
    if isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            return math.inf
        return max((difference(a, b) for a, b in zip(old, new, strict=True)), default=0.0)
    if isinstance(old, float) and isinstance(new, float):
        if np.float64(old).tobytes() == np.float64(new).tobytes():
            return 0.0
        size = abs(old - new)
        return max(size, math.ulp(0.0)) if math.isfinite(size) else math.inf  # 0.0 and -0.0 differ in a bit
    return 0.0 if type(old) is type(new) and old == new else math.inf


# Times ----------------------------------------------------------------------------------------------------------------


def interval(ratios: Sequence[float]) -> tuple[float, float]:
    """Return a 95 % bootstrap interval of the median."""
    rng = np.random.default_rng(0)
    drawn = rng.choice(np.asarray(ratios), size=(2_000, len(ratios)))
    low, high = np.quantile(np.median(drawn, axis=1), [0.025, 0.975])
    return float(low), float(high)


class Turns:
    """CPU seconds of both sides, by what was measured, and their ratios turn by turn."""

    def __init__(self) -> None:
        self.seconds: dict[str, list[tuple[float, float]]] = {}

    def add(self, what: str, before: float, now: float) -> list[str]:
        """Keep what one turn took; return the names under which it is kept."""
        self.seconds.setdefault(what, []).append((before, now))
        return [what]

    def add_stages(self, what: str, stages: Sequence[str], before: Sequence[float], now: Sequence[float]) -> list[str]:
        """Keep what one turn took until each of its stages."""
        names = [f"{what}, until {stage}" for stage in stages]
        for name, old, new in zip(names, before, now, strict=True):
            self.add(name, old, new)
        return names

    def ratios(self, what: str) -> list[float]:
        """Return the present tree's seconds as multiples of the revision's."""
        return [now / before for before, now in self.seconds[what]]

    def ratio(self, what: str) -> float:
        """Return the median ratio."""
        return statistics.median(self.ratios(what))

    def told(self, section: Section, what: str, limit: float, unit: float = 1.0) -> list[object]:
        """Add a check and the data to a section; return a row for its table, with times in units of so many seconds."""
        both = self.seconds[what]
        low, high = interval(self.ratios(what))
        section.checks.append(Check(f"{section.name}: {what}", self.ratio(what), "<=", limit))
        section.data.append({"what": what, "cpu_seconds": [{"before": before, "now": now} for before, now in both]})
        medians = [statistics.median(side) / unit for side in zip(*both, strict=True)]
        spread = f"{low:.3f} to {high:.3f}" if len(both) > 2 else None
        return [what, *medians, self.ratio(what), spread, limit, section.checks[-1].verdict, len(both)]


_HEADS = ("ratio", "95 % interval", "limit", "verdict", "turns")


def in_turns(sides: tuple[Any, Any], turn: int, measure: Callable[..., Any], *arguments: Any) -> tuple[Any, Any]:
    """Measure both sides one after the other; who begins alternates."""
    before, now = sides
    if turn % 2 == 0:
        first = measure(before, *arguments)
        return first, measure(now, *arguments)
    first = measure(now, *arguments)
    return measure(before, *arguments), first


def measure_steps(trees: Pair, turns: int, kinds: Sequence[str]) -> Section:
    """Measure simulated steps.

    Where a process lies in memory makes it faster or slower by some percent, so every turn has a new process for each
    side. They time every case twice: one side first and last, the other in between.
    """
    names = {case.name: case.kind for case in TIMED if not kinds or case.kind in kinds}
    rounds: dict[str, int] = {}
    taken, turn, left = Turns(), 0, list(names)
    while left:
        say(f"steps: turn {turn + 1} of {turns}, {len(left)} cases")
        with Stepper(trees[0]) as before, Stepper(trees[1]) as now:
            for name in list(left):
                if name not in rounds:
                    rounds[name] = _calibrated(name, before)
                # Kernels are loaded, or compiled, before time is taken. A learner that one side lacks is left out.
                if rounds[name] == 0 or None in [stepper.seconds(name, 1) for stepper in (before, now)]:
                    left.remove(name)
                    continue
                batches = [in_turns((before, now), k, Stepper.seconds, name, rounds[name]) for k in (turn, turn + 1)]
                taken.add(name, *(sum(side) / (2 * rounds[name]) for side in zip(*batches, strict=True)))
        turn += 1
        if turn >= turns:
            missed = [name for name in left if taken.ratio(name) > _step_limit(names[name])]
            left = missed if turn < _MORE_TURNS * turns else []
    section = Section("steps")
    rows = [taken.told(section, name, _step_limit(names[name]), 1e-6) for name in taken.seconds]
    for row, name in zip(rows, taken.seconds, strict=True):
        row.append(rounds[name])
    heads = ["case", "before, µs", "now, µs", *_HEADS, "rounds"]
    section.tables.append(Table(heads, rows, "CPU time of a simulated step"))
    section.notes = [
        "Whole calls of simulate by their rounds, one replication on one thread; median of the ratios of single turns.",
        f"Every turn has new processes. A case that seems to miss its limit is given more turns, up to {_MORE_TURNS}",
        "times as many; all of them count.",
    ]
    return section


def _step_limit(kind: str) -> float:
    return STEP_LIMITS.get(kind, STEP_LIMIT)


def _calibrated(name: str, stepper: Stepper) -> int:
    """Return the rounds that fill a batch, 0 if the revision lacks the learner."""
    if stepper.seconds(name, _FEWEST) is None:
        return 0
    rounds = _FEWEST
    while (seconds := stepper.seconds(name, rounds) or 0.0) < 0.5 * _BATCH:
        rounds *= 2
    return max(_FEWEST, int(rounds * _BATCH / seconds))


def _take_turns(taken: Turns, turns: int, subjects: dict[str, Callable[[int], list[str]]]) -> None:
    """Let every subject take its turns, and more of them if it seems to be worse."""
    left, turn = list(subjects), 0
    while left:
        worse = []
        for subject in left:
            say(f"{subject}, turn {turn + 1} of {turns}")
            if any(taken.ratio(what) > NO_WORSE for what in subjects[subject](turn)):
                worse.append(subject)
        turn += 1
        if turn >= turns:
            left = worse if turn < _MORE_TURNS * turns else []


def measure_compilation(trees: Pair, repeats: int, everything: int) -> Section:
    """Measure processes that find nothing compiled: what a user waits for once, and ``covbandit warmup``.

    Parameters
    ----------
    trees : Pair
        The revision and the present tree.
    repeats : int
        Turns of each learner.
    everything : int
        Turns of ``covbandit warmup``.
    """
    _leave_bytecode(trees)
    taken = Turns()

    def compile_for(case: Case, turn: int) -> list[str]:
        both = in_turns(trees, turn, _first_stages, case.name)
        return taken.add_stages(case.kind, _STAGES[1:], *(stages[1:] for stages in both))

    def compile_all(turn: int) -> list[str]:
        return taken.add("covbandit warmup, everything", *in_turns(trees, turn, _warmup))

    _take_turns(taken, repeats, {f"compilation: {case.kind}": partial(compile_for, case) for case in STARTED})
    if everything:
        _take_turns(taken, everything, {"compilation: covbandit warmup": compile_all})
    section = Section("compilation")
    rows = [taken.told(section, what, NO_WORSE) for what in taken.seconds]
    section.tables.append(Table(["what", "before, s", "now, s", *_HEADS], rows, "CPU time with nothing compiled"))
    section.notes.append("From the start of the process; simulate comes after ask and tell. " + _tolerance())
    return section


def measure_start(trees: Pair, turns: int) -> Section:
    """Measure processes that find everything compiled, and help texts."""
    _leave_bytecode(trees)
    taken = Turns()
    for case in STARTED:
        for tree in trees:
            _stages(tree, case.name)  # compiles, unless that is done

    def start(case: Case, turn: int) -> list[str]:
        return taken.add_stages(case.kind, _STAGES, *in_turns(trees, turn, _stages, case.name))

    def show_help(words: list[str], turn: int) -> list[str]:
        return taken.add(f"covbandit {' '.join(words)}", *in_turns(trees, turn, _help, words))

    subjects = {f"start: {case.kind}": partial(start, case) for case in STARTED}
    subjects |= {f"start: {' '.join(words)}": partial(show_help, words) for words in (["--help"], ["study", "--help"])}
    _take_turns(taken, turns, subjects)
    section = Section("start")
    rows = [taken.told(section, what, NO_WORSE, 1e-3) for what in taken.seconds]
    section.tables.append(Table(["what", "before, ms", "now, ms", *_HEADS], rows, "CPU time with everything compiled"))
    section.notes.append("From the start of the process. " + _tolerance())
    return section


def _tolerance() -> str:
    return (
        f"No worse means at most {NO_WORSE:g} times:\nso much may medians of one revision differ from one another. "
        f"What seems to be worse is given up to {_MORE_TURNS} times as many turns."
    )


def _stages(tree: Tree, case: str, cache: str = "kernels") -> list[float]:
    """Return the CPU seconds of a new process until each stage."""
    output, _ = run_python(tree.probe("start", case), tree.environment(cache))
    return [float(seconds) for seconds in json.loads(output)]


def _first_stages(tree: Tree, case: str) -> list[float]:
    """Return the same for a process that finds nothing compiled."""
    tree.forget("empty")
    return _stages(tree, case, "empty")


def _help(tree: Tree, words: Sequence[str]) -> float:
    return run_python(["-c", _HELP.format(arguments=["covbandit", *words])], tree.environment())[1]


def _warmup(tree: Tree) -> float:
    tree.forget("empty")
    return run_python(["-c", _HELP.format(arguments=["covbandit", "warmup"])], tree.environment("empty"))[1]


def _leave_bytecode(trees: Pair) -> None:
    """Let Python compile all modules, as installing with pip does."""
    for tree in trees:
        run_python(["-m", "compileall", "-q", str(tree.source)], tree.environment())
        _help(tree, ["study", "--help"])


# The program ----------------------------------------------------------------------------------------------------------


def parts(trees: Pair, quick: bool, kinds: Sequence[str]) -> dict[str, Part]:
    """Return what can be measured, by name."""
    return {
        "bits": ("bits", lambda: measure_bits(trees, 0.25 if quick else 1.0, kinds)),
        "steps": ("steps", lambda: measure_steps(trees, 3 if quick else 15, kinds)),
        "compilation": ("compilation", lambda: measure_compilation(trees, 1 if quick else 3, 0 if quick else 2)),
        "start": ("start", lambda: measure_start(trees, 3 if quick else 9)),
    }


def _listed(text: str) -> list[str]:
    return [word for word in text.split(",") if word]


def main(words: Sequence[str] | None = None) -> int:
    """Read the command line, measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("revision", metavar="REV", help="a commit, or a folder with a tree")
    parser.add_argument("--quick", action="store_true", help="fewer rounds and turns, no warmup")
    parser.add_argument("--only", type=_listed, default=PARTS, help=f"some of {','.join(PARTS)}")
    parser.add_argument("--learners", type=_listed, default=[], help="only these, in bits and steps")
    parser.add_argument("--present", type=Path, default=ROOT, help="the tree to compare REV with, by default this one")
    parser.add_argument("--limit", type=float, default=3_600.0, help="seconds after which a part has failed")
    parser.add_argument("--out", "--json", type=Path, help="also write every number to this JSON file")
    arguments = parser.parse_args(words)
    if unknown := set(arguments.only) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")

    begun = time.monotonic()
    report = Report("against-revision", "CPU seconds", arguments.quick, machine(), {}, versions(PACKAGES))
    try:
        with side_by_side(arguments.revision, arguments.present) as trees:
            found = parts(trees, arguments.quick, arguments.learners)
            report.run([found[name] for name in PARTS if name in arguments.only], arguments.limit)
    except ValueError as error:
        parser.error(str(error))
    remark = "Quick: so few turns say little about times." if arguments.quick else ""
    status = report.close(arguments.out, remark)
    say(f"done in {time.monotonic() - begun:.0f} s")
    return status or int(not all(check.passed for check in report.checks))


if __name__ == "__main__":
    sys.exit(main())
