"""What one run of a benchmark prints as it goes, and the JSON file that it can leave."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from timing import Check, Section, say, show

from covbandit.tables import Table


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

    @property
    def checks(self) -> list[Check]:
        """The checks of all sections so far."""
        return [check for section in self.sections for check in section.checks]

    def run(self, sections: Iterable[Section]) -> None:
        """Print where this runs and without whom, then each section as soon as it is measured."""
        here, missing = self.machine, self.missing_peers
        print(f"{here['processor']}, {here['cores']} cores, one thread used; load before: {here['load_before']}")
        for requirement in dict.fromkeys(missing.values()):
            names = ", ".join(name for name, needed in missing.items() if needed == requirement)
            print(f"left out: {names}; pip install '{requirement}'")
        for section in sections:
            show(section)
            self.sections.append(section)

    def verdicts(self) -> Table:
        """Return the table of what was to be reached."""
        rows = [
            [
                check.what,
                check.measured,
                f"{check.relation} {check.target:,g}",
                ("reached" if check.passed else "missed") + (" (indicative)" if check.kind == "indicative" else ""),
            ]
            for check in self.checks
        ]
        return Table(["check", "measured", "target", "verdict"], rows, "To be reached")

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
        }
        path.write_text(json.dumps(report, indent=1) + "\n")
        say(f"written to {path}")
