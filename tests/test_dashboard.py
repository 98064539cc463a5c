"""The dashboard as its users meet it: a real service, a real store, a real browser."""

from __future__ import annotations

import posixpath
import re
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import numpy as np
import pytest
import uvicorn
from playwright.sync_api import Browser, Locator, Page, Route, expect, sync_playwright

from covbandit.core.number_hints import readings
from covbandit.service.server.app import create_app
from covbandit.service.server.process import listen
from covbandit.studies import Store, Study, list_studies
from covbandit.studies.tokens import create_token

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync", "--no-first-run"]
EVIL = "<img src=x onerror=alert(1)>"
EVIL_TOO = '"><svg onload=alert(2)>'
REFUSAL = "Failed to load resource"  # how Chromium logs an answer of status 401, 403 or 409

expect.set_options(timeout=30_000)  # a busy machine is slow, not wrong

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: apt-get install chromium")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "studies.db", create=True) as opened:
        yield opened


@contextmanager
def serving(store: Store) -> Iterator[str]:
    """Serve a store on a free port of this machine."""
    listening = listen("127.0.0.1", 0)
    config = uvicorn.Config(create_app(store, remember_tokens=0.0), log_config=None, ws="none", server_header=False)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


@pytest.fixture
def url(store: Store) -> Iterator[str]:
    with serving(store) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


class Visit:
    """A page of the dashboard, and whatever went wrong on it."""

    def __init__(self, browser: Browser, url: str, width: int = 1280, scheme: Any = "light") -> None:
        self.context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce", locale="en-GB"
        )
        self.page: Page = self.context.new_page()
        self.url = url
        self.console: list[str] = []
        self.faults: list[str] = []
        self.page.on("console", lambda message: self.console.append(message.text))
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("request", lambda request: self._seen(request.url))
        self.page.on("dialog", lambda dialog: (self.faults.append(f"alert: {dialog.message}"), dialog.dismiss()))

    def _seen(self, address: str) -> None:
        if not address.startswith((f"{self.url}/", f"blob:{self.url}/")):
            self.faults.append(f"request: {address}")

    def __enter__(self) -> Visit:
        self.page.goto(f"{self.url}/")
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.context.close()
        if kind is None:
            assert self.faults == []

    def study(self, name: str) -> None:
        """Go to a study and wait until its figures are there."""
        self.page.goto(f"{self.url}/#/study/{quote(name, safe='')}")
        expect(self.page.locator("h1.study-name")).to_have_text(name)  # no longer the study that was shown before
        expect(self.page.locator("table.weights")).to_be_visible()

    def card(self, title: str) -> Locator:
        heading = self.page.get_by_role("heading", name=title, exact=True, level=2)
        return self.page.locator("section.card").filter(has=heading)

    def figure(self, name: str) -> Locator:
        return self.page.locator(".figure").filter(has_text=name).locator("dd:not(.more)")

    def small_print(self, name: str) -> Locator:
        return self.page.locator(".figure").filter(has_text=name).locator("dd.more")

    def drawn(self, title: str) -> str:
        """What a chart shows, once it is there."""
        expect(self.card(title).locator(".chart svg")).to_be_visible()
        return self.card(title).locator(".chart svg").inner_html()

    def show_all_tables(self) -> None:
        """Press every button "Show as table", once every chart has drawn and so has its button."""
        expect(self.page.get_by_text("Loading…", exact=True)).to_have_count(0)
        hidden = self.page.get_by_role("button", name="Show as table")
        for _ in range(hidden.count()):
            hidden.first.click()  # which then has another name
        assert hidden.count() == 0

    def widest(self) -> int:
        return int(self.page.evaluate("document.documentElement.scrollWidth"))


def funds(store: Store, rounds: int = 3, name: str = "funds") -> Study:
    learner = {"class": "MCEmpirical", "risk_aversion": 2.0}
    study = Study.create(name, ["SPY", "TLT", "GLD"], learner, "per_unit", store=store)
    rewards = np.random.default_rng(7).normal(size=(rounds, 3))
    for row in rewards.round(3).tolist():
        study.tell(study.ask().id, dict(zip(study.options, row, strict=True)))
    return study


def mischief(store: Store) -> Study:
    """A study of twenty options whose names are markup."""
    options = [EVIL, EVIL_TOO, *(f"option number {k}" for k in range(3, 21))]
    learner = {"feedback": "all", "risk_aversion": 1.0}
    study = Study.create(EVIL, options, learner, "per_unit", store=store)
    for row in np.random.default_rng(5).normal(size=(6, 20)).round(3).tolist():
        study.tell(study.ask(client=EVIL, key=None).id, dict(zip(options, row, strict=True)))
    study.ask(client=EVIL)
    return study


# The files -----------------------------------------------------------------------------------------------------------


def test_nothing_is_inline_and_nothing_comes_from_elsewhere() -> None:
    folder = Path(str(files("covbandit.service") / "dashboard"))
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    vendored = {"echarts.common.min.js", "echarts.LICENSE.txt", "echarts.LICENSE-d3.txt", "echarts.NOTICE.txt"}
    assert {name for name in names if name.startswith("vendor/")} == {f"vendor/{name}" for name in vendored}
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert re.findall(r"\sstyle=|\son\w+=|<style|<script(?![^>]*\ssrc=)", page) == []
    for name in sorted(names):
        if name.endswith((".html", ".css", ".js")) and not name.startswith("vendor/"):
            text = (folder / name).read_text(encoding="utf-8")
            assert re.findall(r"https?://|\beval\(|innerHTML|outerHTML|insertAdjacentHTML|document\.write", text) == []
    loaded = set(re.findall(r'(?:src|href)="dashboard/([^"]+)"', page))
    imported = {
        posixpath.normpath(posixpath.join(posixpath.dirname(name), target))
        for name in names
        if name.endswith(".js")
        for target in re.findall(r'from "(\.[^"]+)"', (folder / name).read_text(encoding="utf-8"))
    }
    assert loaded | imported <= names
    scripts = {name for name in names if name.endswith(".js")}
    assert scripts <= loaded | imported  # no file is left over


