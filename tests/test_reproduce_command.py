"""``covbandit reproduce`` as a newcomer uses it, interrupted, killed and continued."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import covbandit as cb
from commands import COMMAND, covbandit, interrupt_on_the_way
from covbandit.reproduction import NORMAL, Reproduction, Scale, experiments_named

Run = Callable[..., tuple[int, str, str]]


def _result(out: Path, name: str) -> cb.SimulationResult:
    (file,) = (out / "results").glob(f"{name}.????????.npz")
    return cb.SimulationResult.load(file)


def test_one_panel(tmp_path: Path, command_line: Run) -> None:
    arguments = ["reproduce", "fi-synthetic", "--quick", "--replications", "6", "--seed", "5", "--out", str(tmp_path)]
    status, shown, told = command_line(*arguments)
    assert status == 0, told
    assert {path.name for path in tmp_path.iterdir()} == {
        "claims.json",
        "figures",
        "report.html",
        "report.md",
        "results",
    }
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {
        f"{name}{suffix}" for name in ("fi-synthetic", "overview") for suffix in (".png", ".svg", ".pdf")
    }
    assert "report.html" in shown
    words = " ".join(shown.split())
    assert "In the paper's own figure, of " in words
    assert "judged together, after Holm" in words
    assert "elsewhere" not in words.lower()  # nothing else was played
    assert "fi-synthetic: done in" in told
    result = _result(tmp_path, "fi-synthetic")
    assert (result.horizon, len(result.replications), result.specification["seed"]) == (10_000, 6, 5)
    claims = json.loads((tmp_path / "claims.json").read_text(encoding="utf-8"))
    assert claims["command"] == "covbandit reproduce fi-synthetic --quick --replications 6 --seed 5"
    ratio = result.ratio("OGD", "MC-Empirical")
    better = next(claim for claim in claims["claims"] if claim["name"] == "better-than-ogd")
    assert better["cases"][0]["measured"] == ratio._asdict()
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert f"{ratio.estimate:.4g} [{ratio.low:.4g}, {ratio.high:.4g}] | in the paper's figure | holds |" in text
    assert (tmp_path / "figures" / "overview.png").read_bytes()[:4] == b"\x89PNG"
    assert (tmp_path / "figures" / "overview.pdf").read_bytes()[:5] == b"%PDF-"

    assert "fi-synthetic: results found" in command_line(*arguments)[2]
    told = command_line(*arguments, "--horizon", "300")[2]
    assert "other settings than before: horizon differs (10000 there, 300 here); a new run" in told
    assert len(list((tmp_path / "results").glob("*.npz"))) == 2


def test_the_terminal_tells_the_papers_figure_from_all_else(tmp_path: Path, command_line: Run) -> None:
    arguments = ["reproduce", "fi-synthetic", "fi-synthetic-rho10", "--horizon", "200", "--replications", "4"]
    status, shown, told = command_line(*arguments, "--out", str(tmp_path))
    assert status == 0, told
    head = shown.partition("Section")[0].split()  # the columns' names, each in as many lines as it needs
    assert {"in", "the", "paper's", "figure", "elsewhere"} <= set(head)
    row = next(line for line in shown.splitlines() if "MC-Empirical is superior to OGD" in line)
    claims = json.loads((tmp_path / "claims.json").read_text(encoding="utf-8"))["claims"]
    verdicts = next(claim for claim in claims if claim["name"] == "better-than-ogd")["verdicts"]
    assert set(verdicts) == {"in the paper's figure", "elsewhere"}
    assert len(row.split("OGD")[1].split("  ")) >= 2  # a verdict in each column


def test_the_users_own_file_of_funds(tmp_path: Path, command_line: Run) -> None:
    years = range(2010, 2020)  # as in the vintage of 2020
    header = ["fund_symbol", *(f"fund_return_{year}" for year in years)]
    rng = np.random.default_rng(3)
    rows = [[name, *(f"{x:.2f}" for x in rng.normal(8, 12, 10))] for name in ("AAA", "BBB", "CCC")]
    file = tmp_path / "ETFs.csv"
    file.write_text("\n".join(",".join(row) for row in [header, *rows]) + "\n", encoding="utf-8")
    arguments = ["reproduce", "fi-etf", "--horizon", "100", "--replications", "3", "--out", str(tmp_path / "out")]
    status, _, told = command_line(*arguments, "--etf-file", str(file), "--funds", "CCC, AAA")
    assert status == 0, told
    problem = _result(tmp_path / "out", "fi-etf").specification["problem"]
    assert problem["options"] == ["CCC", "AAA"]
    assert "your funds" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "--funds 'CCC, AAA'" in (tmp_path / "out" / "report.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sixth-panel"], "error: no panel 'sixth-panel'"),
        (["fb-synthetic", "fb-synth"], "error: no panel 'fb-synth' (did you mean fb-synthetic?)"),
        (["--horizon", "5"], "at least 20 rounds to judge by, got 5"),
        (["--seed", "-1", "--quick"], "error: seed must be at least 0, got -1"),
        (["--workers", "0", "--quick"], "error: workers must be at least 1, got 0"),
        (["--quick", "--full"], "error: --quick and --full contradict each other"),
        (["--quick", "--out", "/dev/null/x"], "error: cannot write to /dev/null/x"),
        (["--quick", "--funds", "SPY"], "error: --funds names funds of an --etf-file"),
        (["--quick", "--etf-file", "ETFs.csv"], "error: --etf-file needs --funds"),
        (["--quick", "--etf-file", "no.csv", "--funds", "SPY"], "no.csv"),
        (["--quick", "--dask", "tcp://127.0.0.1:9"], "error: no Dask scheduler answers at 'tcp://127.0.0.1:9'"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    arguments: list[str], message: str, tmp_path: Path, command_line: Run
) -> None:
    status, shown, told = command_line("reproduce", *arguments)
    assert status == 2
    assert message in told
    assert told.count("\n") == 1
    assert shown == ""
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_keeps_replications_and_the_same_command_continues(tmp_path: Path) -> None:
    arguments = ["reproduce", "fi-synthetic", "--horizon", "60000", "--replications", "40", "--out", str(tmp_path)]
    status, notes = interrupt_on_the_way(arguments, tmp_path)
    assert status == 130
    assert "replications of fi-synthetic are kept in" in notes
    assert "the same command continues" in notes
    (journal,) = (tmp_path / "results").glob("fi-synthetic.*.journal")
    for mistake in (["--workers", "0"], ["--seed", "-1"], ["--horizon", "300"]):  # none of them costs what is kept
        covbandit(*arguments, *mistake)
        assert journal.exists()
    done = covbandit(*arguments)
    assert done.returncode == 0, done.stderr
    assert not journal.exists()
    fresh = cb.simulate(
        cb.problems.synthetic(), {"MC-Empirical": cb.MCEmpirical(n_options=5, risk_aversion=0.1)}, 60_000, 40
    )
    result = cb.SimulationResult.load(journal.with_suffix(".npz"))
    assert (result.at("MC-Empirical") == fresh.at("MC-Empirical")).all()


def test_ctrl_c_while_figures_are_drawn_is_told_in_one_line(tmp_path: Path) -> None:
    arguments = ["reproduce", "fi", "--horizon", "100", "--replications", "3", "--out", str(tmp_path)]
    for delay in (0.0, 0.1, 0.3, 0.6):
        shutil.rmtree(tmp_path / "figures", ignore_errors=True)
        with subprocess.Popen(
            [*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        ) as child:
            while not (tmp_path / "figures").exists():
                assert child.poll() is None
                time.sleep(0.01)
            time.sleep(delay)
            os.killpg(child.pid, signal.SIGINT)  # as a terminal does: all processes of the group
            _, told = child.communicate(timeout=300)
        assert child.returncode == 130
        assert (
            told.splitlines()[-1] == "interrupted: all that was finished is kept; the same command continues from there"
        )
        assert "Traceback" not in told
    assert "results found" in covbandit(*arguments).stderr


def test_a_folder_that_cannot_be_written_is_told_in_one_line(tmp_path: Path, command_line: Run) -> None:
    (tmp_path / "figures").write_text("a file", encoding="utf-8")
    arguments = ["reproduce", "fi-synthetic", "--horizon", "100", "--replications", "3", "--out", str(tmp_path)]
    status, _, told = command_line(*arguments)
    assert status == 2
    assert told.splitlines()[-1].startswith(f"error: cannot write to {tmp_path / 'figures'}: ")


def test_killed_ten_times_it_ends_with_the_same_bits(tmp_path: Path) -> None:
    names, scale = ["fi-synthetic", "fb-synthetic"], Scale(dict.fromkeys(NORMAL.horizons, 30_000), 80)
    arguments = ["reproduce", *names, "--horizon", "30000", "--replications", "80", "--workers", "1"]
    rng = np.random.default_rng(9)
    out = tmp_path / "killed"
    kills = 0
    for kill in range(10):
        before = _kept(out)
        with subprocess.Popen(
            [*COMMAND, *arguments, "--out", str(out)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as child:
            while child.poll() is None and _kept(out) == before and kill % 3:  # every third while it starts
                time.sleep(0.01)
            time.sleep(float(rng.uniform(0, 0.2 if kill % 3 else 1)))
            if child.poll() is None:
                os.kill(child.pid, signal.SIGKILL)
                kills += 1
    assert kills == 10
    done = covbandit(*arguments, "--out", str(out))
    assert done.returncode == 0, done.stderr
    whole = Reproduction(experiments_named(names), scale, 0, tmp_path / "whole").simulate(workers=2)
    for name in names:
        assert np.array_equal(_result(out, name).regret, whole[name].regret)
        assert np.array_equal(_result(out, name).weights, whole[name].weights)


def _kept(out: Path) -> int:
    """The bytes that are safe on disk."""
    total = 0
    for path in (out / "results").glob("*.????????.*"):
        with suppress(FileNotFoundError):  # a journal goes when its results are written
            total += path.stat().st_size
    return total
