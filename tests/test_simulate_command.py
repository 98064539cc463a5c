"""``covbandit simulate`` and ``covbandit bounds``, as a newcomer would use them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import distributed
import numpy as np
import pytest

import covbandit as cb
from commands import interrupt_on_the_way
from covbandit.core.tables import as_text
from covbandit.specifications import example

Run = Callable[..., tuple[int, str, str]]

SPEC = """
horizon = {horizon}
replications = {replications}
[problem]
preset = "synthetic"
risk_aversion = [0.1, 1.0]
[[learners]]
class = "MCEmpirical"
"""


def _spec(folder: Path, horizon: int = 60, replications: int = 3) -> str:
    (folder / "my.toml").write_text(SPEC.format(horizon=horizon, replications=replications), encoding="utf-8")
    return "my.toml"


def test_help_teaches(command_line: Run) -> None:
    shown = " ".join(command_line("simulate", "--help")[1].split())
    for words in ("simulate --example > my.toml", "is a sweep", "Ctrl-C keeps finished replications", "--dask"):
        assert words in shown
    assert "constant 1" in command_line("bounds", "--help")[1]


def test_the_example_is_printed_checked_and_run(tmp_path: Path, command_line: Run) -> None:
    _, printed, _ = command_line("simulate", "--example")
    assert printed == example()
    (tmp_path / "my.toml").write_text(printed, encoding="utf-8")
    _, checked, _ = command_line("simulate", "my.toml", "--check", "--replications", "4")
    assert re.search(r"off-diagonal--0.2 +5 +6 +2,000 +4", checked), checked
    assert "learners: MC-Empirical; OGD, gradient=sample; OGD" in checked
    assert [path.name for path in tmp_path.iterdir()] == ["my.toml"]
    status, table, told = command_line("simulate", "my.toml", "--replications", "4")
    assert status == 0, told
    assert "Regret after 2,000 rounds, 4 replications" in table
    written = {path.name.split(".")[-1] for path in (tmp_path / "my-results").iterdir()}
    assert written == {"npz", "csv", "tex", "parquet", "png", "svg", "pdf", "lock"}
    assert "my-results/table.csv" in table
    assert re.search(r"^off_diagonal=0.5: done in ", told, flags=re.MULTILINE)
    status, again, told = command_line("simulate", "my.toml", "--replications", "4")
    assert "off_diagonal=0.5: results found" in told
    assert again == table


def test_mistakes_are_told_and_nothing_runs(tmp_path: Path, command_line: Run) -> None:
    (tmp_path / "my.toml").write_text(
        SPEC.format(horizon=0, replications="'x'").replace("synthetic", "sintetic"), encoding="utf-8"
    )
    status, _, told = command_line("simulate", "my.toml")
    assert status == 2
    assert told.splitlines() == [
        "error: my.toml has 2 mistakes",
        "  my.toml, line 2: horizon = 0: must be at least 1",
        '  my.toml, line 3: replications = "x": must be a whole number',
    ]
    for arguments, message in (
        (["simulate"], "error: no specification: name a TOML file, or print one to start from with --example"),
        (["simulate", "no.toml"], "error: cannot read the specification no.toml: No such file or directory"),
        (["simulate", _spec(tmp_path), "--workers", "2", "--dask", "tcp://x"], "leave one out"),
        (["simulate", _spec(tmp_path), "--workers", "0"], "error: workers must be at least 1, got 0"),
        (["simulate", _spec(tmp_path), "--horizon", "0"], "error: horizon must be at least 1, got 0"),
        (["bounds", "sintetic"], "error: 'sintetic' is neither a file nor a preset; did you mean \"synthetic\"?"),
        (["bounds", "random"], "error: preset 'random' needs parameters"),
    ):
        status, _, told = command_line(*arguments)
        assert status == 2
        assert message in told
    assert [path.name for path in tmp_path.iterdir()] == ["my.toml"]


def test_ctrl_c_keeps_replications_and_the_same_command_continues(tmp_path: Path, command_line: Run) -> None:
    spec = _spec(tmp_path, 60_000, 60)
    status, notes = interrupt_on_the_way(["simulate", spec], tmp_path)
    assert status == 130
    assert "the same command continues from there" in notes
    assert "Traceback" not in notes
    folder = tmp_path / "my-results"
    assert list(folder.glob("*.journal"))
    status, _, told = command_line("simulate", spec)
    assert status == 0, told
    assert not list(folder.glob("*.journal"))
    for rho in (0.1, 1.0):
        (file,) = folder.glob(f"risk-aversion-{rho:g}.*.npz")
        learner = cb.MCEmpirical(n_options=5, risk_aversion=rho)
        fresh = cb.simulate(cb.problems.synthetic(rho), learner, 60_000, 60)
        assert np.array_equal(cb.SimulationResult.load(file).regret, fresh.regret)


@pytest.mark.usefixtures("shared_by_processes")
@pytest.mark.filterwarnings("ignore")  # Dask's own
def test_a_cluster_gives_the_same_table(tmp_path: Path, command_line: Run) -> None:
    spec = _spec(tmp_path, 500, 12)
    _, here, _ = command_line("simulate", spec, "--out", "here")
    options: dict[str, Any] = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": None, "silence_logs": 50}
    with distributed.LocalCluster(**options) as cluster:
        status, there, told = command_line("simulate", spec, "--out", "there", "--dask", cluster.scheduler_address)
    assert status == 0, told
    assert here.replace("here/", "there/") == there
    assert (tmp_path / "here/table.csv").read_bytes() == (tmp_path / "there/table.csv").read_bytes()
    for file in (tmp_path / "here").glob("*.npz"):
        other = cb.SimulationResult.load(tmp_path / "there" / file.name)
        assert np.array_equal(cb.SimulationResult.load(file).weights, other.weights)


def test_bounds_of_each_problem_and_of_presets(tmp_path: Path, command_line: Run) -> None:
    status, shown, told = command_line("bounds", _spec(tmp_path))
    assert status == 0, told
    assert [line.strip() for line in shown.splitlines() if line.startswith("risk_aversion=")] == [
        "risk_aversion=0.1",
        "risk_aversion=1",
    ]
    assert shown.count("after 60 rounds, with constant 1") == 6
    _, preset, _ = command_line("bounds", "synthetic", "--horizon", "1000")
    assert "synthetic, ρ = 0.1" in preset
    bounds = [row[3] for row in cb.theory.bounds_table(cb.problems.synthetic(), 1_000).rows if row[1] == "bound"]
    assert re.findall(r"after 1,000 rounds, with constant 1 +(\S+)", preset) == [as_text(bound) for bound in bounds]
    (tmp_path / "hard.toml").write_text(
        'horizon = 400\n[problem]\npreset = "semi_bandit_lower_bound"\nn_options = 8\nmin_weight = 0.25\n'
        '[[learners]]\nclass = "PairUCB"\n',
        encoding="utf-8",
    )
    assert "what every learner pays on average" in command_line("bounds", "hard.toml")[1]


def test_the_floor_of_hard_instances_is_that_of_the_rounds_asked_for(tmp_path: Path, command_line: Run) -> None:
    (tmp_path / "hard.toml").write_text(
        'horizon = 400\n[problem]\npreset = "semi_bandit_lower_bound"\nn_options = 8\nmin_weight = 0.25\n'
        'horizon = 400\n[[learners]]\nclass = "PairUCB"\n',
        encoding="utf-8",
    )
    for arguments, rounds in (([], 400), (["--horizon", "5000"], 5000)):
        shown = command_line("bounds", "hard.toml", *arguments)[1]
        floor = cb.problems.semi_bandit_lower_bound(8, rounds, 0.25).regret_floor
        assert re.search(rf"T +rounds +{rounds:,} *$", shown, flags=re.MULTILINE)
        assert re.search(rf"what every learner pays on average +{as_text(floor)} *$", shown, flags=re.MULTILINE)


def test_names_are_printed_as_they_are_written(tmp_path: Path, command_line: Run) -> None:
    text = SPEC.format(horizon=60, replications=2).replace('preset = "synthetic"', "sweep = { name = ['[/a]', 'b'] }")
    two_options = "mean = [0.1, 0.2]\ncovariance = [[1, 0], [0, 1]]\nrisk_aversion = 1"
    text = text.replace("risk_aversion = [0.1, 1.0]", two_options)
    text += 'name = "[paper] FW [/] :smile:"\n'
    (tmp_path / "my.toml").write_text(text, encoding="utf-8")
    status, shown, told = command_line("simulate", "my.toml")
    assert status == 0, told
    assert re.search(r"^ *\[/a\] +\[paper\] FW \[/\] :smile: ", shown, flags=re.MULTILINE), shown
    status, shown, told = command_line("bounds", "my.toml")
    assert status == 0, told
    assert re.search(r"^ *name=\[/a\] *$", shown, flags=re.MULTILINE), shown


def test_a_name_too_long_for_a_file_is_neither_a_file_nor_a_preset(command_line: Run) -> None:
    for name, message in (("x" * 300, "is neither a file nor a preset"), (f"{300 * 'x'}.toml", "File name too long")):
        status, _, told = command_line("bounds", name)
        assert status == 2
        assert message in told
