"""Runs a panel and writes what came out: figure, results and a verdict in Markdown."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from covbandit.errors import Interrupted, InvalidInput, StateFileError
from covbandit.reproduction.claims import Verdict
from covbandit.reproduction.panels import Panel
from covbandit.simulation import SimulationResult, simulate
from covbandit.simulation.plan import as_plan
from covbandit.tables import Table


@dataclass(frozen=True)
class Report:
    """What a panel gave, and where it was written."""

    panel: Panel
    result: SimulationResult
    verdicts: list[Verdict]
    files: list[Path]
    our_verdicts: list[Verdict]

    def verdict_table(self) -> Table:
        """Return the verdicts on the paper's statements as a table."""
        return _table("statement of the paper", self.verdicts)

    def our_verdict_table(self) -> Table:
        """Return the verdicts on our own statements as a table."""
        return _table("statement of ours, not the paper's", self.our_verdicts)


def _table(heading: str, verdicts: list[Verdict]) -> Table:
    rows = [[v.statement, str(v.measured), v.word] for v in verdicts]
    return Table([heading, "measured [95 % interval]", "verdict"], rows)


def reproduce(
    panel: Panel,
    out: Path,
    horizon: int | None = None,
    replications: int | None = None,
    seed: int = 0,
    workers: int | Executor | None = None,
    progress: bool | None = None,
) -> Report:
    """Run a panel and write ``<name>.png``, ``.svg``, ``.npz`` and ``.md`` into a folder.

    Interrupted by Ctrl-C, it keeps the finished replications in ``<name>.partial-<settings>.npz``; the same call
    continues from there. Other settings have files of their own.
    """
    horizon = panel.horizon if horizon is None else horizon
    replications = panel.replications if replications is None else replications
    if horizon < 20 or replications < 2:
        raise InvalidInput(
            f"a reproduction needs at least 20 rounds and 2 replications to judge by, got {horizon} and {replications}"
        )
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(f"cannot write to {out}: {error.strerror or error}") from None
    problem = panel.problem()
    learners = panel.learners(problem)
    partial = out / f"{panel.name}.partial-{as_plan(problem, learners, horizon, seed).fingerprint()}.npz"
    earlier = _load(partial)
    try:
        result = simulate(problem, learners, horizon, replications, seed, workers, progress=progress, resume=earlier)
    except Interrupted as stopped:
        if isinstance(stopped.partial, SimulationResult):
            stopped.partial.save(partial)
            done = len(stopped.partial.replications)
            raise Interrupted(
                f"interrupted: {done} of {replications} replications are kept in {partial}; "
                "the same command continues from there",
                stopped.partial,
            ) from None
        raise Interrupted("interrupted before the first replication was finished; nothing to keep") from None
    if earlier is None or np.isin(earlier.replications, result.replications).all():
        partial.unlink(missing_ok=True)
    files = [out / f"{panel.name}{suffix}" for suffix in (".png", ".svg", ".npz", ".md")]
    _draw(panel, result, files[:2])
    result.save(files[2])
    verdicts, ours = ([claim(result) for claim in claims] for claims in (panel.claims, panel.our_claims))
    report = Report(panel, result, verdicts, files, ours)
    files[3].write_text(_markdown(report), encoding="utf-8")
    return report


def _load(partial: Path) -> SimulationResult | None:
    try:
        return SimulationResult.load(partial) if partial.exists() else None
    except StateFileError:  # damaged: there is nothing in it to continue from
        return None


def _draw(panel: Panel, result: SimulationResult, paths: list[Path]) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from covbandit.simulation.plotting import save_figure

    figure = Figure(figsize=(6.4, 4.6), layout="constrained")
    FigureCanvasAgg(figure)
    ax = result.plot(figure.add_subplot())
    ax.set_title(f"{panel.title}, {len(result.replications)} replications, 95 % bands", fontsize="medium")
    save_figure(figure, paths)


def _markdown(report: Report) -> str:
    result, panel = report.result, report.panel
    spec = result.specification
    command = (
        f"covbandit reproduce {panel.name} --horizon {result.horizon} --replications {len(result.replications)} "
        f"--seed {spec['seed']}"
    )
    versions = ", ".join(f"{name} {version}" for name, version in result.versions.items())
    return f"""# {panel.name}: {panel.title.replace("$", "")}

![Regret of each learner]({panel.name}.png)

{result.summary().title}.

{result.summary().to_markdown()}

## Statements of the paper

{_judged(report.verdict_table(), report.verdicts)}{_own_statements(report)}
"Undecided" means that the interval contains the threshold: more replications or a longer horizon would decide.

## Growth

{result.slopes().title}, estimate and 95 % interval.

{result.slopes().to_markdown()}

## To repeat it

    {command}

Versions: {versions}.
"""


def _judged(table: Table, verdicts: list[Verdict]) -> str:
    rules = "\n".join(f"{k}. {v.statement}: {v.rule}." for k, v in enumerate(verdicts, 1))
    return f"{table.to_markdown()}\n\nHow each is decided:\n\n{rules}\n"


def _own_statements(report: Report) -> str:
    if not report.our_verdicts:
        return ""
    judged = _judged(report.our_verdict_table(), report.our_verdicts)
    return f"\n## Statements of our own\n\nNot the paper's, but decided by the same rules.\n\n{judged}"
