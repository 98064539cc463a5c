"""The README's two commands work however they are started: these are the circumstances that are cheap to make."""

from __future__ import annotations

import ast
import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from commands import COMMAND
from covbandit.cli import workers
from covbandit.errors import InvalidInput
from covbandit.kernels.jit.compilation import cache_directory
from covbandit.reproduction.figures import draw_all
from covbandit.studies import Store
from postgres_server import ABSENT, PROGRAMS, NoRoom, PostgresServer

HERE = Path(__file__).parent


def _in_the_background() -> None:
    """As `nohup` and build servers start a program: Ctrl-C ignored, broken pipes ignored, one core."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def _without_input() -> None:
    os.close(0)


# An encoding that lacks letters of our output, as that of de_DE.ISO-8859-1 does, which need not be installed.
_ASCII = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}

CIRCUMSTANCES: dict[str, tuple[dict[str, str | None], Callable[[], None] | None]] = {
    "in the background on one core": ({}, _in_the_background),
    "without letters beyond ASCII": ({**_ASCII, "TZ": "Asia/Kathmandu"}, None),
    "without a home folder": ({"HOME": None, "XDG_CACHE_HOME": None, "XDG_CONFIG_HOME": None}, _without_input),
    "with a home folder that cannot be written": ({"HOME": "/dev/null/home", "LANG": "tr_TR.UTF-8"}, None),
}


@pytest.mark.parametrize("circumstance", CIRCUMSTANCES)
def test_the_main_job_works(tmp_path: Path, circumstance: str) -> None:
    """In a folder whose name has spaces and letters beyond ASCII."""
    changes, prepare = CIRCUMSTANCES[circumstance]
    settings = {**os.environ, "NUMBA_CACHE_DIR": str(cache_directory().parent), **changes}
    environment = {name: value for name, value in settings.items() if value is not None}
    folder = tmp_path / "a folder with spaces"
    folder.mkdir()
    command = [*COMMAND, "reproduce", "fi-synthetic", "--horizon", "100", "--replications", "2"]
    done = subprocess.run(
        command, capture_output=True, cwd=folder, env=environment, preexec_fn=prepare, check=False, timeout=600
    )
    assert (done.returncode, b"Traceback" in done.stderr) == (0, False), done.stderr.decode(errors="replace")
    report = (folder / "covbandit-results" / "report.html").read_text(encoding="utf-8")
    assert "ρ" in report
    assert (folder / "covbandit-results" / "figures" / "fi-synthetic.png").stat().st_size > 0


def test_help_is_shown_without_letters_beyond_ascii() -> None:
    """Question marks stand for what cannot be shown."""
    environment = {**os.environ, **_ASCII, "PYTHONIOENCODING": "ascii:strict"}
    for arguments in (["--help"], ["reproduce", "--help"], ["bounds", "synthetic"], ["study", "create", "--help"]):
        done = subprocess.run([*COMMAND, *arguments], capture_output=True, env=environment, check=False, timeout=300)
        assert (done.returncode, b"Traceback" in done.stderr) == (0, False), done.stderr


def test_one_process_does_the_work_where_several_cannot_share_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """What processes share is kept in /dev/shm, which may be full."""

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("multiprocessing.synchronize.SemLock.__init__", full)
    assert draw_all([(str, (1,)), (str, (2,))], processes=2) == ["1", "2"]
    names = [
        "covbandit.learners.full_information.fixed_weights._decide",
        "covbandit.kernels.qp.projection.project_on_simplex",
    ]
    monkeypatch.setattr(workers, "names_of_kernels", lambda everything: names)
    monkeypatch.setattr(workers, "names_not_cached", lambda wanted: wanted)
    compiled: list[str] = []
    monkeypatch.setattr(workers, "compile_for_use", compiled.append)
    workers.compile_kernels(Console(stderr=True), most_processes=2)
    assert compiled == names


@pytest.mark.skipif(PROGRAMS is None, reason=ABSENT)
def test_postgresql_that_finds_no_shared_memory_is_told_apart_from_one_that_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The former is why tests are skipped, as without PostgreSQL; the latter is an error."""
    full = 'FATAL:  could not resize shared memory segment "/PostgreSQL.1" to 10976 bytes: No space left on device'
    for said, expected in ((full, NoRoom), ("FATAL:  something else", AssertionError)):
        failed = subprocess.CompletedProcess[str]([], 1, "", said)
        monkeypatch.setattr(PostgresServer, "_run", lambda *_, failed=failed: failed)
        with pytest.raises(expected):
            PostgresServer()


