"""Takes the documentation's pictures of the dashboard: ``python docs/making/screenshots.py [NAME ...]``.

Runs the scripts of ``examples/`` into one store in a temporary folder, serves it on a free port of this machine and
looks at it with Chromium (Playwright, extra ``test``). Whatever is shown was computed by the examples.
"""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

DOCS = Path(__file__).resolve().parents[1]
SCREENSHOTS = DOCS / "screenshots"
EXAMPLES = DOCS.parent / "examples"
WIDE, CHARTS, PHONE = (1180, 900), (1040, 900), (400, 860)
CHROMIUM = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync")


def _studies(page: Page) -> bytes:
    return _part(page, "header", "table.studies")


def _portfolio(page: Page) -> bytes:
    _open(page, "portfolio")
    return _part(page, "header", ".grid.lead")


def _portfolio_learned(page: Page) -> bytes:
    _open(page, "portfolio")
    return _part(page, ".grid:not(.lead)", ".grid:not(.lead)")


def _campaign(page: Page) -> bytes:
    _open(page, "campaign budget")
    return _part(page, "header", ".grid.lead")


def _campaign_learned(page: Page) -> bytes:
    _open(page, "campaign budget")
    return _part(page, ".grid:not(.lead)", ".grid:not(.lead)")


def _campaign_rounds(page: Page) -> bytes:
    _open(page, "campaign budget")
    return _part(page, ".card:has(> h2:text-is('Rounds'))", ".card:has(> h2:text-is('Log and export'))")


def _tell(page: Page) -> bytes:
    _open(page, "campaign budget")
    page.get_by_role("button", name=re.compile("^Tell round")).first.click()
    dialog = page.locator("dialog[open]")
    dialog.wait_for()
    return dialog.screenshot()


def _treatment(page: Page) -> bytes:
    _open(page, "treatment mix")
    return _part(page, "header", ".grid.lead")


def _treatment_learned(page: Page) -> bytes:
    _open(page, "treatment mix")
    return _part(page, ".grid:not(.lead)", ".grid:not(.lead)")


def _new(page: Page) -> bytes:
    page.get_by_role("link", name="New study").click()
    page.get_by_role("textbox", name="Name").fill("suppliers")
    page.get_by_role("textbox", name="Options").fill("north\nsouth\nharbour")
    return _part(page, "header", "form.create")


def _phone(page: Page) -> bytes:
    _open(page, "campaign budget")
    return page.screenshot()


TAKEN: dict[str, tuple[Callable[[Page], bytes], tuple[int, int], str]] = {
    "dashboard-studies": (_studies, CHARTS, "light"),
    "dashboard-new": (_new, CHARTS, "light"),
    "dashboard-portfolio": (_portfolio, WIDE, "light"),
    "dashboard-portfolio-learned": (_portfolio_learned, CHARTS, "light"),
    "dashboard-campaign": (_campaign, WIDE, "light"),
    "dashboard-campaign-learned": (_campaign_learned, CHARTS, "light"),
    "dashboard-campaign-rounds": (_campaign_rounds, CHARTS, "light"),
    "dashboard-tell": (_tell, WIDE, "light"),
    "dashboard-treatment": (_treatment, WIDE, "light"),
    "dashboard-treatment-learned": (_treatment_learned, CHARTS, "dark"),
    "dashboard-phone": (_phone, PHONE, "dark"),
}
"""Name, how it is taken, size of the window, and colours."""


def _open(page: Page, study: str) -> None:
    page.get_by_role("link", name=study, exact=True).click()
    page.get_by_role("heading", name=study, level=1).wait_for()
    page.locator("main .card svg").nth(3).wait_for()
    page.wait_for_timeout(1500)  # until charts have come to rest


def _part(page: Page, first: str, last: str) -> bytes:
    """Return the part of the page from the top of one element to the bottom of another."""
    top, bottom = (page.locator(each).first.bounding_box() for each in (first, last))
    width = page.viewport_size["width"]
    height = bottom["y"] + bottom["height"] + 16
    start = max(0, top["y"] - 16)
    return page.screenshot(full_page=True, clip={"x": 0, "y": start, "width": width, "height": height - start})


def _small(png: bytes) -> bytes:
    """Return a picture in 256 colours, frequent ones and a mean of the rest: a third of the bytes, looks the same."""
    whole = Image.open(io.BytesIO(png)).convert("RGB")
    found = [colour for _, colour in sorted(whole.getcolors(whole.width * whole.height), reverse=True)]
    kept, rest = found[:160], found[160:]
    if rest:  # each colour once, however rare: the steps of a scale
        strip = Image.new("RGB", (len(rest), 1))
        strip.putdata(rest)
        kept += [colour for _, colour in strip.quantize(96).convert("RGB").getcolors(96)]
    palette = Image.new("P", (1, 1))
    palette.putpalette([part for colour in kept for part in colour])
    buffer = io.BytesIO()
    whole.quantize(palette=palette, dither=Image.Dither.NONE).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


@contextmanager
def serving(store: str) -> Iterator[str]:
    """Run the service on a free port; give its address."""
    command = [sys.executable, "-m", "covbandit.cli", "serve", "--store", store, "--port", "0", "--log-level", "error"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            yield "".join(server.stdout.readline() for _ in range(2)).split()[-1]  # type: ignore[union-attr]
        finally:
            server.terminate()


def take(browser: Browser, address: str, name: str) -> bytes:
    """Return one picture."""
    how, (width, height), colours = TAKEN[name]
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=colours, reduced_motion="reduce", locale="en-GB"
    )
    page = context.new_page()
    page.goto(address)
    page.get_by_role("heading", name="Studies").wait_for()
    page.locator("table.studies").wait_for()
    picture = how(page)
    context.close()
    return _small(picture)


def main(names: list[str]) -> None:
    """Take the named pictures, or all."""
    SCREENSHOTS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for example in ("portfolio", "campaign_budget", "treatment_mix"):
            script = [sys.executable, str(EXAMPLES / f"{example}.py"), "--store", "studies.db"]
            subprocess.run(script, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        with serving(f"{folder}/studies.db") as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=list(CHROMIUM))
            for name in names or TAKEN:
                picture = take(browser, address, name)
                (SCREENSHOTS / f"{name}.png").write_bytes(picture)
                print(f"{name}.png: {len(picture) / 1024:.0f} KiB")
            browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
