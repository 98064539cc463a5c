"""Runs a reproduction and writes what came out: report, verdicts, figures and results."""

from __future__ import annotations

import json
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path

from covbandit.core.files import as_folder, replacing
from covbandit.core.size_limits import MOST_ROUNDS, as_limited
from covbandit.core.tables import Table
from covbandit.errors import InvalidInput
from covbandit.reproduction.claims.claim import Claim
from covbandit.reproduction.claims.judge import judge
from covbandit.reproduction.experiments import DIMENSIONS, GAPS, NORMAL, Experiments, Scale, experiments_named
from covbandit.reproduction.figures import (
    Drawing,
    draw_all,
    write_dimensions,
    write_overview,
    write_panel,
    write_sweep,
)
from covbandit.reproduction.report import (
    Report,
    dimension_section,
    horizons_in_words,
    instance_section,
    panel_section,
    radius_tables,
    sweep_section,
)
from covbandit.reproduction.report_formats import as_html, as_markdown
from covbandit.simulation import SimulationResult
from covbandit.simulation.campaign import Task, Watcher, run_tasks
from covbandit.simulation.plan import versions

FORMAT = "covbandit-claims"
VERSION = 2  # 2: verdicts in the paper's figure and elsewhere, comparisons with adjusted p-values


@dataclass(frozen=True)
class Reproduction:
    """What is to be run, and where it goes.

    Attributes
    ----------
    experiments : Experiments
        Which.
    scale : Scale
        How long and how often.
    seed : int
        Same seed, same numbers.
    out : Path
        The folder.
    command : str
        What repeats it, for the report.
    """

    experiments: Experiments
    scale: Scale = NORMAL
    seed: int = 0
    out: Path = Path("covbandit-results")
    command: str = "covbandit reproduce"

    def __post_init__(self) -> None:
        for what, least, got in (
            ("rounds", 20, min(self.scale.horizons.values())),
            ("replications", 2, self.scale.replications),
        ):
            if got < least:
                raise InvalidInput(f"a reproduction needs at least {least} {what} to judge by, got {got}")

    def tasks(self) -> list[Task]:
        """Return all simulations."""
        return self.experiments.tasks(self.scale, self.seed)

    @property
    def results_folder(self) -> Path:
        """Where the results are kept."""
        return self.out / "results"

    def simulate(
        self, workers: int | Executor | None = None, watcher: Watcher | None = None
    ) -> dict[str, SimulationResult]:
        """Run what is missing; return all results by name."""
        return run_tasks(self.tasks(), self.results_folder, workers, watcher)

    def replaces(self) -> str:
        """Return the command whose report in the folder would be replaced by this one's; nothing if it is the same."""
        try:
            before = str(json.loads((self.out / "claims.json").read_text(encoding="utf-8"))["command"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return ""
        return "" if before == self.command else before

    def write(self, results: Mapping[str, SimulationResult], processes: int = 1) -> Report:
        """Write the report, its figures and ``claims.json`` into the folder; figures in so many processes."""
        experiments = self.experiments
        drawn = draw_all(self._drawings(results), processes)
        svgs = dict(zip(experiments.names, drawn, strict=False))  # drawn first, in the order of the names
        report = Report(
            command=self.command,
            settings=self._settings(),
            versions=Table(["software", "version"], [list(item) for item in versions().items()]),
            claims=judge(experiments, results),
            panels=[panel_section(panel, results[panel.name], svgs[panel.name]) for panel in experiments.panels],
            sweeps=[sweep_section(sweep, results, svgs[sweep.name]) for sweep in experiments.sweeps],
            instances=[instance_section(instance) for instance in experiments.instances],
            radii=radius_tables(experiments, self.seed),
            results={
                task.name: {"file": f"results/{task.file(self.results_folder).name}", "replications": task.replications}
                for task in self.tasks()
            },
            dimensions=[dimension_section(one, results, svgs[one.name]) for one in experiments.dimensions],
            horizons=horizons_in_words(self.scale),
        )
        _write(self.out / "claims.json", _claims_as_json(report))
        _write(self.out / "report.md", as_markdown(report))
        _write(self.out / "report.html", as_html(report))
        return report

    def _drawings(self, results: Mapping[str, SimulationResult]) -> list[Drawing]:
        """Return the figures to be drawn: those of panels and sweeps in their order, then several panels in one."""
        folder = as_folder(self.out / "figures")
        drawings: list[Drawing] = [
            (write_panel, (panel, results[panel.name], folder)) for panel in self.experiments.panels
        ]
        for sweep in self.experiments.sweeps:
            points = {name: result for name, result in results.items() if name.startswith(sweep.name)}
            drawings.append((write_sweep, (sweep, points, folder)))
        for one in self.experiments.dimensions:
            points = {name: result for name, result in results.items() if name.startswith(one.name)}
            drawings.append((write_dimensions, (one, points, folder)))
        papers = [panel for panel in self.experiments.panels if panel.papers]
        others = [panel for panel in self.experiments.panels if not panel.papers]
        for panels, name in ((papers, "overview"), (others, "overview-other-rho")):
            if panels:
                drawings.append((write_overview, (panels, {p.name: results[p.name] for p in panels}, folder, name)))
        return drawings

    def _settings(self) -> Table:
        rows = [
            [task.name, task.plan.horizon, task.replications, ", ".join(task.plan.learners)] for task in self.tasks()
        ]
        return Table(["simulation", "rounds", "replications", "learners"], rows, f"Seed {self.seed}")


def _claims_as_json(report: Report) -> str:
    content = {
        "format": FORMAT,
        "version": VERSION,
        "command": report.command,
        "results": report.results,
        "multiplicity": report.multiplicity.to_dict(),
        "claims": [claim.to_dict() for claim in report.claims],
    }
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _write(path: Path, text: str) -> None:
    with replacing(path) as file:
        file.write(text.encode())


def claims_of(out: str | Path) -> list[Claim]:
    """Judge the statements again, from the results files of an earlier reproduction alone.

    Parameters
    ----------
    out : str or Path
        The folder of the reproduction. Its ``claims.json`` says which results belong together; the verdicts in it are
        not read.
    """
    folder = Path(out)
    try:
        content = json.loads((folder / "claims.json").read_text(encoding="utf-8"))
        entries = {
            str(name): (str(entry["file"]), as_limited(entry["replications"], "replications", 1, MOST_ROUNDS))
            for name, entry in content["results"].items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidInput(f"{folder} holds no reproduction: cannot read its claims.json ({error})") from None
    results = {}
    for name, (file, n) in entries.items():
        found = SimulationResult.load(folder / file)
        if n > len(found.replications):
            raise InvalidInput(f"{folder / file} has {len(found.replications)} replications, claims.json says {n}")
        results[name] = found.select(range(n))
    everything = experiments_named()
    judged = replace(
        everything,
        panels=[panel for panel in everything.panels if panel.name in results],
        sweeps=[sweep for sweep in everything.sweeps if sweep.point(0.0) in results],
        hard=[hard for hard in everything.hard if any(name.startswith(f"{hard.name}-") for name in results)],
        dimensions=[one for one in everything.dimensions if one.point("fi", DIMENSIONS[0]) in results],
        no_risk=[one for one in everything.no_risk if one.constant_point(GAPS[0]) in results],
    )
    return judge(judged, results)
