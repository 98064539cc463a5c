"""An interleaved timer of CPU time, and the small records that a benchmark is reported in.

Taken is the CPU time of this process, user and system, of all its threads: what else the machine does is not counted.
Contestants take turns: every pass runs each of them, so a slow minute of the machine (caches, clock rate) slows all of
them and not the one that happened to run. What would be too short to time is repeated within the pass. Reported are
the median over passes and, as the least disturbed value, the minimum.
"""

from __future__ import annotations

import gc
import importlib.metadata
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from covbandit import __version__
from covbandit.core.tables import Table

_BEGUN = time.monotonic()


def say(message: str) -> None:
    """Print a line of progress on standard error, so that the tables can be redirected alone."""
    print(f"[{time.monotonic() - _BEGUN:5.0f} s] {message}", file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Contestant:
    """Something to be timed.

    Parameters
    ----------
    name : str
        Unique among its rivals.
    run : callable
        Does as many units of work as it is told.
    units : int, optional
        Units per run; by default as many as fit into the time budget.
    most : int
        Units that exist at most, for contestants without a given number.
    prepare : callable, optional
        Called before each run, outside the clock.
    """

    name: str
    run: Callable[[int], None]
    units: int | None = None
    most: int = 1_000_000
    prepare: Callable[[], None] | None = None


@dataclass(frozen=True)
class Timing:
    """CPU seconds per unit of work: median and minimum over passes, all passes, and the units in each."""

    median: float
    minimum: float
    passes: tuple[float, ...]
    units: int

    def __sub__(self, other: Timing) -> Timing:
        """Return what remains without the share that `other` measured.

        Medians and minima are subtracted, not passes: a pass that was disturbed in one of the two would count twice.
        """
        return Timing(self.median - other.median, self.minimum - other.minimum, (), self.units)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, in CPU seconds."""
        return {"median": self.median, "min": self.minimum, "passes": list(self.passes), "units_per_pass": self.units}


@dataclass
class Race:
    """What came of one interleaved measurement."""

    timings: dict[str, Timing] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Timing:
        return self.timings[name]


def _clock(contestant: Contestant, units: int, repeats: int = 1) -> float:
    """Return the CPU seconds that so many runs take together."""
    total = 0.0
    for _ in range(repeats):
        if contestant.prepare is not None:
            contestant.prepare()
        begun = time.process_time()
        contestant.run(units)
        total += time.process_time() - begun
    return max(total, 1e-9)


def _calibrate(contestant: Contestant, budget: float) -> tuple[int, int]:
    """Run a few times (set-up, compilation, caches); return the units per run and the runs that fill the budget."""
    units = contestant.units or 1
    _clock(contestant, units)
    seconds = _clock(contestant, units)
    if contestant.units is None:
        while seconds < 0.1 * budget and units < contestant.most:
            units = min(4 * units, contestant.most)
            seconds = _clock(contestant, units)
        wanted = max(1, min(contestant.most, int(units * budget / seconds)))
        units, seconds = wanted, seconds * wanted / units
    return units, max(1, round(budget / seconds))


def interleave(contestants: Sequence[Contestant], passes: int, budget: float, what: str) -> Race:
    """Take the CPU time of contestants in turns.

    Parameters
    ----------
    contestants : sequence of Contestant
        Who runs. One that raises `RuntimeError` is reported as failed and leaves the race.
    passes : int
        Timed turns of each; one more, untimed, comes first.
    budget : float
        CPU seconds per pass for contestants without a given number of units.
    what : str
        For the lines of progress.

    Returns
    -------
    Race
    """
    race = Race()
    amounts: dict[str, tuple[int, int]] = {}
    seconds: dict[str, list[float]] = {contestant.name: [] for contestant in contestants}
    say(f"{what}: warming up {len(contestants)} contestants")
    for turn in range(-1, passes):
        if turn >= 0:
            say(f"{what}: pass {turn + 1} of {passes}")
        # As timeit does: a garbage collection would be charged to whoever happens to run.
        gc.collect()
        gc.disable()
        # Back and forth, so that nobody always runs behind the same neighbour.
        for contestant in contestants if turn % 2 == 0 else reversed(contestants):
            name = contestant.name
            if name in race.failures:
                continue
            try:
                if turn < 0:
                    amounts[name] = _calibrate(contestant, budget)
                else:
                    units, repeats = amounts[name]
                    seconds[name].append(_clock(contestant, units, repeats) / (units * repeats))
            except RuntimeError as error:
                race.failures[name] = str(error)
                say(f"{what}: {name} failed: {error}")
        gc.enable()
    for name, values in seconds.items():
        if name not in race.failures:
            units, repeats = amounts[name]
            race.timings[name] = Timing(statistics.median(values), min(values), tuple(values), units * repeats)
    return race


@dataclass(frozen=True)
class Check:
    """A measured number and what it is compared with; ``kind`` tells a requirement from an orientation."""

    what: str
    measured: float
    relation: Literal["<=", ">="]
    target: float
    kind: Literal["must", "indicative"] = "must"

    @property
    def passed(self) -> bool:
        """Whether the measured number satisfies the relation."""
        return self.measured <= self.target if self.relation == "<=" else self.measured >= self.target

    @property
    def verdict(self) -> str:
        """The result in words."""
        return ("reached" if self.passed else "missed") + (" (indicative)" if self.kind == "indicative" else "")

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "what": self.what,
            "measured": self.measured,
            "relation": self.relation,
            "target": self.target,
            "kind": self.kind,
            "passed": self.passed,
        }


@dataclass
class Section:
    """One part of the benchmark: tables to read, numbers to keep, checks to judge."""

    name: str
    tables: list[Table] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    data: list[dict[str, Any]] = field(default_factory=list)


def show(section: Section) -> None:
    """Print the tables and notes of a section."""
    print()
    for table in section.tables:
        print(table, end="\n\n")
    for note in section.notes:
        print(note)


def machine() -> dict[str, Any]:
    """Describe the machine as far as it bears on speed; nothing that names its owner or the date."""
    model = platform.processor()
    info = Path("/proc/cpuinfo")
    if info.exists():
        models = [
            line.split(":", 1)[1].strip()
            for line in info.read_text(encoding="utf-8").splitlines()
            if line.startswith("model name")
        ]
        model = models[0] if models else model
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {
        "processor": model,
        "architecture": platform.machine(),
        "system": platform.system(),
        "cores": os.cpu_count(),
        "load_before": load,
    }


def versions(packages: Sequence[str]) -> dict[str, str]:
    """Return the versions of Python, covbandit and those packages that are installed."""
    found = {"python": platform.python_version(), "covbandit": __version__}
    for package in packages:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
