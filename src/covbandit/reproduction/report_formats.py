"""Reports as one HTML file and as Markdown."""

from __future__ import annotations

from importlib.resources import files

from jinja2 import Environment, StrictUndefined

from covbandit.core.tables import Table
from covbandit.reproduction.claims.claim import ELSEWHERE, IN_THE_FIGURE, Claim
from covbandit.reproduction.report import Report

_EQUALS = "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}"
_UNDECIDED = (
    "“Undecided” means that the interval contains the threshold, that it would not if it were the only one of the "
    "report but may by chance among so many, or that a rate has not settled: more replications or a longer horizon "
    "would decide."
)
_RISES = (
    "“The more …, the higher” is judged step by step, paired: it holds if regret is higher at the last level than at "
    "the first and no step to the next level, nor a half of the range, can be told to fall; it does not if one falls."
)


RADII = (
    "The radii of the paper's lemmas on the synthetic instance: how often one of them fails, against what the lemma "
    "allows, and how many times the 95 % quantile of the error they are wide. “Not refuted” stands where the samples "
    "are too few to tell so small a share of misses from none. Each row is judged by itself (95 %, one-sided): these "
    "are not among the comparisons that are judged together."
)


def case_table(claim: Claim) -> Table:
    """Return as a table the cases of a claim that are not shown under another one."""
    rows = [
        [case.condition, case.rule, str(case.measured), IN_THE_FIGURE if case.papers else ELSEWHERE, case.outcome]
        for case in claim.shown
    ]
    return Table(["condition", "rule", "measured [95 % interval]", "where", "outcome"], rows)


def verdict_table(claims: list[Claim]) -> Table:
    """Return claims and verdicts as a table: in the paper's figure, and elsewhere."""
    rows = []
    for claim in claims:
        parts = claim.parts
        verdicts = [parts[where].short_verdict if where in parts else None for where in (IN_THE_FIGURE, ELSEWHERE)]
        rows.append([claim.source, claim.statement, *verdicts])
    return Table(["where", "statement", IN_THE_FIGURE, ELSEWHERE], rows)


def as_html(report: Report) -> str:
    """Return a report as one self-contained HTML page."""
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["plain"] = lambda text: text.replace("$", "")
    environment.filters["unbroken"] = lambda text: text.replace(" %", "\N{NO-BREAK SPACE}%").replace(" = ", _EQUALS)
    template = files("covbandit.reproduction") / "templates" / "report.html.jinja"
    page = environment.from_string(template.read_text(encoding="utf-8"))
    return page.render(report=report, undecided=_UNDECIDED, rises=_RISES, radii=RADII)


def as_markdown(report: Report) -> str:
    """Return a report as Markdown, with links to the figures beside it."""
    parts = [
        "# Continuous Mean-Covariance Bandits, reproduced",
        report.in_short,
        "## Statements of the paper",
        verdict_table(report.papers_claims).to_markdown(),
        _UNDECIDED,
        _RISES,
        str(report.multiplicity),
        report.horizons,
    ]
    parts += [_cases(claim, report) for claim in report.papers_claims]
    if report.our_claims:
        parts += [
            "## Statements of our own",
            "Not the paper's, but decided by the same rules.",
            verdict_table(report.our_claims).to_markdown(),
        ]
        parts += [_cases(claim, report) for claim in report.our_claims]
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
            *map(_titled, section.tables),
        ]
    if report.sweeps:
        parts.append("## How correlation moves regret")
    for sweep in report.sweeps:
        parts += _sweep(sweep.sweep.name, "Regret against correlation", sweep.table)
    if report.dimensions:
        parts.append("## How the number of options moves regret")
    for swept in report.dimensions:
        parts += _sweep(swept.dimensions.name, "Regret against the number of options", swept.table)
    if report.radii:
        parts.append("## How wide the confidence radii are")
        parts.append(RADII)
        parts += map(_titled, report.radii)
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


def _sweep(name: str, caption: str, table: Table) -> list[str]:
    return [f"### {name}", f"![{caption}](figures/{name}.png)", _titled(table)]


def _titled(table: Table) -> str:
    return f"{table.title}.\n\n{table.to_markdown()}"


def _cases(claim: Claim, report: Report) -> str:
    verdicts = "; ".join(f"{where}: {part.verdict}" for where, part in claim.parts.items())
    paragraphs = [f"**{claim.source}. {claim.statement}**: {verdicts}."]
    if claim.note:
        paragraphs.append(claim.note)
    if claim.shown:
        paragraphs.append(case_table(claim).to_markdown())
    if claim.shown_elsewhere:
        paragraphs.append(_also(claim, report))
    return "\n\n".join(paragraphs)


def _also(claim: Claim, report: Report) -> str:
    """Say under which statements the measurements stand that decide this one as well."""
    places = [f"{count} shown under “{report.statement_of(name)}”" for name, count in claim.shown_elsewhere.items()]
    return f"Decided {'also ' if claim.shown else ''}by the measurements of other statements: {'; '.join(places)}."