def test_the_page_has_one_address(url: str) -> None:
    assert httpx.get(f"{url}/", timeout=60).status_code == 200
    for copy in ("/dashboard", "/dashboard/", "/dashboard/index.html"):  # from there it would not find its files
        assert httpx.get(f"{url}{copy}", timeout=60).status_code == 404


def test_what_is_for_developers_is_not_served(url: str) -> None:
    folder = Path(str(files("covbandit.service") / "dashboard"))
    for name in ("README.md", "lib/types.d.ts"):
        assert (folder / name).is_file()
        assert httpx.get(f"{url}/dashboard/{name}", timeout=60).status_code == 404
    assert httpx.get(f"{url}/dashboard/lib/api.js", timeout=60).headers["content-type"].startswith("text/javascript")


def test_types_name_the_fields_of_the_answers(url: str) -> None:
    """The types that the JavaScript is checked with follow the service's own models."""
    schemas = httpx.get(f"{url}/api/v1/openapi.json", timeout=60).json()["components"]["schemas"]
    types = (Path(str(files("covbandit.service") / "dashboard")) / "lib" / "types.d.ts").read_text(encoding="utf-8")
    compared = set()
    for name, body in re.findall(r"^export interface (\w+)[^{]*\{\n(.*?)^\}", types, flags=re.MULTILINE | re.DOTALL):
        model = schemas.get(f"{name}Answer") or schemas.get(name)
        if model is not None:
            fields = set(re.findall(r"^  (\w+)\??:", body, flags=re.MULTILINE))
            known = set(model["properties"])
            assert fields <= known if name.endswith("Body") else fields == known, name
            compared.add(name)
    answers = (
        "Version RiskAversionCheck Summary Round Rounds Explanation OptionColumns Estimates Frontier FrontierPoint "
    )
    answers += "MarkedPoint History Change Verification"
    bodies = "CreateBody AskBody TellBody TellOutsideBody ChangeBody"
    assert compared == {*answers.split(), *bodies.split()}


# A study from its creation on ----------------------------------------------------------------------------------------


@needs_chromium
def test_create_ask_tell_and_see_the_charts_change(browser: Browser, store: Store, url: str) -> None:
    with Visit(browser, url) as visit:
        page = visit.page
        expect(page.get_by_role("heading", name="No studies yet")).to_be_visible()
        page.get_by_role("link", name="Create a study").click()
        page.get_by_label("Name", exact=True).fill("funds")
        page.get_by_label("Options", exact=True).fill("SPY\nTLT\n\nGLD\n")
        expect(page.get_by_text("3 options, one per line.")).to_be_visible()
        page.get_by_label("Risk aversion").fill("2")
        page.get_by_role("button", name="Create study").click()

        expect(page.get_by_role("heading", name="funds", level=1)).to_be_visible()
        expect(page.locator(".headline")).to_contain_text("Nothing told yet")
        expect(visit.card("Weights over time")).to_contain_text("Ask for weights, then tell what happened.")
        seen = set()
        for k, outcome in enumerate([("0.5", "-0.25", "0.125"), ("-0.5", "0.75", "0.25"), ("1", "0.5", "-0.5")], 1):
            page.get_by_label("Client").fill("desk-1")
            page.get_by_role("button", name="Ask for weights").click()
            expect(page.get_by_role("heading", name=f"Round {k}: play these weights")).to_be_visible()
            page.get_by_role("button", name="Tell what happened").click()
            for name, value in zip(("SPY", "TLT", "GLD"), outcome, strict=True):
                page.get_by_label(f"Outcome: {name}").fill(value)
            page.get_by_role("button", name="Tell", exact=True).click()
            expect(visit.figure("Rounds told")).to_have_text(str(k))
            expect(page.locator(".headline")).to_contain_text(f"After {k} told round")
            seen.add((visit.drawn("Weights over time"), visit.drawn("Estimated means")))
        assert len(seen) == 3  # each told round changed what is drawn
        assert visit.drawn("Efficient frontier")
        expect(visit.card("Correlations").locator("table.heat")).to_be_visible()
        expect(visit.card("Cumulative reward")).to_contain_text("Equal weights")

        table = visit.card("Estimated means")
        table.get_by_role("button", name="Show as table").click()
        expect(table.get_by_role("row", name=re.compile("^SPY"))).to_contain_text("0.3333")
        visit.card("Rounds").get_by_role("button", name="Round 3, details").click()
        expect(page.get_by_role("region", name="Round 3")).to_contain_text("−0.5")

        visit.card("Rounds").get_by_role("button", name="Amend round 3").click()
        expect(page.get_by_label("Outcome: TLT")).to_have_value("0.5")
        page.get_by_label("Outcome: TLT").fill("0.25")
        page.get_by_role("button", name="Amend", exact=True).click()
        expect(visit.card("Rounds").locator(".badge.amended")).to_have_count(1)
        assert visit.console == []
    study = Study.open("funds", store=store)
    assert study.round(3).outcome == {"SPY": 1.0, "TLT": 0.25, "GLD": -0.5}
    assert study.round(1).client == "desk-1"
    study.close()


