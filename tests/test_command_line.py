"""The command line, as a newcomer would use it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import covbandit as cb
from commands import covbandit
from covbandit.kernels.jit import compilation


def test_help_teaches() -> None:
    shown = covbandit("--help")
    assert shown.returncode == 0
    for word in ("reproduce fi-synthetic --quick", "warmup", "Exit codes", "w'θ − ρ w'Σw"):
        assert word in shown.stdout
    assert "Ctrl-C keeps finished replications" in covbandit("reproduce", "--help").stdout
    assert covbandit("--version").stdout == f"covbandit {cb.__version__}\n"


def test_warmup_compiles_into_the_cache(tmp_path: Path) -> None:
    """In a cache of its own: first what simulations need, then everything, found again by the next process."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "COVBANDIT_QUIET": "0"}
        command = [sys.executable, *arguments]
        return subprocess.run(command, capture_output=True, text=True, env=environment, check=True, timeout=300)

    def compiled() -> set[str]:
        return {path.name.split("-")[0] for path in tmp_path.rglob("*.nbc")}

    run("-c", "from covbandit.cli.workers import compile_kernels, Console; compile_kernels(Console())")
    ahead = compiled()
    assert "driver.play" in ahead
    assert "bound.bound_node" not in ahead
    said = run("-m", "covbandit.cli", "warmup").stderr
    assert "kernels ready" in said
    assert said.count("covbandit: compiling kernels, once per machine") == 1  # also where no terminal shows progress
    everything = compiled()
    assert everything - ahead >= {"bound.bound_node", "proof.prove_optimistic"}
    code = (
        "import covbandit as cb; from covbandit.simulation.driver import play; import json;"
        "cb.simulate(cb.problems.synthetic(), cb.MCEmpirical(n_options=5, risk_aversion=0.1), 10, 1);"
        "print(json.dumps([len(play.stats.cache_hits), len(play.stats.cache_misses)]))"
    )
    assert json.loads(run("-c", code).stdout) == [1, 0]
    assert compiled() == everything


@pytest.mark.usefixtures("shared_by_processes")
def test_compilation_survives_the_loss_of_its_processes(tmp_path: Path) -> None:
    """Killed, as for want of memory: the kernel is compiled by whoever asked for it, and can be called."""
    code = """
import multiprocessing, os, signal, threading, time
from rich.console import Console
from covbandit.cli import workers
from covbandit.learners.full_information.fixed_weights import _decide

def kill():
    while not multiprocessing.active_children():
        time.sleep(0.05)
    for process in multiprocessing.active_children():
        os.kill(process.pid, signal.SIGTERM)

wanted = [
    "covbandit.learners.full_information.fixed_weights._decide",
    "covbandit.kernels.qp.projection.project_on_simplex",
]
workers.names_of_kernels = lambda everything: wanted
threading.Thread(target=kill).start()
workers.compile_kernels(Console())
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
        assert "Traceback" not in process.communicate(timeout=300)[1]
        assert process.returncode == 130


def test_a_kernel_is_found_though_no_module_of_that_name_can_be_imported(tmp_path: Path) -> None:
    """As one from a notebook or a script: commands that compile ahead look at every kernel that there is."""
    file = tmp_path / "script.py"
    file.write_text("def double(x):\n    return 2.0 * x\n", encoding="utf-8")
    names: dict[str, Any] = {"__name__": "no_such_module"}
    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), names)
    double = compilation.kernel("float64(float64)", on_demand=True)(names["double"])
    name = "no_such_module.double"
    assert name in compilation.names_of_kernels(everything=True)
    assert compilation.names_not_cached([name]) == [name]
    compilation.compile_for_use(name)
    assert double(1.5) == 3.0


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_command_leaves_no_compiling_process_behind(how: signal.Signals, tmp_path: Path) -> None:
    """Nor does what tidies up after it complain."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "covbandit.cli", "warmup"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stderr=pipe, text=True, env=environment, start_new_session=True) as process:
        try:
            while not any(tmp_path.rglob("*.nbc")):
                assert process.poll() is None
                time.sleep(0.1)
            os.kill(process.pid, how)  # and not its group
            # Its processes hold the same end of the pipe: this returns when all of them are gone.
            _, errors = process.communicate(timeout=120)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == -how
    assert "leaked" not in errors
    assert "Traceback" not in errors


def test_nothing_writable_still_works(tmp_path: Path) -> None:
    """Without a cache kernels are compiled in memory."""
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")
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
