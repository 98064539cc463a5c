"""Writes the page on what a reproduction found: ``python docs/making/reproduced.py FOLDER``.

FOLDER is where ``covbandit reproduce`` has written. Everything on the page comes from its ``claims.json`` and figures.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from covbandit.simulation.statistics import Interval

DOCS = Path(__file__).resolve().parents[1]
FIGURES = DOCS / "reproduced"
SWEEPS = ("fi-correlation", "sb-correlation", "fb-correlation-rho0.1", "fi-correlation-rho10", "sb-correlation-rho10")


def page(claims: dict[str, Any]) -> str:
    """Return the page as Markdown."""
    papers = [claim for claim in claims["claims"] if claim["source"] != "ours"]
    ours = [claim for claim in claims["claims"] if claim["source"] == "ours"]
    sweeps = "\n".join(f"![Regret against correlation](reproduced/{name}.png)" for name in (*SWEEPS, "fb-correlation"))
    return f"""# What the reproduction found

Made by `{claims["command"]}` and `python docs/making/reproduced.py covbandit-results`; the rules are explained in
[Read the reproduction report](reproduction-report.md). The report itself, `covbandit-results/report.html`, has more:
every panel by itself, the instances, the confidence radii, the settings.

![The paper's six panels, reproduced](overview.png)

![The same panels at the other risk aversion](reproduced/overview-other-rho.png)

## Statements of the paper

{"".join(map(_section, papers))}
## Statements of our own

Not the paper's, but decided by the same rules.

{"".join(map(_section, ours))}
## How correlation moves regret

{sweeps}
"""


def _section(claim: dict[str, Any]) -> str:
    rows = "".join(_row(case) for case in claim["cases"])
    return f"""### {claim["source"]}: {claim["statement"]}

| condition | measured | 95 % interval | outcome |
|:--|--:|:--|:--|
{rows}
"""


def _row(case: dict[str, Any]) -> str:
    measured = {key: float("nan") if value is None else value for key, value in case["measured"].items()}
    estimate, low, high = Interval(**measured).in_words()
    return f"| {case['condition']} | {estimate} | {low} to {high} | {case['outcome']} |\n"


def main(folder: Path) -> None:
    """Write the page and copy the figures it shows."""
    FIGURES.mkdir(exist_ok=True)
    for name in (*SWEEPS, "fb-correlation", "overview-other-rho"):
        shutil.copyfile(folder / "figures" / f"{name}.png", FIGURES / f"{name}.png")
    shutil.copyfile(folder / "figures" / "overview.png", DOCS / "overview.png")
    claims = json.loads((folder / "claims.json").read_text(encoding="utf-8"))
    (DOCS / "reproduced.md").write_text(page(claims), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