@needs_chromium
def test_what_others_do_appears_by_itself_and_no_input_is_lost(browser: Browser, store: Store, url: str) -> None:
    study = funds(store)
    waiting = study.ask(client="cron")
    with Visit(browser, url) as visit:
        visit.study("funds")
        page = visit.page
        expect(page.locator("#live")).to_have_text("Live")
        page.get_by_label("Key").fill("2026-W46")
        page.get_by_role("button", name=f"Tell round {waiting.id}").first.click()
        page.get_by_label("Outcome: SPY").fill("0.75")
        study.tell_outside({"SPY": 1.0}, {"SPY": 0.1, "TLT": 0.2, "GLD": 0.3})
        expect(visit.figure("Rounds told")).to_have_text("4")
        expect(page.get_by_label("Outcome: SPY")).to_have_value("0.75")

        # Told meanwhile by somebody else, and differently: refused with the way out, and nothing typed is lost.
        study.tell(waiting.id, {"SPY": 0.0, "TLT": 0.0, "GLD": 0.0})
        page.get_by_label("Outcome: TLT").fill("1")
        page.get_by_label("Outcome: GLD").fill("2")
        page.get_by_role("button", name="Tell", exact=True).click()
        expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("amend")
        expect(page.get_by_label("Outcome: SPY")).to_have_value("0.75")
        page.keyboard.press("Escape")
        expect(visit.figure("Rounds told")).to_have_text("5")
        expect(page.get_by_label("Key")).to_have_value("2026-W46")
        assert [text for text in visit.console if not text.startswith(REFUSAL)] == []
        visit.context.set_offline(True)
        expect(page.locator("#live")).to_have_text("Offline")
        visit.context.set_offline(False)
        expect(page.locator("#live")).to_have_text("Live")
    study.close()


@needs_chromium
@pytest.mark.parametrize("goes_on", [False, True], ids=["restored", "restored and gone on"])
def test_a_restored_store_is_shown_as_it_is(browser: Browser, store: Store, url: str, goes_on: bool) -> None:
    """The page follows revisions; restored from a copy, the same revisions mean other rounds."""
    study = funds(store, rounds=2)
    with closing(sqlite3.connect(":memory:")) as copy:
        with closing(sqlite3.connect(store._file)) as live:
            live.backup(copy)
        for k in range(3):
            study.tell(study.ask(client="before").id, {"SPY": 0.125, "TLT": 0.25, "GLD": 0.5 + k})
        with Visit(browser, url) as visit:
            visit.study("funds")
            rows = visit.card("Rounds").locator("tbody tr")
            expect(visit.figure("Rounds told")).to_have_text("5")
            expect(rows.filter(has_text="before")).to_have_count(3)
            visit.context.set_offline(True)  # so that the page does not see the revision go back
            expect(visit.page.locator("#live")).to_have_text("Offline")
            with closing(sqlite3.connect(store._file)) as live:
                copy.backup(live)
            if goes_on:
                for k in range(5):
                    study.tell(study.ask(client="after").id, {"SPY": 0.125, "TLT": 0.25, "GLD": 0.5 + k})
            visit.context.set_offline(False)
            expect(visit.page.locator("#live")).to_have_text("Live")
            expect(rows.filter(has_text="before")).to_have_count(0)
            expect(rows.filter(has_text="after")).to_have_count(5 if goes_on else 0)
            expect(rows).to_have_count(7 if goes_on else 2)
            expect(visit.figure("Rounds told")).to_have_text("7" if goes_on else "2")
    study.close()


@needs_chromium
def test_only_what_was_seen_is_asked_for(browser: Browser, store: Store, url: str) -> None:
    learner = {"feedback": "chosen", "risk_aversion": 0.4, "min_weight": 0.2}
    chosen = Study.create("chosen", ["a", "b", "c"], learner, "amount", store=store)
    total = Study.create("total", ["a", "b", "c"], {"feedback": "total", "risk_aversion": 0.4}, "per_unit", store=store)
    with Visit(browser, url) as visit:
        page = visit.page
        visit.study("chosen")
        page.get_by_role("button", name="Ask for weights").click()
        page.get_by_role("button", name="Tell what happened").click()
        page.get_by_label("Other weights were played than asked").check()
        for name, weight in (("a", "0.25"), ("b", "0.5"), ("c", "0")):
            page.get_by_label(f"Weight played: {name}").fill(weight)
        expect(page.get_by_text("They sum to 0.75; it must be 1.")).to_be_visible()
        page.get_by_label("Weight played: b").fill("0.75")
        expect(page.get_by_label("Outcome: c")).to_be_hidden()
        page.get_by_label("Outcome: a").fill("0.5")
        page.get_by_label("Outcome: b").fill("0.75")
        page.get_by_role("button", name="Tell", exact=True).click()
        expect(visit.figure("Rounds told")).to_have_text("1")
        expect(visit.card("Cumulative reward")).to_contain_text("No comparison with equal weights")
        visit.study("total")
        page.get_by_role("button", name="Ask for weights").click()
        page.get_by_role("button", name="Tell what happened").click()
        page.get_by_label("Outcome: total").fill("0.125")
        page.get_by_role("button", name="Tell", exact=True).click()
        expect(visit.figure("Rounds told")).to_have_text("1")
        assert visit.console == []
    assert chosen.round(1).played == {"a": 0.25, "b": 0.75, "c": 0.0}
    assert chosen.round(1).rewards == {"a": 2.0, "b": 1.0}
    assert total.round(1).outcome == 0.125
    chosen.close()
    total.close()


