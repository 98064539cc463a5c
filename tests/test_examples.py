"""The scripts in ``examples/`` run, tell their story, and may be run again."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd

import covbandit as cb

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"


def _run(name: str, folder: Path, *arguments: str) -> str:
    """Run an example as its reader does; return what it prints."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / f"{name}.py"), *arguments],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONUTF8": "1"},
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _shown(page: str) -> list[str]:
    """Return the lines that an example's page shows of its output: all blocks of text but those of snippets."""
    text = (DOCS / f"example-{page}.md").read_text(encoding="utf-8")
    text = re.sub(r"^```python\n.*?^```\n\n```text\n.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    return "".join(re.findall(r"^```text\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)).splitlines()


def _study(name: str, store: Path) -> cb.Study:
    study = cb.Study.open(name, store=store)
    verified = study.verify()
    assert verified.ok, verified.message
    assert verified.exact
    return study


def test_portfolio_follows_its_csv_file(tmp_path: Path) -> None:
    said = _run("portfolio", tmp_path)
    assert "no returns.csv: made one up" in said
    assert "82 months in returns.csv, 82 of them new" in said
    assert "for 2026-11, round 83" in said
    assert set(_shown("portfolio")) == set(said.splitlines())
    study = _study("portfolio", tmp_path / "portfolio.db")
    outside = [one for one in study.rounds() if one.source == "outside"]
    assert (len(outside), study.summary().told, study.summary().open) == (72, 82, 1)
    assert len((tmp_path / "portfolio-rounds.csv").read_text(encoding="utf-8").splitlines()) == 84

    with (tmp_path / "returns.csv").open("a") as file:  # a month later
        file.write("2026-11,1.10,-0.40,0.30,2.00,-1.20\n")
    again = _run("portfolio", tmp_path)
    assert "83 months in returns.csv, 1 of them new" in again
    assert "for 2026-12, round 84" in again
    amounts = re.search(r"^\{.*\}$", again, flags=re.MULTILINE)
    assert amounts is not None
    assert sum(map(int, re.findall(r": (\d+)", amounts[0]))) == 50_000
    assert _study("portfolio", tmp_path / "portfolio.db").round(83).status == "told"


def _fails(name: str, folder: Path, *arguments: str) -> str:
    """Run an example that ends in an error; return what it says."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / f"{name}.py"), *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    return done.stderr


def test_portfolio_takes_other_files_of_funds(tmp_path: Path) -> None:
    months = pd.date_range("2015-01-31", "2024-12-31", freq="ME")
    values = np.random.default_rng(5).normal(1.0, [4.0, 9.0, 16.0], (len(months), 3))
    frame = pd.DataFrame(values, columns=["gold", "shares", "coins"])
    frame.insert(0, "Datum", months.strftime("%d.%m.%Y"))
    frame.to_csv(tmp_path / "other.csv", index=False, sep=";", decimal=",")
    said = _run("portfolio", tmp_path, "--csv", "other.csv", "--store", "other.db")
    assert "120 months in other.csv, 120 of them new" in said
    assert re.search(r"these funds allow a standard deviation of \d\.\d+ to \d+\.\d+ % a month: \d\.\d+ is taken", said)
    assert "for 2025-01, round 121" in said
    assert "0 of them new" in _run("portfolio", tmp_path, "--csv", "other.csv", "--store", "other.db")

    prices = (1 + frame.drop(columns="Datum") / 100).cumprod() * 50
    prices.insert(0, "date", months[::1].strftime("%Y-%m-%d"))
    prices[::-1].to_csv(tmp_path / "prices.csv", index=False)  # newest first
    wanted = ("--csv", "prices.csv", "--kind", "prices", "--store", "prices.db", "--volatility", "3.7")
    said = _run("portfolio", tmp_path, *wanted)
    assert "note: the table has the newest period first" in said
    assert "119 months in prices.csv, 119 of them new" in said


def test_portfolio_says_in_one_line_what_is_wrong(tmp_path: Path) -> None:
    rows = "".join(f"2024-01-{day:02},{day % 3 - 1},{day % 5 - 2}\n" for day in range(1, 20))
    (tmp_path / "daily.csv").write_text(f"date,A,B\n{rows}", encoding="utf-8")
    assert "one line a month is needed" in _fails("portfolio", tmp_path, "--csv", "daily.csv", "--store", "a.db")
    (tmp_path / "text.csv").write_text("month,A\n2024-01,x\n", encoding="utf-8")
    assert "'x' is not a finite number" in _fails("portfolio", tmp_path, "--csv", "text.csv", "--store", "a.db")
    (tmp_path / "short.csv").write_text("month,A,B\n2026-01,1,2\n2026-02,2,-1\n2026-03,-1,1\n", encoding="utf-8")
    assert "too little history" in _fails("portfolio", tmp_path, "--csv", "short.csv", "--store", "a.db")
    _run("portfolio", tmp_path, "--store", "b.db")
    (tmp_path / "else.csv").write_text("month,A,B\n2025-01,1,2\n2025-02,2,-1\n2025-03,-1,1\n", encoding="utf-8")
    assert "is of other funds than else.csv" in _fails("portfolio", tmp_path, "--csv", "else.csv", "--store", "b.db")
    said = _fails("portfolio", tmp_path, "--store", "c.db", "--volatility", "99")
    assert "volatility 99 is above" in said
    assert "attainable is" in said
    assert "No such file or directory" in _fails("portfolio", tmp_path, "--csv", "nowhere/returns.csv")


def test_campaign_budget_takes_late_and_corrected_outcomes(tmp_path: Path) -> None:
    said = _run("campaign_budget", tmp_path)
    assert "W16  events are retired" in said
    assert "W16  podcast is new" in said
    assert "W26  corrected W20: search sold" in said
    assert "30 weeks, 27 told (27 new), 3 open, 1 corrected" in said
    assert set(_shown("campaign-budget")) <= set(said.splitlines())
    study = _study("campaign budget", tmp_path / "campaign.db")
    assert (study.outcome, study.retired) == ("amount", ("events",))
    told = sorted((one for one in study.rounds() if one.told_at), key=lambda one: (one.told_at, one.revision))
    assert [one.id for one in told] != sorted(one.id for one in told)  # out of order
    assert study.round(20).amendments == 1
    assert sum(study.round(20).played.values()) == 1  # type: ignore[union-attr]
    assert "podcast" in study.round(16).weights
    assert study.round(21).weights["events"] == 0

    further = _run("campaign_budget", tmp_path, "--weeks", "34")
    assert "W30" not in further.partition("told:")[0]  # what was asked before is not asked again
    assert "34 weeks, 30 told (3 new), 4 open, 1 corrected" in further
    _study("campaign budget", tmp_path / "campaign.db")


def test_treatment_mix_is_shared_through_the_service(tmp_path: Path) -> None:
    for told in (0, 12):
        said = _run("treatment_mix", tmp_path, "--store", "mix.db", "--participants", "12")
        assert f"{told} participants so far" in said
        assert f"{told + 12} participants now" in said
        assert f"fork with ρ = 1, told the same {told + 12} rounds" in said
        assert "Not how it would have performed" in said
        if not told:
            assert set(said.splitlines()[:3]) < set(_shown("treatment-mix"))
    study = _study("treatment mix", tmp_path / "mix.db")
    assert {one.client for one in study.rounds()} == {"north", "south"}
    assert (study.feedback, study.summary().open) == ("total", 0)


def test_every_screenshot_is_taken_by_the_script_and_shown() -> None:
    script = (DOCS / "making" / "screenshots.py").read_text(encoding="utf-8")
    taken = set(re.findall(r'^    "(dashboard-[\w-]+)": \(', script, flags=re.MULTILINE))
    kept = {path.stem: path.stat().st_size for path in (DOCS / "screenshots").iterdir()}
    shown = re.findall(
        r"\]\(screenshots/([\w-]+)\.png\)", "".join(p.read_text(encoding="utf-8") for p in DOCS.glob("*.md"))
    )
    assert taken == set(kept) == set(shown)
    assert max(kept.values()) < 150_000
