"""The command line, as a newcomer would use it."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import covbandit as cb


def _covbandit(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "covbandit.cli", *arguments]
    environment = {**os.environ, "COLUMNS": "120", "NO_COLOR": "1"}
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300, check=False)


def test_help_teaches() -> None:
    shown = _covbandit("--help")
    assert shown.returncode == 0
    for word in ("reproduce fi-synthetic --quick", "warmup", "Exit codes", "w'θ − ρ w'Σw"):
        assert word in shown.stdout
    assert "Ctrl-C keeps finished replications" in _covbandit("reproduce", "--help").stdout
    assert _covbandit("--version").stdout == f"covbandit {cb.__version__}\n"


def test_reproduce_writes_figure_results_and_verdicts(tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = _covbandit("reproduce", "fi-synthetic", "--quick", "--replications", "6", "--seed", "5", "--out", str(out))
    assert done.returncode == 0, done.stderr
    names = sorted(path.name for path in out.iterdir())
    assert names == [f"fi-synthetic.{suffix}" for suffix in ("md", "npz", "png", "svg")]
    for name in names:
        assert name in done.stdout
    result = cb.SimulationResult.load(out / "fi-synthetic.npz")
    assert result.learners[0] == "MC-Empirical"
    assert "equal weights" in result.learners
    assert result.horizon == 10_000
    assert len(result.replications) == 6
    assert result.specification["seed"] == 5
    text = (out / "fi-synthetic.md").read_text()
    ratio = result.ratio("OGD", "MC-Empirical")
    assert f"{ratio.estimate:.4g} [{ratio.low:.4g}, {ratio.high:.4g}] | holds" in text
    assert "--horizon 10000 --replications 6 --seed 5" in text
    assert (out / "fi-synthetic.png").read_bytes()[:4] == b"\x89PNG"
    assert "<svg" in (out / "fi-synthetic.svg").read_text()


def test_the_semi_bandit_panel_judges_its_statements(tmp_path: Path) -> None:
    done = _covbandit("reproduce", "sb-synthetic", "--horizon", "300", "--replications", "3", "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "sb-synthetic.md").read_text()
    for learner in ("MC-UCB", "MC-UCB-Γ", "OLS-UCB-C", "PairUCB (ours)", "equal weights"):
        assert f"| {learner} |" in text
    assert text.count("95 % interval above 1") == 4
    assert "Theorem 3" in text
    assert (tmp_path / "sb-synthetic.png").read_bytes()[:4] == b"\x89PNG"


def test_the_full_bandit_panel_runs_both_risk_aversions(tmp_path: Path) -> None:
    done = _covbandit("reproduce", "fb-synthetic", "--horizon", "300", "--replications", "3", "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    names = ("fb-synthetic-rho0.1", "fb-synthetic-rho10")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"{name}.{suffix}" for name in names for suffix in ("md", "npz", "png", "svg")
    ]
    assert done.stdout.index("fb-synthetic-rho10 (") < done.stdout.index("fb-synthetic-rho0.1 (")
    assert done.stdout.count("not the paper's") == 2
    for name, rho in zip(names, (0.1, 10.0), strict=True):
        result = cb.SimulationResult.load(tmp_path / f"{name}.npz")
        assert result.learners == ["MC-ETE", "OGD-ETE", "LinearFB", "GradientTS (ours)", "equal weights"]
        assert result.specification["problem"]["risk_aversion"] == rho
        text = (tmp_path / f"{name}.md").read_text()
        assert f"ρ={rho:g}" in text
        paper, ours = text.split("## Statements of our own")
        assert paper.count("95 % interval above 1") == 3
        assert "Theorem 5" in paper
        assert "95 % interval below 0.667" in paper
        assert "GradientTS pays less than MC-ETE" in ours
        assert len(re.findall(r"\| (holds|does not hold|undecided) \|", text)) == 7
        assert f"covbandit reproduce {name} --horizon 300" in text
        assert (tmp_path / f"{name}.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["reproduce", "sixth-panel"], "error: no panel 'sixth-panel'; there is fi-synthetic"),
        (["reproduce", "fb-synthetic", "fb-synth"], "error: no panel 'fb-synth'; there is fi-synthetic"),
        (["reproduce", "--horizon", "5"], "at least 20 rounds and 2 replications to judge by, got 5"),
        (["reproduce", "--seed", "-1", "--quick"], "error: seed must be at least 0, got -1"),
        (["reproduce", "--workers", "0", "--quick"], "error: workers must be at least 1, got 0"),
        (["reproduce", "--quick", "--out", "/dev/null/x"], "error: cannot write to /dev/null/x"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments: list[str], message: str, tmp_path: Path) -> None:
    if "--out" not in arguments:
        arguments = [*arguments, "--out", str(tmp_path)]
    done = _covbandit(*arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def _interrupt_on_the_way(command: list[str]) -> tuple[int, str]:
    """Run a command on a terminal, press Ctrl-C once a tenth is done; return exit status and standard error."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=theirs) as child:
        os.close(theirs)
        notes, pressed = "", False
        while True:
            try:
                notes += os.read(ours, 65536).decode(errors="replace")
            except OSError:  # how Linux says that the other end is closed
                break
            if not pressed and re.search(r"[1-9]\d %", notes):
                child.send_signal(signal.SIGINT)
                pressed = True
        status = child.wait(timeout=60)
    os.close(ours)
    assert pressed, notes
    return status, " ".join(notes.split())