@needs_chromium
def test_changes_are_confirmed_and_logged(browser: Browser, store: Store, url: str) -> None:
    study = funds(store)
    with Visit(browser, url) as visit:
        visit.study("funds")
        page = visit.page
        page.get_by_label("Risk aversion").fill("3.5")
        visit.card("Set-up").get_by_role("button", name="Change").click()
        page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
        assert study.risk_aversion == 2.0
        visit.card("Set-up").get_by_role("button", name="Change").click()
        page.get_by_role("dialog").get_by_role("button", name="Change").click()
        expect(visit.card("Log and export")).to_contain_text("Risk aversion from 2 to 3.5")
        visit.card("Set-up").get_by_role("button", name="Retire TLT").click()
        page.get_by_role("dialog").get_by_role("button", name="Retire").click()
        expect(visit.card("Log and export")).to_contain_text("Retired TLT")
        expect(page.locator("table.weights")).to_contain_text("retired: kept at 0")
        page.get_by_label("New option").fill("oil")
        visit.card("Set-up").get_by_role("button", name="Add").click()
        page.get_by_role("dialog").get_by_role("button", name="Add").click()
        expect(page.locator("table.weights")).to_contain_text("not seen yet")
        with page.expect_download() as waiting:
            page.get_by_role("button", name="Export as CSV").click()
        assert waiting.value.suggested_filename == "funds.csv"
        assert "SPY" in waiting.value.path().read_text(encoding="utf-8")
        page.get_by_role("button", name="Verify the log").click()
        expect(visit.card("Log and export").get_by_role("status")).not_to_be_empty()
        assert visit.console == []
    assert study.risk_aversion == 3.5
    assert study.retired == ("TLT",)
    assert study.options == ("SPY", "GLD", "oil")
    study.close()


# What the figures say -------------------------------------------------------------------------------------------------


@needs_chromium
def test_rounds_from_outside_are_not_the_studys_own(browser: Browser, store: Store, url: str) -> None:
    learner = {"class": "MCEmpirical", "risk_aversion": 2.0}
    study = Study.create("funds", ["SPY", "TLT"], learner, "per_unit", store=store)
    for k in range(12):
        study.tell_outside({"SPY": 0.6, "TLT": 0.4}, {"SPY": 100.0 + k, "TLT": 50.0})
    with Visit(browser, url) as visit:
        visit.study("funds")
        expect(visit.figure("Earned by the study")).to_have_text("–")
        expect(visit.card("Cumulative reward")).to_contain_text("All 12 told rounds came from outside")
        early, late = study.ask(), study.ask()
        study.tell(late.id, {"SPY": 2.0, "TLT": 2.0})
        study.tell(early.id, {"SPY": 0.5, "TLT": 0.5})
        expect(visit.small_print("Rounds told")).to_have_text("12 from outside")
        expect(visit.figure("Earned by the study")).to_have_text("+2.5")
        expect(visit.small_print("Earned by the study")).to_have_text("from 2 proposals")
        expect(visit.page.locator(".headline")).to_contain_text("After 14 told rounds (12 from outside)")
        for title in ("Cumulative reward", "Running risk"):
            expect(visit.card(title)).to_contain_text("12 told from outside are left out")
            visit.card(title).get_by_role("button", name="Show as table").click()
            expect(visit.card(title).locator("tbody tr")).to_have_count(2)
        first = visit.card("Cumulative reward").locator("tbody tr").first.locator("th, td")
        expect(first).to_have_text(["13", re.compile("."), "0.5", "2.5", "2.5"])
        words = visit.drawn("Weights over time")
        assert "told from outside" in words
        assert "told, in order" in words
        labels = [int(text) for text in re.findall(r">(\d+)</text>", visit.drawn("Cumulative reward"))]
        assert {13, 14} <= set(labels)  # places in the order of telling, although the rounds are 14 and 13
        assert visit.console == []
    study.close()


@needs_chromium
def test_no_number_looks_more_exact_than_it_is(browser: Browser, url: str) -> None:
    wanted = {
        0.123456: "0.1235",
        -0.5: "−0.5",
        999.96: "1,000",
        12069.4: "12,069",
        1013709.0: "1,013,709",
        9999999.9: "10\u00a0M",
        12345678.0: "12.35\u00a0M",
        -999999999.0: "−1\u00a0B",
        4.7e12: "4.7\u00a0T",
        1.234e16: "1.23e+16",
        0.0000123: "1.23e−5",
    }
    ticks = {
        0.0: "0",
        -0.25: "−0.25",
        900.0: "900",
        2500.0: "2.5\u00a0k",
        60000.0: "60\u00a0k",
        -1500000.0: "−1.5\u00a0M",
    }
    with Visit(browser, url) as visit:
        write = "async ([name, values]) => values.map((await import('/dashboard/lib/format.js'))[name])"
        assert visit.page.evaluate(write, ["number", list(wanted)]) == list(wanted.values())
        assert visit.page.evaluate(write, ["tick", list(ticks)]) == list(ticks.values())


@needs_chromium
@pytest.mark.parametrize("width", [700, 1040, 1180, 1280, 1400])
def test_bars_are_parts_of_the_whole_and_reasons_have_room(
    browser: Browser, store: Store, url: str, width: int
) -> None:
    learner = {"feedback": "chosen", "risk_aversion": 1e-5, "min_weight": 0.1}
    study = Study.create("large", ["search", "social", "video"], learner, "per_unit", store=store)
    for row in np.random.default_rng(3).normal([12000, 9000, 5000], 4000, (30, 3)):
        asked = study.ask()
        study.tell(
            asked.id, {name: x for name, x in zip(study.options, row.tolist(), strict=True) if asked.weights[name]}
        )
    with Visit(browser, url, width) as visit:
        visit.study("large")
        page = visit.page
        rows = page.locator("table.weights tbody tr")
        for k in range(rows.count()):
            bar = rows.nth(k).locator(".fill")
            share = bar.evaluate("bar => bar.getBoundingClientRect().width / bar.parentElement.clientWidth")
            said = rows.nth(k).locator(".value").inner_text()
            assert share == pytest.approx(float(said.removesuffix("\u00a0%")) / 100, abs=0.01)
            assert rows.nth(k).locator("td.why").bounding_box()["height"] < 90  # type: ignore[index]
        scroller = page.get_by_role("region", name="Proposed weights", exact=True)
        assert scroller.evaluate("found => found.scrollWidth <= found.clientWidth")
        expect(visit.figure("Earned so far")).to_be_visible()
        heights = {box["height"] for dd in page.locator(".figure dd").all() if (box := dd.bounding_box())}
        assert len(heights) == 1  # nothing wraps
        assert visit.widest() == width
    study.close()


