"""The documentation builds without a warning, into a site that needs no network."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

import covbandit as cb

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

sys.path.insert(0, str(DOCS / "making"))

import docstrings  # noqa: E402
import maths  # noqa: E402
import pictures  # noqa: E402


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    return folder


class _Page(HTMLParser):
    """What a page loads (scripts, styles, images, frames), what it links to, and its anchors."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if "id" in given:
            self.anchors.add(given["id"])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        self.loads += [given[name] for name in ("src", "srcset", "data", "poster") if name in given]
        if tag == "link" and given.get("rel") not in ("next", "prev"):
            self.loads.append(given["href"])


def _pages(site: Path) -> Iterator[tuple[Path, _Page]]:
    # The page for a missing address is only ever sent by a server, and has absolute addresses.
    for path in sorted(site.rglob("*.html")):
        if path.name != "404.html":
            yield path, _Page(path)


def test_every_page_is_in_the_menu() -> None:
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:\n")[1]
    listed = re.findall(r"([\w/-]+\.md)", menu)
    assert sorted(listed) == sorted(str(page.relative_to(DOCS).as_posix()) for page in DOCS.rglob("*.md"))


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    for path, page in _pages(site):
        assert page.loads
        for address in page.loads:
            assert (path.parent / address.split("?")[0]).is_file(), f"{path.name} loads {address}"
    for style in site.rglob("*.css"):
        fetched = re.findall(r"(?:url\(|@import)\s*[\"']?((?:https?:)?//[^\"')]+)", style.read_text(encoding="utf-8"))
        assert not fetched, f"{style.name} loads {fetched}"


def test_links_within_the_site_lead_somewhere(site: Path) -> None:
    pages = dict(_pages(site))
    for path, page in pages.items():
        for link in page.links:
            if re.match(r"https?:", link):
                continue
            address, _, anchor = link.partition("#")
            target = (path.parent / address).resolve() if address else path
            if target.is_dir():
                target /= "index.html"
            assert target.is_file(), f"{path.name}: {link}"
            if anchor:
                assert anchor in pages[target].anchors, f"{path.name}: {link}"


def test_the_reference_has_every_public_name(site: Path) -> None:
    anchors = {anchor for _, page in _pages(site) for anchor in page.anchors}
    assert docstrings.public_names() == set(cb.__all__) - {"__version__"}
    for name in docstrings.public_names():
        where_it_is_defined = f"{getattr(getattr(cb, name), '__module__', 'covbandit')}.{name}"
        assert {f"covbandit.{name}", where_it_is_defined} & anchors, name


def test_search_works_without_a_server(site: Path) -> None:
    assert (site / "search" / "search_index.js").read_text(encoding="utf-8").startswith("var __index = {")
    assert "iframe-worker.js" in (site / "index.html").read_text(encoding="utf-8")


def test_no_formula_is_left_undrawn(site: Path) -> None:
    drawn = 0
    for path, _ in _pages(site):
        text = path.read_text(encoding="utf-8")
        drawn += text.count("<math")
        assert "arithmatex" not in text, path.name
        assert ":math:" not in text, path.name
        assert ".. math::" not in text, path.name
    assert drawn > 50


def test_formulas_become_mathml() -> None:
    upright = '<mi mathvariant="normal">Σ</mi>'
    assert upright in maths.mathml(r"w'Σw", "inline")
    assert "<mtr>" in maths.mathml(r"a &= b \\ c &= d", "block")
    with pytest.raises(ValueError, match="cannot be drawn"):
        maths.mathml(r"\nosuchcommand x", "inline")


def test_overlines_are_as_wide_as_what_is_below() -> None:
    drawn = maths.mathml(r"\overline{\log σ^2} + \bar r", "inline")
    ElementTree.fromstring(drawn)
    assert '<mrow class="overline">' in drawn
    assert "\u2015" not in drawn
    assert "<ns" not in drawn
    short, long = maths.with_mathml(
        r'<span class="arithmatex">\(x\)</span>|<span class="arithmatex">\(' + "+".join("x" * 15) + r"\)</span>"
    ).split("|")
    assert short.startswith("<math")
    assert long.startswith('<span class="long-formula"><math')