def test_a_store_in_a_home_folder_that_is_not_known_is_refused_in_one_line() -> None:
    with pytest.raises(InvalidInput, match=r"store file '~nobody-of-this-name/s\.db': nobody's home folder"):
        Store("sqlite:///~nobody-of-this-name/s.db", create=True)


def _for_pytest() -> dict[str, str]:
    """Return the environment without what this run of pytest was told: its report, its number of processes."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}


def test_tests_that_press_ctrl_c_pass_in_the_background() -> None:
    """Where pytest itself was started with Ctrl-C ignored, which every process it starts inherits."""
    chosen = "tests/test_simulation.py::test_ctrl_c_keeps_what_is_finished"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", chosen]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=HERE.parent,
        env=_for_pytest(),
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
        check=False,
        timeout=600,
    )
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def test_files_are_read_and_written_as_text_in_an_encoding_that_is_named() -> None:
    """That of the machine may lack letters that are in them."""
    root = HERE.parent
    rooms = ("benchmarks", "docs", "examples", "src", "tests")
    files = [file for room in rooms for file in sorted((root / room).rglob("*.py"))]
    assert len(files) > 200
    unnamed = [
        f"{file.relative_to(root)}:{call.lineno}"
        for file in files
        for call in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr in ("read_text", "write_text")
        and not any(argument.arg == "encoding" for argument in call.keywords)
    ]
    assert unnamed == []


def test_tests_that_lack_chromium_or_postgresql_are_skipped_with_the_reason(tmp_path: Path) -> None:
    code = (
        "import sys, pytest\n"
        "sys.path.insert(0, 'tests')\n"
        "import postgres_server\n"
        "postgres_server.PROGRAMS = None  # which are looked for beside the path, too\n"
        "sys.exit(pytest.main(sys.argv[1:]))"
    )
    chosen = [
        "tests/test_dashboard.py::test_light_and_dark",
        "tests/test_service_postgres.py::test_answers_and_tokens",
        "tests/test_service_postgres.py::test_strangers_do_not_learn_where_the_database_is",
    ]
    environment = {name: value for name, value in _for_pytest().items() if name != "COVBANDIT_TEST_POSTGRES"}
    done = subprocess.run(
        [sys.executable, "-c", code, "-q", "-p", "no:cacheprovider", *chosen],
        capture_output=True,
        text=True,
        cwd=HERE.parent,
        env={**environment, "PATH": str(tmp_path)},
        check=False,
        timeout=600,
    )
    assert (done.returncode, "3 skipped" in done.stdout) == (0, True), done.stdout + done.stderr
    assert "no Chromium here: apt-get install chromium" in done.stdout
    assert "no PostgreSQL here: apt-get install postgresql" in done.stdout


def test_learners_work_for_a_user_without_a_home_folder(tmp_path: Path) -> None:
    """In a container, the user's number may have no entry among the users: kernels are compiled in memory then."""
    places = ("HOME", "XDG_", "NUMBA_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(places)}
    code = (
        "import pwd\n"
        "def unknown(number): raise KeyError(number)\n"
        "pwd.getpwuid = unknown\n"
        "import covbandit as cb; print(cb.LinearFI(n_options=2).ask().tolist())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path,
        check=False,
        timeout=600,
    )
    assert done.stdout.strip() == "[0.5, 0.5]", done.stderr