@needs_chromium
def test_many_rounds_are_drawn_without_borders(browser: Browser, store: Store, url: str) -> None:
    study = funds(store, 20)
    with Visit(browser, url) as visit:
        visit.study("funds")
        assert 'stroke-width="0.5"' in visit.drawn("Weights over time")
        for _ in range(90):
            study.tell_outside({"SPY": 1.0}, {"SPY": 0.1, "TLT": 0.2, "GLD": 0.3})
        expect(visit.figure("Rounds told")).to_have_text("110")
        expect(visit.card("Weights over time").locator(".note")).to_contain_text("90 rounds")
        assert 'stroke-width="0.5"' not in visit.drawn("Weights over time")
    study.close()


# Who looks at it ------------------------------------------------------------------------------------------------------


@needs_chromium
def test_names_are_shown_as_text_everywhere(browser: Browser, store: Store, url: str) -> None:
    study = mischief(store)
    with Visit(browser, url) as visit:
        page = visit.page
        page.get_by_role("link", name=EVIL).click()
        expect(page.get_by_role("heading", name=EVIL, level=1)).to_be_visible()
        expect(page.locator("table.weights")).to_contain_text(EVIL)
        expect(visit.card("Ask and tell")).to_contain_text(EVIL)
        expect(visit.card("Weights over time").locator(".legend")).to_contain_text(EVIL_TOO)
        assert "&lt;img src=x" in visit.drawn("Estimated means")  # a label of the axis, cut
        expect(visit.card("Correlations").get_by_role("columnheader", name=EVIL)).to_be_visible()
        chart = visit.card("Estimated means").locator(".chart")
        chart.hover(position={"x": 400, "y": 22})
        expect(chart.locator(".tip")).to_contain_text(EVIL)
        visit.card("Weights over time").locator(".chart").hover(position={"x": 300, "y": 120})
        expect(visit.card("Weights over time").locator(".tip")).to_contain_text("Round")
        visit.show_all_tables()
        visit.card("Rounds").get_by_role("button", name="Round 7, details").click()
        expect(page.get_by_role("region", name="Round 7")).to_contain_text(EVIL_TOO)
        page.get_by_role("button", name="Tell round 7").first.click()
        expect(page.get_by_role("dialog")).to_contain_text(EVIL_TOO)
        page.keyboard.press("Escape")
        page.get_by_role("button", name=f"Retire {EVIL}").click()
        expect(page.get_by_role("dialog").get_by_role("heading")).to_have_text(f"Retire “{EVIL}”?")
        page.keyboard.press("Escape")
        page.get_by_label("Client").fill(EVIL_TOO)
        page.get_by_role("button", name="Ask for weights").click()
        expect(page.get_by_role("heading", name="Round 8: play these weights")).to_be_visible()
        made = page.evaluate("document.querySelectorAll('img[src=\"x\"], [onload], [onerror], main script').length")
        assert made == 0
        assert visit.console == []
    study.close()


@needs_chromium
def test_a_token_is_asked_for_kept_in_the_tab_and_forgotten(browser: Browser, store: Store, url: str) -> None:
    study = funds(store)
    token = create_token(store, "reader", "read")
    with Visit(browser, url) as visit:
        page = visit.page
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("This service needs a token")
        page.get_by_label("Token", exact=True).fill("cb_wrong")
        dialog.get_by_role("button", name="Sign in").click()
        expect(dialog.get_by_role("alert")).not_to_be_empty()
        page.get_by_label("Token", exact=True).fill(token)
        dialog.get_by_role("button", name="Sign in").click()
        page.get_by_role("link", name="funds").click()
        expect(visit.figure("Rounds told")).to_have_text("3")
        page.get_by_role("button", name="Ask for weights").click()
        expect(page.locator("#messages").get_by_role("alert")).to_contain_text("tell")
        assert token not in page.url
        assert page.evaluate("[sessionStorage.length, localStorage.length]") == [1, 0]
        page.reload()
        expect(visit.figure("Rounds told")).to_have_text("3")
        page.get_by_role("button", name="Sign out").click()
        expect(dialog).to_contain_text("This service needs a token")
        assert page.evaluate("sessionStorage.length") == 0
        dialog.get_by_role("button", name="Cancel").click()
        expect(page.get_by_role("alert").first).to_contain_text("Signed out")
        assert [text for text in visit.console if not text.startswith(REFUSAL)] == []
    study.close()


@needs_chromium
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_never_scrolls_sideways(browser: Browser, store: Store, url: str, scheme: str) -> None:
    mischief(store).close()
    funds(store).close()
    with Visit(browser, url, 360, scheme) as visit:
        page = visit.page
        expect(page.get_by_role("link", name="funds")).to_be_visible()
        assert visit.widest() == 360
        for name in ("funds", EVIL):
            visit.study(name)
            assert visit.drawn("Running risk")
            visit.show_all_tables()
            visit.card("Rounds").get_by_role("button", name="details").first.click()
            assert visit.widest() == 360
        page.goto(f"{url}/#/new")
        expect(page.get_by_role("button", name="Create study")).to_be_visible()
        assert visit.widest() == 360
        assert visit.console == []


