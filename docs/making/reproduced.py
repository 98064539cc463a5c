"""Writes the page on what a reproduction found: ``python docs/making/reproduced.py FOLDER``.

FOLDER is where ``covbandit reproduce`` has written. Everything on the page comes from its ``claims.json`` and figures.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from covbandit.reproduction import experiments_named
from covbandit.reproduction.experiments import CorrelationSweep, Dimensions
from covbandit.reproduction.panels import Panel
from covbandit.simulation.statistics import Interval

DOCS = Path(__file__).resolve().parents[1]
FIGURES = DOCS / "reproduced"
EVERYTHING = experiments_named()


def page(claims: dict[str, Any]) -> str:
    """Return the page as Markdown."""
    papers = [claim for claim in claims["claims"] if claim["source"] != "ours"]
    ours = [claim for claim in claims["claims"] if claim["source"] == "ours"]
    names = {claim["name"]: claim["statement"] for claim in claims["claims"]}
    figures = [_figures([panel for panel in EVERYTHING.panels if panel.papers == papers]) for papers in (True, False)]
    return f"""# What the reproduction found

Made by `{claims["command"]}` and `python docs/making/reproduced.py covbandit-results`; the rules are explained in
[Read the reproduction report](reproduction-report.md). The report itself, `covbandit-results/report.html`, has more:
every panel by itself, the instances, the confidence radii, the settings.

{_multiplicity(claims["multiplicity"])}

The paper's six panels; “Σ* known” is who is told the covariance, sees every reward and learns the means alone:

{figures[0]}

The same at the other of the paper's two risk aversions:

{figures[1]}

## Statements of the paper

{"".join(_section(claim, names) for claim in papers)}
## Statements of our own

Not the paper's, but decided by the same rules.

{"".join(_section(claim, names) for claim in ours)}
## How correlation moves regret

{_figures(EVERYTHING.sweeps)}

## How the number of options moves regret

{_figures(EVERYTHING.dimensions)}
"""


def _figures(shown: Sequence[Panel | CorrelationSweep | Dimensions]) -> str:
    """Return figures side by side, as many as the screen has room for."""
    images = "\n".join(f"![{one.title.replace('$', '')}](reproduced/{one.name}.png)" for one in shown)
    return f'<div class="figures" markdown>\n\n{images}\n\n</div>'


def _multiplicity(counts: dict[str, Any]) -> str:
    """Say how many comparisons were judged together, and what that changes."""
    fall = counts["decided_by_their_own_intervals"] - counts["decided"]
    return (
        f"{counts['comparisons']} comparisons have chance in them and are judged together ({counts['method']}, "
        f"{100 * counts['level']:g} %): {counts['decided']} of {counts['cases']} cases are decided. By their own 95 % "
        f"intervals {counts['decided_by_their_own_intervals']} would be; the {fall} that fall are marked."
    )


def _section(claim: dict[str, Any], statements: dict[str, str]) -> str:
    shown = [case for case in claim["cases"] if not case["shown_under"]]
    parts = [
        f"### {claim['source']}: {claim['statement']}",
        *(f"{where[0].upper()}{where[1:]}: {verdict}." for where, verdict in claim["verdicts"].items()),
    ]
    if claim["note"]:
        parts.append(claim["note"])
    if shown:
        head = "| condition | rule | measured | 95 % interval | where | outcome |\n|:--|:--|--:|:--|:--|:--|\n"
        parts.append(head + "".join(map(_row, shown)).rstrip())
    others = [case["shown_under"] for case in claim["cases"] if case["shown_under"]]
    if others:
        places = "; ".join(f"{others.count(name)} under “{statements[name]}”" for name in dict.fromkeys(others))
        parts.append(f"Decided {'also ' if shown else ''}by measurements that stand under other statements: {places}.")
    return "\n\n".join(parts) + "\n\n"


def _row(case: dict[str, Any]) -> str:
    measured = {key: float("nan") if value is None else value for key, value in case["measured"].items()}
    estimate, low, high = Interval(**measured).in_words()
    interval = f"{low} to {high}" if case["comparisons"] else "-"
    where = "paper's figure" if case["in_papers_figure"] else "elsewhere"
    added = [case["detail"]] if case["detail"] else []
    if case["comparisons"] and case["outcome_by_its_own_interval"] != case["outcome"]:
        where_by_itself = f", {case['detail_by_its_own_interval']}" if case["detail_by_its_own_interval"] else ""
        added.append(f"by its own interval: {case['outcome_by_its_own_interval']}{where_by_itself}")
    outcome = case["outcome"] + (f" ({'; '.join(added)})" if added else "")
    return f"| {case['condition']} | {case['rule']} | {estimate} | {interval} | {where} | {outcome} |\n"


def main(folder: Path) -> None:
    """Write the page and copy the figures it shows."""
    FIGURES.mkdir(exist_ok=True)
    for one in (*EVERYTHING.panels, *EVERYTHING.sweeps, *EVERYTHING.dimensions):
        shutil.copyfile(folder / "figures" / f"{one.name}.png", FIGURES / f"{one.name}.png")
    shutil.copyfile(folder / "figures" / "overview.png", DOCS / "overview.png")
    claims = json.loads((folder / "claims.json").read_text(encoding="utf-8"))
    (DOCS / "reproduced.md").write_text(page(claims), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
