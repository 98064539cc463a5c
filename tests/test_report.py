"""The report as its readers see it: in a real browser, wide and narrow, light and dark, with no network."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, sync_playwright

import covbandit as cb
from covbandit.reproduction import Reproduction
from covbandit.reproduction.figures import draw_sweep, figure_of

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: apt-get install chromium")


@pytest.fixture(scope="module")
def out(reproduced: tuple[Reproduction, object]) -> Path:
    return reproduced[0].out


def test_every_logarithmic_axis_has_numbers_on_it(
    reproduced: tuple[Reproduction, dict[str, cb.SimulationResult]],
) -> None:
    """Also where all values lie between two powers of ten."""
    reproduction, results = reproduced
    for sweep in reproduction.experiments.sweeps:
        with figure_of(4.3, 4.1) as (figure, (ax,)):
            draw_sweep(sweep, results, ax)
            figure.draw_without_rendering()
            low, high = ax.get_ylim()
            labels = [text.get_text() for text in ax.get_yticklabels() if low <= text.get_position()[1] <= high]
        assert len([label for label in labels if label]) >= 2, sweep.name


def test_html_is_one_file_that_needs_nothing_else(out: Path) -> None:
    page = (out / "report.html").read_text(encoding="utf-8")
    targets = re.findall(r"""(?:src|href)=["']([^"']*)["']|url\(([^)]*)\)|@import ([^;]*);""", page)
    found = {part for parts in targets for part in parts if part}
    assert all(target.startswith(("#", "data:")) for target in found), found
    assert page.count("<svg") >= 24  # every panel in the grid and on its page, and the sweeps
    assert "#1f2328" in page  # as the value of a variable; figures name the variable
    assert "fill: #1f2328" not in page


def test_html_names_what_a_reviewer_asks_for(out: Path) -> None:
    page = (out / "report.html").read_text(encoding="utf-8")
    for text in (
        "covbandit reproduce --seed 2021",
        "numba",
        "Seed 2021",
        "Theorem 4",
        "Remark 5",
        "MC-UCB-Γ",
        "269.8",
        "XLE",
    ):
        assert text in page, text


def test_markdown_says_the_same(out: Path) -> None:
    text = (out / "report.md").read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)]+)\)", text):
        assert (out / target).exists(), target
    for heading in ("Statements of the paper", "Panels", "How correlation moves regret", "Instances", "To repeat it"):
        assert f"## {heading}" in text
    assert text.count("### ") == 12 + 6 + 2


def test_both_say_what_stands_in_the_papers_figure_and_what_judging_together_changes(out: Path) -> None:
    page = (out / "report.html").read_text(encoding="utf-8")
    text = (out / "report.md").read_text(encoding="utf-8")
    claims = json.loads((out / "claims.json").read_text(encoding="utf-8"))
    assert "| where | statement | in the paper's figure | elsewhere |" in text
    assert re.search(r'<span class="where">in the paper&#39;s figure:</span>', page)
    counts = claims["multiplicity"]
    fall = counts["decided_by_their_own_intervals"] - counts["decided"]
    assert fall > 0
    assert f"it would be {counts['decided_by_their_own_intervals']}, so {fall} fall" in text
    for shown in (text, page.replace("\N{NO-BREAK SPACE}", " ")):
        assert f"{counts['comparisons']:,} comparisons have chance in them" in shown
        assert "by its own interval: " in shown
        assert "consistent with it" in shown
        # beside what the learners pay on Theorem 2's instances
        assert re.search(r"mean regret is: equal weights [\d.]+, ShrunkEmpirical \(ours\) [\d.]+, MC-Empirical", shown)
        assert "not refuted" in shown
        assert "(not in the paper" not in shown
        assert '"Undecided"' not in shown
        assert "--full plays 1,000,000 rounds" in shown
        assert not re.search(r"\d\.\d ± \d+\.\d{3}\b", shown)  # such as 34.9 ± 5.309
    for claim in claims["claims"]:
        assert set(claim["verdicts"]) <= {"in the paper's figure", "elsewhere"}
        for case in claim["cases"]:
            assert {"condition", "rule", "measured", "holds", "outcome", "comparisons", "in_papers_figure"} <= set(case)
    assert claims["version"] == 2


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def _open(browser: Any, out: Path, width: int, scheme: str = "light") -> tuple[Page, list[str], list[str]]:
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    trouble: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: trouble.append(message.text))
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto((out / "report.html").as_uri())
    return page, trouble, requests


@needs_chromium
@pytest.mark.parametrize("width", [1280, 390])
def test_it_opens_quietly_and_is_legible(browser: Any, out: Path, width: int) -> None:
    page, trouble, requests = _open(browser, out, width)
    assert trouble == []
    assert requests == [(out / "report.html").as_uri()]
    assert page.evaluate("document.documentElement.scrollWidth") <= width  # wide tables scroll by themselves
    scales = page.evaluate(
        "[...document.querySelectorAll('figure svg')]"
        ".map(svg => svg.getBoundingClientRect().width / svg.viewBox.baseVal.width)"
    )
    assert len(scales) >= 24
    assert 8.33 * min(scales) >= 9  # the smallest letters, Matplotlib's "small" of 10 points, in pixels
    across = page.evaluate(
        "new Set([...document.querySelectorAll('.grid')[0].children]"
        ".map(figure => Math.round(figure.getBoundingClientRect().x))).size"
    )
    assert across == (3 if width == 1280 else 1)
    page.locator("summary").first.click()
    assert page.locator("details[open] table").first.is_visible()
    page.close()


@needs_chromium
def test_on_a_phone_intervals_and_outcomes_are_in_sight(browser: Any, out: Path) -> None:
    """Without scrolling sideways, in the tables of cases and in all others."""
    page, _, _ = _open(browser, out, 390)
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
    for cells in (".cases .interval", ".cases .outcome", ".cases .measured", ".stack td"):
        right = page.evaluate(
            "cells => [...document.querySelectorAll(cells)].map(one => one.getBoundingClientRect())"
            ".filter(box => box.width > 0).map(box => box.right)",
            cells,
        )
        assert len(right) > 100
        assert max(right) <= 390, cells
    wide = page.evaluate(
        "[...document.querySelectorAll('.scroll')].filter(one => !one.querySelector('.heat'))"
        ".filter(one => one.scrollWidth > one.clientWidth + 1).length"
    )
    assert wide == 0
    page.close()


@needs_chromium
def test_light_and_dark(browser: Any, out: Path) -> None:
    seen = {}
    for scheme in ("light", "dark"):
        page, _, _ = _open(browser, out, 1280, scheme)
        seen[scheme] = page.evaluate(
            "[getComputedStyle(document.body).backgroundColor,"
            " getComputedStyle(document.querySelector('figure svg text, figure svg g[id^=text] g')).fill]"
        )
        if scheme == "light":
            page.locator("button").click()
            assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 26)"
        page.close()
    assert seen["light"] == ["rgb(255, 255, 255)", "rgb(31, 35, 40)"]
    assert seen["dark"] == ["rgb(20, 23, 26)", "rgb(230, 233, 236)"]