def test_ctrl_c_keeps_replications_and_the_same_command_continues(tmp_path: Path) -> None:
    arguments = ["reproduce", "fi-synthetic", "--horizon", "60000", "--replications", "40", "--out", str(tmp_path)]
    status, notes = _interrupt_on_the_way([sys.executable, "-m", "covbandit.cli", *arguments])
    assert status == 130
    assert "replications are kept in" in notes
    assert "the same command continues" in notes
    (partial,) = tmp_path.glob("fi-synthetic.partial-*.npz")
    kept = cb.SimulationResult.load(partial)
    assert 0 < len(kept.replications) < 40
    for mistake in (["--workers", "0"], ["--seed", "-1"], ["--horizon", "300"]):  # none of them costs what is kept
        _covbandit(*arguments, *mistake)
        assert partial.exists()
    done = _covbandit(*arguments)
    assert done.returncode == 0, done.stderr
    assert not partial.exists()
    result = cb.SimulationResult.load(tmp_path / "fi-synthetic.npz")
    fresh = cb.simulate(
        cb.problems.synthetic(), {"MC-Empirical": cb.MCEmpirical(n_options=5, risk_aversion=0.1)}, 60_000, 40
    )
    assert (result.at("MC-Empirical") == fresh.at("MC-Empirical")).all()


def test_replications_of_other_settings_are_neither_mixed_in_nor_lost(tmp_path: Path) -> None:
    other = cb.simulate(cb.problems.synthetic(), cb.LinearFI(n_options=5), 50, 2)
    kept = tmp_path / "fi-synthetic.partial-01234567.npz"
    other.save(kept)
    done = _covbandit("reproduce", "--horizon", "200", "--replications", "3", "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    result = cb.SimulationResult.load(tmp_path / "fi-synthetic.npz")
    assert result.regret.shape[:2] == (6, 3)
    assert kept.exists()


def test_warmup_compiles_into_the_cache(tmp_path: Path) -> None:
    """In a cache of its own: first what simulations need, then everything, found again by the next process."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
        command = [sys.executable, *arguments]
        return subprocess.run(command, capture_output=True, text=True, env=environment, check=True, timeout=300)

    def compiled() -> set[str]:
        return {path.name.split("-")[0] for path in tmp_path.rglob("*.nbc")}

    run("-c", "from covbandit.cli.warmup import compile_kernels, Console; compile_kernels(Console())")
    ahead = compiled()
    assert "driver.play" in ahead
    assert "optimistic_bound.bound_node" not in ahead
    assert "kernels ready" in run("-m", "covbandit.cli", "warmup").stderr
    everything = compiled()
    assert everything - ahead >= {"optimistic_bound.bound_node", "optimistic_proof.prove_optimistic"}
    code = (
        "import covbandit as cb; from covbandit.simulation.driver import play; import json;"
        "cb.simulate(cb.problems.synthetic(), cb.MCEmpirical(n_options=5, risk_aversion=0.1), 10, 1);"
        "print(json.dumps([len(play.stats.cache_hits), len(play.stats.cache_misses)]))"
    )
    assert json.loads(run("-c", code).stdout) == [1, 0]
    assert compiled() == everything


def test_compilation_survives_the_loss_of_its_processes(tmp_path: Path) -> None:
    """Killed, as for want of memory: the kernel is compiled by whoever asked for it, and can be called."""
    code = """
import multiprocessing, os, signal, threading, time
from rich.console import Console
from covbandit.cli import warmup
from covbandit.learners.fixed_weights import _decide

def kill():
    while not multiprocessing.active_children():
        time.sleep(0.05)
    for process in multiprocessing.active_children():
        os.kill(process.pid, signal.SIGTERM)

wanted = ["covbandit.learners.fixed_weights._decide", "covbandit.kernels.projection.project_on_simplex"]
warmup.names_of_kernels = lambda everything: wanted
threading.Thread(target=kill).start()
warmup.compile_kernels(Console())
print(len(_decide.overloads), len(_decide.stats.cache_misses))
"""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=300)
    assert done.stdout.split() == ["1", "1"], done.stderr


def test_ctrl_c_while_kernels_are_compiled_ends_all_processes(tmp_path: Path) -> None:
    """Without a traceback."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "covbandit.cli", "warmup"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stderr=pipe, text=True, env=environment, start_new_session=True) as process:
        while not any(tmp_path.rglob("*.nbc")):
            assert process.poll() is None
            time.sleep(0.1)
        os.killpg(process.pid, signal.SIGINT)
        # Its processes hold the same end of the pipe: this returns when all of them are gone.
        assert "Traceback" not in process.communicate(timeout=60)[1]
        assert process.returncode == 130


def test_nothing_writable_still_works(tmp_path: Path) -> None:
    """Without a cache kernels are compiled in memory."""
    blocked = tmp_path / "file"
    blocked.write_text("")
    environment = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(blocked / "x"),
        "HOME": str(blocked),
        "XDG_CACHE_HOME": str(blocked),
    }
    code = "import covbandit as cb; print(cb.LinearFI(n_options=2).ask().tolist())"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False, timeout=300
    )
    assert done.stdout.strip() == "[0.5, 0.5]", done.stderr