_BOXES = """() => ({
  page: document.documentElement.scrollWidth,
  overlines: [...document.querySelectorAll(".overline")].map((line) => {
    const inner = [...line.children].map((part) => part.getBoundingClientRect());
    const outer = line.getBoundingClientRect();
    return {
      left: Math.min(...inner.map((box) => box.left)) - outer.left,
      right: outer.right - Math.max(...inner.map((box) => box.right)),
      above: Math.min(...inner.map((box) => box.top)) - outer.top,
      border: parseFloat(getComputedStyle(line).borderTopWidth),
    };
  }),
  signatures: [...document.querySelectorAll(".doc-signature code")].map((code) => {
    const button = code.parentElement.querySelector("button, .md-code__nav");
    const text = document.createRange();
    text.selectNodeContents(code);
    const right = Math.max(...[...text.getClientRects()].map((box) => box.right));
    return {
      text: code.textContent.slice(0, 60),
      overflow: code.scrollWidth - code.clientWidth,
      room: (button ? button.getBoundingClientRect().left : code.getBoundingClientRect().right) - right,
    };
  }),
})"""


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: apt-get install chromium")
@pytest.mark.parametrize("width", [1280, 390])
def test_formulas_and_signatures_of_the_reference_fit(site: Path, width: int) -> None:
    """In a browser: lines stand directly above their symbols, signatures are whole, pages do not scroll sideways."""
    from playwright.sync_api import sync_playwright

    overlines = signatures = 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": width, "height": 900})
        for path in sorted((site / "reference").glob("*.html")):
            page.goto(path.as_uri())
            found = page.evaluate(_BOXES)
            assert found["page"] <= width, path.name
            for line in found["overlines"]:
                overlines += 1
                assert line["border"] > 0.5
                assert abs(line["left"]) < 2
                assert abs(line["right"]) < 2
                assert 0 < line["above"] < 8
            for signature in found["signatures"]:
                signatures += 1
                assert signature["overflow"] <= 0, f"{path.name}: {signature}"
                assert signature["room"] > 0, f"{path.name}: {signature}"
        browser.close()
    assert overlines >= 2
    assert signatures > 100


def test_docstrings_become_markdown() -> None:
    formula = ".. math::\n    a &= b, \\\\\n    c &= d"
    text = f"Say :math:`w'θ`,\n\n{formula}\n\nas `Problem.gap` does, with ``x``; `y` is given::\n"
    assert docstrings.as_markdown(text) == (
        "Say \\(w'θ\\),\n\n\\[a &= b, \\\\ c &= d\\]\n\n"
        "as [`Problem.gap`][covbandit.Problem.gap] does, with ``x``; `y` is given:\n"
    )
    assert docstrings.as_markdown("seed, hold\n    See `Learner`.\n").count("See [`Learner`][covbandit.Learner]") == 2
    assert docstrings.as_markdown(">>> `Problem`") == ">>> `Problem`"
    table = "====  ====\nfile  what\n====  ====\n`a`   b\n====  ====\n"
    assert docstrings.as_markdown(f"Said first.\n\n{table}\nSaid last.") == "Said first.\n\nSaid last."


def test_every_picture_is_drawn_by_the_script_and_shown() -> None:
    drawn = {f"{name}.svg" for name in pictures.DRAWN}
    assert {path.name for path in (DOCS / "pictures").iterdir()} == drawn | {"favicon.svg"}
    shown = re.findall(
        r"\]\(pictures/([\w-]+\.svg)\)", "".join(p.read_text(encoding="utf-8") for p in DOCS.glob("*.md"))
    )
    assert set(shown) == drawn


@pytest.mark.parametrize("name", ["correlation", "feedback", "risk-path", "trade-off", "utility"])
def test_pictures_are_drawn_anew_as_they_are(name: str) -> None:
    now = pictures.draw(name)
    kept = (DOCS / "pictures" / f"{name}.svg").read_text(encoding="utf-8")
    shapes = [[element.tag for element in ElementTree.fromstring(svg).iter()] for svg in (now, kept)]
    assert shapes[0] == shapes[1]
    for colour in pictures.LIGHT.values():  # each leaves room for the reader's scheme
        assert re.search(rf"(?<!, ){colour}", now) is None
