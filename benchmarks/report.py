"""What one run of a benchmark prints as it goes, and the JSON file that it can leave.

A part that raises or takes too long is told as failed, in the final table too, and makes the program end with status 1;
the other parts are measured all the same.
"""

from __future__ import annotations

import contextlib
import gc
import json
import signal
import subprocess
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from timing import Check, Section, say, show

from covbandit.core.tables import Table

Part = tuple[str, Callable[[], Section]]
"""The name of a part, and what measures it."""


class PartTimedOut(BaseException):
    """A part took longer than it may.

    No `Exception`: a race puts up with contestants that raise one, and would go on without any limit.
    """


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise `PartTimedOut` in the main thread after so many seconds by the clock: so long, that something must hang."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise PartTimedOut(f"timed out: not finished after {seconds:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    # Again and again: Python drops what is raised within a destructor, for example while it collects garbage.
    signal.setitimer(signal.ITIMER_REAL, seconds, max(seconds, 5.0))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


@dataclass
class Report:
    """One run.

    Parameters
    ----------
    benchmark : str
        What was measured.
    unit : str
        Of the times in the data.
    quick : bool
        Whether it was a short run.
    machine : dict
        Where it ran.
    missing_peers : dict
        What to pass to ``pip install``, by name of the peer that was left out.
    versions : dict
        Of the packages that bear on speed.
    """

    benchmark: str
    unit: str
    quick: bool
    machine: dict[str, Any]
    missing_peers: dict[str, str]
    versions: dict[str, str]
    sections: list[Section] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)

    @property
    def checks(self) -> list[Check]:
        """The checks of all sections so far."""
        return [check for section in self.sections for check in section.checks]

    def run(self, parts: Iterable[Part], limit: float = 3_600.0) -> None:
        """Print where this runs and without whom, then each part as soon as it is measured.

        Parameters
        ----------
        parts : iterable of Part
            What to measure, one after the other.
        limit : float
            Seconds by the clock after which a part has failed.
        """
        here, missing = self.machine, self.missing_peers
        print(f"{here['processor']}, {here['cores']} cores, one thread a process; load before: {here['load_before']}")
        print(f"measured: {self.unit}; contestants in turns")
        for requirement in dict.fromkeys(missing.values()):
            names = ", ".join(name for name, needed in missing.items() if needed == requirement)
            print(f"left out: {names}; pip install '{requirement}'")
        for name, measure in parts:
            try:
                with within(limit):
                    section = measure()
            except (Exception, PartTimedOut) as error:
                gc.enable()  # which the part may have switched off
                self.failures[name] = _cause(error)
                print(f"\nFAILED: {name}: {self.failures[name]}", flush=True)
                continue
            show(section)
            self.sections.append(section)

    def verdicts(self) -> Table:
        """Return the table of what was asked and what was measured; a part that failed has a row of its own."""
        rows: list[list[object]] = [
            [check.what, f"{check.relation} {check.target:,g}", check.measured, check.verdict] for check in self.checks
        ]
        rows += [[name, "a result", None, f"FAILED: {reason}"] for name, reason in self.failures.items()]
        return Table(["what", "asked", "measured", "verdict"], rows, "Asked and measured")

    def close(self, out: Path | None = None, remark: str = "") -> int:
        """Print the final table, write the file if one is asked for, and return the status to end with."""
        print()
        print(self.verdicts())
        if remark:
            print(remark)
        if out is not None:
            self.write(out)
        if self.failures:
            print(f"FAILED: {', '.join(self.failures)}. What these parts measure is unknown.")
        return 1 if self.failures else 0

    def write(self, path: Path) -> None:
        """Write every number to a JSON file."""
        report = {
            "benchmark": self.benchmark,
            "quick": self.quick,
            "threads": 1,
            "machine": self.machine,
            "versions": self.versions,
            "missing_peers": self.missing_peers,
            "unit": self.unit,
            "sections": {section.name: {"notes": section.notes, "rows": section.data} for section in self.sections},
            "checks": [check.to_dict() for check in self.checks],
            "failures": self.failures,
        }
        path.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
        say(f"written to {path}")


def _cause(error: BaseException) -> str:
    """Return what went wrong, in one line."""
    if isinstance(error, subprocess.TimeoutExpired):
        return f"timed out: a process was not finished after {error.timeout:g} s"
    text = str(error).strip().splitlines()
    return (
        f"{type(error).__name__}: {text[-1]}"
        if text and not isinstance(error, RuntimeError | PartTimedOut)
        else " ".join(text or [type(error).__name__])
    )
