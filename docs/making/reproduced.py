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
from covbandit.reproduction.experiments import Sweep
from covbandit.reproduction.panels import Panel
from covbandit.simulation.statistics import Interval

DOCS = Path(__file__).resolve().parents[1]
FIGURES = DOCS / "reproduced"
EVERYTHING = experiments_named()


def page(claims: dict[str, Any]) -> str:
    """Return the page as Markdown."""
    papers = [claim for claim in claims["claims"] if claim["source"] != "ours"]
    ours = [claim for claim in claims["claims"] if claim["source"] == "ours"]
    figures = [_figures([panel for panel in EVERYTHING.panels if panel.papers == papers]) for papers in (True, False)]
    return f"""# What the reproduction found

Made by `{claims["command"]}` and `python docs/making/reproduced.py covbandit-results`; the rules are explained in
[Read the reproduction report](reproduction-report.md). The report itself, `covbandit-results/report.html`, has more:
every panel by itself, the instances, the confidence radii, the settings.

The paper's six panels:

{figures[0]}

The same at the other of the paper's two risk aversions:

{figures[1]}

## Statements of the paper

{"".join(map(_section, papers))}
## Statements of our own

Not the paper's, but decided by the same rules.

{"".join(map(_section, ours))}
## How correlation moves regret

{_figures(EVERYTHING.sweeps)}
"""


def _figures(shown: Sequence[Panel | Sweep]) -> str:
    """Return figures side by side, as many as the screen has room for."""
    images = "\n".join(f"![{one.title.replace('$', '')}](reproduced/{one.name}.png)" for one in shown)
    return f'<div class="figures" markdown>\n\n{images}\n\n</div>'


def _section(claim: dict[str, Any]) -> str:
    rows = "".join(_row(case) for case in claim["cases"])
    return f"""### {claim["source"]}: {claim["statement"]}

| condition | rule | measured | 95 % interval | outcome |
|:--|:--|--:|:--|:--|
{rows}
"""


def _row(case: dict[str, Any]) -> str:
    measured = {key: float("nan") if value is None else value for key, value in case["measured"].items()}
    estimate, low, high = Interval(**measured).in_words()
    return f"| {case['condition']} | {case['rule']} | {estimate} | {low} to {high} | {case['outcome']} |\n"


def main(folder: Path) -> None:
    """Write the page and copy the figures it shows."""
    FIGURES.mkdir(exist_ok=True)
    for one in (*EVERYTHING.panels, *EVERYTHING.sweeps):
        shutil.copyfile(folder / "figures" / f"{one.name}.png", FIGURES / f"{one.name}.png")
    shutil.copyfile(folder / "figures" / "overview.png", DOCS / "overview.png")
    claims = json.loads((folder / "claims.json").read_text(encoding="utf-8"))
    (DOCS / "reproduced.md").write_text(page(claims), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