@needs_chromium
def test_the_keyboard_alone_asks_and_tells(browser: Browser, store: Store, url: str) -> None:
    study = funds(store)
    with Visit(browser, url) as visit:
        visit.study("funds")
        page = visit.page
        page.reload()
        expect(visit.figure("Rounds told")).to_have_text("3")
        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator("main")).to_be_focused()
        _tab_to(page, page.get_by_label("Client"))
        page.keyboard.type("desk-1")
        page.keyboard.press("Enter")
        expect(page.get_by_role("button", name="Tell what happened")).to_be_focused()
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline == "solid"  # the focus is seen
        page.keyboard.press("Enter")
        expect(page.get_by_label("Outcome: SPY")).to_be_focused()
        page.keyboard.press("Escape")
        expect(page.get_by_role("button", name="Tell what happened")).to_be_focused()
        page.keyboard.press("Enter")
        for value in ("0.5", "0.25", "0.125"):
            page.keyboard.type(value)
            page.keyboard.press("Tab")
        page.keyboard.press("Shift+Tab")
        page.keyboard.press("Enter")
        expect(visit.figure("Rounds told")).to_have_text("4")
        expect(page.get_by_role("button", name="Ask for weights")).to_be_focused()
        assert visit.console == []
    assert study.round(4).outcome == {"SPY": 0.5, "TLT": 0.25, "GLD": 0.125}
    study.close()


def _tab_to(page: Page, wanted: Locator) -> None:
    for _ in range(40):
        page.keyboard.press("Tab")
        if wanted.evaluate("element => element === document.activeElement"):
            return
    raise AssertionError("the focus does not get there")


@needs_chromium
def test_light_and_dark(browser: Browser, store: Store, url: str) -> None:
    funds(store).close()
    background = "getComputedStyle(document.body).backgroundColor"
    seen = {}
    for scheme in ("light", "dark"):
        with Visit(browser, url, scheme=scheme) as visit:
            visit.study("funds")
            seen[scheme] = (visit.page.evaluate(background), visit.drawn("Estimated means"))
    assert [seen[scheme][0] for scheme in seen] == ["rgb(245, 246, 248)", "rgb(20, 23, 26)"]
    assert seen["light"][1] != seen["dark"][1]  # charts follow
    with Visit(browser, url) as visit:
        visit.study("funds")
        visit.page.get_by_role("button", name="Theme: auto").click()
        visit.page.get_by_role("button", name="Theme: light").click()
        assert visit.page.evaluate(background) == "rgb(20, 23, 26)"
        visit.page.reload()
        expect(visit.page.get_by_role("button", name="Theme: dark")).to_be_visible()
        assert visit.page.evaluate(background) == "rgb(20, 23, 26)"
        assert visit.console == []


# Mistakes and surprises -----------------------------------------------------------------------------------------------


@needs_chromium
def test_a_told_key_asked_again_shows_its_round(browser: Browser, store: Store, url: str) -> None:
    study = funds(store, rounds=0)
    with Visit(browser, url) as visit:
        visit.study("funds")
        page, asking = visit.page, visit.card("Ask and tell")
        page.get_by_label("Key").fill("2026-W47")
        page.get_by_role("button", name="Ask for weights").click()
        page.get_by_role("button", name="Tell what happened").click()
        for name in ("SPY", "TLT", "GLD"):
            page.get_by_label(f"Outcome: {name}").fill("0.25")
        page.get_by_role("button", name="Tell", exact=True).click()
        expect(visit.figure("Rounds told")).to_have_text("1")
        expect(page.get_by_label("Key")).to_have_value("")  # the next ask is for another week

        expect(page.locator("#messages .message")).to_have_count(0)  # good news goes away by itself
        page.get_by_label("Key").fill("2026-W47")
        page.get_by_role("button", name="Ask for weights").click()
        heading = asking.get_by_role(
            "heading", name=re.compile(r"^2026-W47 is round 1, told on \d+ \w+ \d{4}, \d\d:\d\d$")
        )
        expect(heading).to_be_visible()
        expect(asking.locator(".proposed li")).to_have_count(3)
        expect(asking.locator(".proposed")).to_contain_text("33.3")
        expect(asking.get_by_role("button", name="Tell what happened")).to_have_count(0)
        expect(page.locator("#messages .message")).to_have_count(0)  # neither "is open" nor a mistake of the page's
        asking.get_by_role("button", name="Clear the key").click()
        expect(heading).to_have_count(0)
        expect(page.get_by_label("Key")).to_have_value("")
        page.get_by_label("Key").fill("2026-W48")
        page.get_by_role("button", name="Ask for weights").click()
        expect(asking.get_by_role("heading", name="Round 2: play these weights")).to_be_visible()
        assert visit.console == []
    assert study.summary().rounds == 2
    study.close()


@needs_chromium
def test_another_key_typed_meanwhile_is_kept(browser: Browser, store: Store, url: str) -> None:
    study = funds(store, rounds=0)
    waiting = study.ask(key="2026-W47")
    with Visit(browser, url) as visit:
        visit.study("funds")
        page = visit.page
        page.get_by_label("Key").fill("2026-W48")
        page.get_by_role("button", name=f"Tell round {waiting.id}").first.click()
        for name in ("SPY", "TLT", "GLD"):
            page.get_by_label(f"Outcome: {name}").fill("0.25")
        page.get_by_role("button", name="Tell", exact=True).click()
        expect(visit.figure("Rounds told")).to_have_text("1")
        expect(page.get_by_label("Key")).to_have_value("2026-W48")
    study.close()


