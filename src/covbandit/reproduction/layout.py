"""Reports as one HTML file and as Markdown."""

from __future__ import annotations

from importlib.resources import files

from jinja2 import Environment, StrictUndefined

from covbandit.reproduction.claims import Claim
from covbandit.reproduction.content import Report
from covbandit.tables import Table

_EQUALS = "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}"
_UNDECIDED = (
    '"Undecided" means that the interval contains the threshold, or that a rate has not settled: more replications or '
    "a longer horizon would decide."
)


def case_table(claim: Claim) -> Table:
    """Return the cases of a claim as a table."""
    rows = [[case.condition, case.rule, str(case.measured), case.word] for case in claim.cases]
    return Table(["condition", "rule", "measured [95 % interval]", "outcome"], rows)


def verdict_table(claims: list[Claim]) -> Table:
    """Return claims and verdicts as a table."""
    rows = [[claim.source, claim.statement, claim.short_verdict] for claim in claims]
    return Table(["where", "statement", "verdict"], rows)


def as_html(report: Report) -> str:
    """Return a report as one self-contained HTML page."""
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["plain"] = lambda text: text.replace("$", "")
    environment.filters["unbroken"] = lambda text: text.replace(" %", "\N{NO-BREAK SPACE}%").replace(" = ", _EQUALS)
    template = files("covbandit.reproduction") / "templates" / "report.html.jinja"
    page = environment.from_string(template.read_text(encoding="utf-8"))
    return page.render(report=report, case_table=case_table, verdict_table=verdict_table, undecided=_UNDECIDED)


def as_markdown(report: Report) -> str:
    """Return a report as Markdown, with links to the figures beside it."""
    parts = [
        "# Continuous Mean-Covariance Bandits, reproduced",
        report.in_short,
        "## Statements of the paper",
        verdict_table(report.papers_claims).to_markdown(),
        _UNDECIDED,
    ]
    parts += [_cases(claim) for claim in report.papers_claims]
    if report.our_claims:
        parts += [
            "## Statements of our own",
            "Not the paper's, but decided by the same rules.",
            verdict_table(report.our_claims).to_markdown(),
        ]
        parts += [_cases(claim) for claim in report.our_claims]
    if report.panels:
        parts.append("## Panels")
    for name, papers in (("overview", True), ("overview-other-rho", False)):
        if any(section.panel.papers == papers for section in report.panels):
            which = "paper's figure" if papers else "same at the other risk aversion"
            parts.append(f"![The {which}](figures/{name}.png)")
    for section in report.panels:
        name = section.panel.name
        parts += [
            f"### {name}: {section.panel.title.replace('$', '')}",
            f"![Regret of each learner](figures/{name}.png)",
            *(f"{table.title}.\n\n{table.to_markdown()}" for table in section.tables),
        ]
    if report.sweeps:
        parts.append("## How correlation moves regret")
    for sweep in report.sweeps:
        parts += [
            f"### {sweep.sweep.name}",
            f"![Regret against correlation](figures/{sweep.sweep.name}.png)",
            f"{sweep.table.title}.\n\n{sweep.table.to_markdown()}",
        ]
    if report.radii:
        parts.append("## How wide the confidence radii are")
        parts += [f"{table.title}.\n\n{table.to_markdown()}" for table in report.radii]
    parts.append("## Instances")
    for instance in report.instances:
        heat = instance.heat_map
        rows = [[name, *line] for name, line in zip(heat.options, heat.covariance, strict=True)]
        parts += [
            instance.instance.explanation,
            instance.table.to_markdown(),
            f"Covariance (largest variance {instance.variance_bound:.4g}):",
            Table(["", *heat.options], rows).to_markdown(),
        ]
    parts += [
        "## To repeat it",
        f"    {report.command}",
        report.settings.to_markdown(),
        report.versions.to_markdown(),
    ]
    return "\n\n".join(parts) + "\n"


def _cases(claim: Claim) -> str:
    return f"**{claim.source}. {claim.statement}**: {claim.verdict}.\n\n{case_table(claim).to_markdown()}"
