"""What README, pages, docstrings and the dashboard say of the default learners, and the figures that they give."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import covbandit as cb

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "covbandit"
DEFAULTS = {"ShrunkEmpirical": "all", "PairUCB": "chosen", "GradientTS": "total"}
BREAK_EVEN = "2(d − 1)²κ/G²"
HEADS = {"shown to be better", "shown not to be better"}


def _page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def _tables(text: str) -> list[list[dict[str, str]]]:
    """Return the tables of a page: of each row its cells by the names of the columns."""
    found = []
    for block in re.findall(r"(?:^\|.*\|\n)+", text, flags=re.MULTILINE):
        heads, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines()]
        found.append([dict(zip(heads, row, strict=True)) for row in rows])
    return found


def _table(name: str, *heads: str) -> list[dict[str, str]]:
    """Return the first table of a page that has these columns."""
    return next(rows for rows in _tables(_page(name)) if rows and set(heads) <= set(rows[0]))


def _number(text: str) -> float:
    """Return a number as pages write it: 31,000, .0190, 4.7 billion."""
    digits, _, word = text.partition(" ")
    return float(digits.replace(",", "")) * {"million": 1e6, "billion": 1e9}.get(word, 1.0)


# Words ----------------------------------------------------------------------------------------------------------------


def test_no_learner_is_called_recommended() -> None:
    """They are defaults: that some won on some instances is no advice for others."""
    shown = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").glob("*.py")]
    shown += [path for path in PACKAGE.rglob("*") if path.suffix in (".py", ".js", ".html")]
    assert len(shown) > 150
    named = [str(path.relative_to(ROOT)) for path in shown if "recommend" in path.read_text(encoding="utf-8").lower()]
    assert named == []


@pytest.mark.parametrize("name", DEFAULTS)
def test_each_default_says_where_it_was_shown_to_be_better_and_where_not(name: str) -> None:
    assert type(cb.allocator(["a", "b"], DEFAULTS[name], risk_aversion=1.0).learner).__name__ == name
    for page in ("README.md", "docs/concepts.md"):
        rows = [row for row in _table(page, *HEADS) if f"`{name}`" in row["default"]]
        assert len(rows) == 1, page
        assert all(len(rows[0][head]) > 40 for head in HEADS), page
        assert "equal weights" in rows[0]["shown not to be better"], page
    said = re.sub(r"\s+", " ", str(inspect.getdoc(getattr(cb, name))))
    assert "It is the default because it pays" in said
    assert re.search(r"(E|e)qual weights", said.partition("It is the default because")[2][:700])


def test_the_break_even_for_totals_stands_where_the_default_is_praised() -> None:
    for page in ("README.md", "docs/concepts.md", "docs/full-bandit-rate.md", "docs/treatment-mix.md"):
        assert BREAK_EVEN in _page(page), page
    assert r"T = \frac{2 (d-1)^2 κ}{G^2}" in _page("docs/gradient-ts.md")
    assert "T = 2(d-1)^2 κ / G^2" in str(cb.GradientTS.__doc__)


# Figures --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def regret(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("full_bandit_regret")


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("full_bandit_instances").COMPARED


def test_predictions_of_the_page_are_those_of_the_formula(regret: Any, compared: Any) -> None:
    rows = _table("docs/gradient-ts.md", "predicted", "equal weights", "worst")
    ratios = {}
    for row, instance in zip(rows, compared, strict=True):
        assert row["instance"].startswith(instance.name), row
        predicted = regret.predicted(instance, 10**6)
        assert _number(row["predicted"].removesuffix(" (face)")) == pytest.approx(predicted, abs=1), row
        assert row["predicted"].endswith("(face)") != instance.interior, row
        lost = instance.problem.gap(np.full(instance.problem.n_options, 1 / instance.problem.n_options)) * 1e6
        assert _number(row["equal weights"]) == pytest.approx(lost, abs=1), row
        if instance.interior:
            ratios[str(instance)] = _number(row["GradientTS, mean"]) / predicted
    low, high = min(ratios.values()), max(ratios.values())
    assert f"the means are {low:.1f} to {high:.1f} times".replace(" 0.", " .") in _page("docs/full-bandit-rate.md")


def test_equal_weights_are_cheaper_on_as_many_instances_as_is_said() -> None:
    rows = _table("docs/gradient-ts.md", "predicted", "equal weights", "worst")
    cheaper = [row for row in rows if _number(row["equal weights"]) < _number(row["GradientTS, mean"])]
    than_both = [row for row in rows if _number(row["equal weights"]) < _number(row["MC-ETE, mean"])]
    assert (len(rows), len(cheaper), len(than_both)) == (9, 4, 6)
    readme = _page("README.md")
    assert "equal weights are cheaper on four of these nine" in readme
    for row in cheaper:
        assert f"{row['equal weights']} against {row['GradientTS, mean']}" in readme, row
    page = _page("docs/gradient-ts.md")
    assert "cheaper than GradientTS on four of the nine" in page
    assert "cheaper than MC-ETE on six" in page


def test_break_even_of_the_page_is_that_of_the_formula(regret: Any, compared: Any) -> None:
    rows = _table("docs/gradient-ts.md", "G", "κ", "break-even T")
    for row, instance in zip(rows, compared, strict=True):
        problem, best = instance.problem, instance.problem.optimum().weights
        d = problem.n_options
        lost = problem.gap(np.full(d, 1 / d))
        kappa = regret.noise_of_utility(instance, best)
        directions = int((best > 1e-9).sum()) - 1
        assert _number(row["G"]) == pytest.approx(lost, rel=0.03), row
        assert _number(row["κ"]) == pytest.approx(kappa, rel=0.01), row
        assert _number(row["break-even T"]) == pytest.approx(2 * directions**2 * kappa / lost**2, rel=0.03), row
    synthetic = cb.problems.synthetic(0.1)
    best = synthetic.optimum().weights
    risk = float(best @ synthetic.covariance @ best)
    said = f"d = 5, s² = {risk:.3f}, so κ = {risk + 2 * 0.1**2 * risk**2:.3f}; equal weights lose G = .0190"
    assert said.replace(" 0.", " .") in _page("docs/gradient-ts.md")
    readme = re.sub(r"\s+", " ", _page("README.md"))
    assert "κ = .353, G = .0190) that is 31,000 rounds" in readme
    assert "4.7 billion" in readme
    assert (rows[1]["κ"], rows[1]["G"], rows[1]["break-even T"], rows[0]["break-even T"]) == (
        ".353",
        ".0190",
        "31,000",
        "4.7 billion",
    )


def test_the_lower_bound_of_the_rate_note_on_the_synthetic_instance() -> None:
    problem = cb.problems.synthetic(0.1)
    calmest = cb.maximize_utility(np.zeros(5), problem.covariance, 1.0).weights
    least = float(np.sqrt(calmest @ problem.covariance @ calmest))
    root = float(max(np.roots([2, 2 * np.sqrt(2) * np.pi, -1]).real))
    note = re.sub(r"\s+", " ", _page("docs/full-bandit-rate.md"))
    assert "2z² + 2√2 π z = 1, z/2 = .0549" in note
    assert f"{root / 2:.4f}" == "0.0549"
    assert (
        f"where σ = {least:.1g}, it says {root / 2 * 4 * least * 1_000:.0f} at T = 1,000,000".replace("0.4", ".4")
        in note
    )