@needs_chromium
def test_no_error_of_a_script_ever_reaches_a_user(browser: Browser, store: Store, url: str) -> None:
    funds(store).close()
    plain = "This page made a mistake."
    with Visit(browser, url) as visit:
        visit.study("funds")
        page, shown = visit.page, visit.page.locator("#messages .message.bad")
        for fault in ("setTimeout(() => null.id)", "void Promise.reject(new TypeError('x is undefined'))"):
            page.evaluate(f"() => {{ {fault} }}")
            expect(shown).to_contain_text(plain)
            expect(shown).to_have_count(1)
            shown.get_by_role("button", name="Dismiss").click()
        assert any("null" in text for text in visit.faults)  # the console has the details
        assert any("x is undefined" in text for text in visit.console)
        # An answer that the page does not understand: a fault of the page, whatever is being done.
        page.route("**/ask", lambda route: route.fulfill(json={"id": 9, "weights": None}))
        page.get_by_role("button", name="Ask for weights").click()
        expect(shown).to_contain_text(plain)
        page.route("**/explain", lambda route: route.fulfill(json={}))
        page.reload()
        expect(visit.card("Proposed weights, and why")).to_contain_text(plain)
        body = page.locator("body").inner_text()
        assert re.findall(r"undefined|TypeError|Cannot read|is not a function|of null", body) == []
        visit.faults.clear()  # they were made on purpose
        page.unroute("**/explain")


@needs_chromium
def test_typed_numbers_are_read_or_refused_with_both_readings(browser: Browser, store: Store, url: str) -> None:
    study = funds(store)
    with Visit(browser, url) as visit:
        visit.study("funds")
        page, dialog = visit.page, visit.page.get_by_role("dialog")
        page.get_by_role("button", name="Ask for weights").click()
        page.get_by_role("button", name="Tell what happened").click()
        page.get_by_label("Outcome: SPY").fill("3,600")
        page.get_by_label("Outcome: TLT").fill("1e-3")
        page.get_by_label("Outcome: GLD").fill(" -.5 ")
        page.get_by_role("button", name="Tell", exact=True).click()
        alert = dialog.get_by_role("alert")
        expect(alert).to_contain_text("Outcome of SPY: “3,600” may mean 3600 or 3.6: write the one that is meant.")
        expect(page.get_by_label("Outcome: SPY")).to_be_focused()
        for typed, said in {
            "1.234,5": "write 1234.5",
            "1'000": "write 1000",
            "2m": "may mean 2000000 or 0.002",
        }.items():
            page.get_by_label("Outcome: SPY").fill(typed)
            page.get_by_role("button", name="Tell", exact=True).click()
            expect(alert).to_contain_text(said)
        page.get_by_label("Other weights were played than asked").check()
        page.get_by_label("Weight played: SPY").fill("50%")
        expect(dialog).to_contain_text("One of the weights is not a number.")
        page.get_by_label("Outcome: SPY").fill("3600")
        page.get_by_role("button", name="Tell", exact=True).click()
        expect(alert).to_contain_text("Weight of SPY: “50%” is not written as a number: write 0.5.")
        page.get_by_label("Other weights were played than asked").uncheck()
        page.get_by_role("button", name="Tell", exact=True).click()
        expect(visit.figure("Rounds told")).to_have_text("4")
        page.get_by_label("Risk aversion").fill("0,4")
        visit.card("Set-up").get_by_role("button", name="Change").click()
        expect(page.locator("#messages .message.bad")).to_contain_text(
            "Risk aversion ρ: “0,4” is not written as a number"
        )
        assert visit.console == []
    assert study.round(4).outcome == {"SPY": 3600.0, "TLT": 0.001, "GLD": -0.5}
    assert study.risk_aversion == 2.0
    study.close()


@needs_chromium
def test_the_page_reads_numbers_as_the_command_line_does(browser: Browser, url: str) -> None:
    texts = [
        "3,600",
        "-3,600",
        "(3,600)",
        "0,300",
        "3,60",
        "3,6000",
        ",5",
        "1,234,567",
        "1.234.567",
        "1,00,000",
        "1.234,5",
        "1,234.5",
        "3.600,00",
        "1'000",
        "1’000,50",
        "1 000",
        "1\xa0000",
        "1\u202f000,5",
        "1_000",
        "−5",
        "5-",
        "50%",
        "12,5 %",
        "€3600",
        "3.600 €",
        "-$1,000.50",
        "CHF 20",
        "3k",
        "3.5K",
        "2M",
        "2m",
        "1,5 Mio.",
        "0,0",
        "",
        ",",
        ".",
        "many",
        "12abc",
        "k",
        "€",
        "1,2,3",
        "1 00",
        "--5",
        "0.05%",
        "12,000%",
        "0,0001k",
        "constructor",
    ]
    with Visit(browser, url) as visit:
        read = "async ([texts, share]) => texts.map((t) => window.readings(t, share))"
        module = "/dashboard/lib/number-input.js"
        visit.page.evaluate("async (from) => { window.readings = (await import(from)).readings; }", module)
        for share in (False, True):
            assert visit.page.evaluate(read, [texts, share]) == [readings(text, share) for text in texts]


@needs_chromium
def test_a_new_study_chooses_no_risk_aversion_and_every_example_of_settings_is_accepted(
    browser: Browser, store: Store, url: str
) -> None:
    with Visit(browser, url) as visit:
        page = visit.page
        learners = [
            None,
            "MCEmpirical",
            "ShrunkEmpirical",
            "OGD",
            "LinearFI",
            "PairUCB",
            "MCUCB",
            "GradientTS",
            "MCETE",
        ]
        for k, learner in enumerate(learners):
            page.goto(f"{url}/#/")
            page.goto(f"{url}/#/new")
            page.get_by_label("Name", exact=True).fill(f"study {k}")
            page.get_by_label("Options", exact=True).fill("a\nb\nc")
            expect(page.get_by_label("Risk aversion")).to_have_value("")
            page.get_by_text("Choose the learner yourself").click()
            if learner is not None:
                page.get_by_label("Learner", exact=True).select_option(learner)
            example = page.get_by_label("Other settings (JSON)").get_attribute("placeholder")
            page.get_by_label("Other settings (JSON)").fill(str(example))
            if k == 0:
                page.get_by_role("button", name="Create study").click()  # the browser itself says what is missing
                expect(page.get_by_label("Risk aversion")).to_be_focused()
                page.get_by_label("Risk aversion").fill("0.0002")
                for mistaken in ("half_life", '"half_life"', "60", "[60]", "null"):
                    page.get_by_label("Other settings (JSON)").fill(mistaken)
                    page.get_by_role("button", name="Create study").click()
                    expect(page.get_by_role("alert")).to_contain_text(
                        f"not arguments by name in JSON, such as {example}"
                    )
                    page.get_by_label("Other settings (JSON)").fill("")
                page.get_by_label("Other settings (JSON)").fill(str(example))
            if page.get_by_label("Risk aversion").is_visible():
                page.get_by_label("Risk aversion").fill("0.0002")
            page.get_by_role("button", name="Create study").click()
            expect(page.get_by_role("heading", name=f"study {k}", level=1)).to_be_visible()
        assert visit.console == []
    assert len(list_studies(store)) == len(learners)
    study = Study.open("study 0", store)
    assert study.risk_aversion == 0.0002
    study.close()


@needs_chromium
def test_a_form_is_drawn_once_however_late_the_service_says_its_version(browser: Browser, url: str) -> None:
    with Visit(browser, url) as visit:
        page = visit.page
        asked: list[Route] = []
        page.route("**/api/v1/version", lambda route: asked.append(route))  # the answer waits until we let it go
        with page.expect_request("**/api/v1/version"):
            page.reload(wait_until="commit")
        page.goto(f"{url}/#/new")
        page.evaluate("new Promise((done) => setTimeout(done))")  # what listens to addresses has had its turn
        # A form that is drawn now would be drawn again with the answer, and what was typed would be lost.
        assert page.locator("main").inner_text() == "Loading…"
        asked.pop().continue_()
        page.get_by_label("Name", exact=True).fill("funds")
        expect(page.locator("#version")).to_contain_text("API")
        expect(page.get_by_label("Name", exact=True)).to_have_value("funds")
        assert asked == []


@needs_chromium
def test_what_should_be_known_of_the_set_up_is_said_at_the_top(browser: Browser, store: Store, url: str) -> None:
    study = funds(store, rounds=12)
    with Visit(browser, url) as visit:
        page = visit.page
        visit.study("funds")
        expect(visit.card("Set-up")).to_contain_text(
            re.compile(r"By the estimates so far, ρ matters between [\d.,]+ and")
        )
        expect(page.locator(".remarks .message")).to_have_count(0)
        study.set_risk_aversion(2000.0)
        expect(page.locator(".remarks")).to_contain_text("Risk aversion ρ = 2000 is too large to matter")
        expect(page.locator(".remarks")).to_contain_text("least variance")
        page.goto(f"{url}/#/new")
        page.get_by_label("Name", exact=True).fill("ads")
        page.get_by_label("Options", exact=True).fill("a\nb\nc")
        page.get_by_label("Only the chosen options' results").check()
        page.get_by_label("Risk aversion").fill("0.5")
        page.get_by_label("Least weight").fill("0.6")
        page.get_by_role("button", name="Create study").click()
        expect(page.locator(".remarks")).to_contain_text(
            re.compile(r"^min_weight=0\.6 is .* risk is that of single options")
        )
        assert visit.console == []
    study.close()


@needs_chromium
def test_imported_history_shows_what_the_study_would_have_held_and_earned(
    browser: Browser, store: Store, url: str
) -> None:
    learner = {"class": "MCEmpirical", "risk_aversion": 0.5}
    study = Study.create("funds", ["SPY", "TLT"], learner, "per_unit", store=store)
    chosen = Study.create("ads", ["SPY", "TLT"], {"feedback": "chosen", "risk_aversion": 0.5}, "per_unit", store=store)
    for row in np.random.default_rng(2).normal([1.0, 0.5], 1.0, (30, 2)).round(3).tolist():
        study.tell_outside({"SPY": 0.5, "TLT": 0.5}, row)
        chosen.tell_outside({"SPY": 1.0}, {"SPY": row[0]})
    would = study.history().would_have_cumulative_reward
    assert would is not None
    with Visit(browser, url) as visit:
        visit.study("funds")
        for title in ("Cumulative reward", "Running risk"):
            assert visit.drawn(title)
            expect(visit.card(title).locator(".legend")).to_contain_text("This study would have")
            expect(visit.card(title)).to_contain_text("All 30 told rounds came from outside")
        expect(visit.card("Weights over time")).to_contain_text("What the study would have held")
        visit.card("Cumulative reward").get_by_role("button", name="Show as table").click()
        first = visit.card("Cumulative reward").locator("tbody tr").first
        expect(first).to_contain_text(f"{would[-1]:.4g}")
        visit.study("ads")
        for title in ("Cumulative reward", "Running risk"):
            assert visit.drawn(title)
            expect(visit.card(title).locator(".legend")).to_contain_text("Played outside")
            expect(visit.card(title)).to_contain_text("only the options that were played there were seen")
            expect(visit.card(title)).not_to_contain_text("would have:")
        assert visit.console == []
    study.close()
    chosen.close()
