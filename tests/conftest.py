"""What holds for the whole suite: one Hypothesis profile, and helpers whose assertions show their values."""

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from hypothesis import settings

from covbandit.cli import main
from covbandit.reproduction import Reproduction, Scale, experiments_named
from covbandit.simulation import SimulationResult
from postgres_server import ABSENT, GIVEN, PROGRAMS, NoRoom, PostgresServer, new_database
from quick_part import SLOW_FILES, is_quick
from stores import KINDS, sqlite_url

# In the background (`nohup`, `pytest &`, many build servers) pytest starts with Ctrl-C ignored, and every process that
# a test starts inherits that. Tests press Ctrl-C themselves, so it must work for them.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Every run draws the same examples.
settings.register_profile("covbandit", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("covbandit")

# Tests compare what is written to standard error: the first ones on a machine must see the same as all later ones.
os.environ.setdefault("COVBANDIT_QUIET", "1")

# pytest does so by itself for test modules only.
pytest.register_assert_rewrite("decision_set", "optimistic_checks", "quadratic_programs", "reference_figures")

# Windows lacks the limits of memory and files that these set for themselves.
collect_ignore = (
    ["test_hostile_files.py", "test_journal.py", "test_study_faults_disk.py"] if sys.platform == "win32" else []
)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not even import slow files if only quick tests are wanted."""
    return True if config.option.markexpr == "quick" and collection_path.name in SLOW_FILES else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what `pytest -m quick` plays."""
    for item in items:
        if is_quick(item):
            item.add_marker(pytest.mark.quick)


@pytest.fixture(scope="session")
def reproduced(tmp_path_factory: pytest.TempPathFactory) -> tuple[Reproduction, dict[str, SimulationResult]]:
    """Every experiment of the paper, short, with its report written."""
    scale = Scale({"fi": 1_000, "sb": 500, "fb": 2_000}, replications=4)
    out = tmp_path_factory.mktemp("reproduced")
    reproduction = Reproduction(experiments_named(), scale, 2021, out, "covbandit reproduce --seed 2021")
    results = reproduction.simulate()
    reproduction.write(results, processes=2)
    return reproduction, results


@pytest.fixture(scope="session")
def shared_by_processes() -> None:
    """Skip where processes cannot share work: pools and clusters need semaphores, which need room in /dev/shm."""
    try:
        multiprocessing.get_context("spawn").Lock()
    except OSError as error:
        pytest.skip(f"processes cannot share work here, /dev/shm may be full: {error}")


@pytest.fixture
def command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Run the command line in this process, in a folder of its own; return exit code, output and errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("NO_COLOR", "1")

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["covbandit", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        return (int(ended.value.code or 0), *capsys.readouterr())

    return run


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """Return the URL of the server that the tests share, started by the first test that needs it."""
    if GIVEN:
        yield GIVEN
    else:
        with _new_postgres_server() as server:
            yield server.url()


def _new_postgres_server() -> PostgresServer:
    """Return a server of one's own; skip the test, with the reason, where there can be none."""
    if PROGRAMS is None:
        pytest.skip(ABSENT)
    try:
        return PostgresServer()
    except NoRoom as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def new_postgres_database(postgres_server: str) -> Callable[[], AbstractContextManager[str]]:
    """Return what makes an empty database, as `with new_postgres_database() as url`; for tests that need many."""
    return lambda: new_database(postgres_server)


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """Return the URL of an empty PostgreSQL database."""
    with new_database(postgres_server) as url:
        yield url


@pytest.fixture
def own_postgres_server() -> Iterator[PostgresServer]:
    """Return a running server that the test may stop and start."""
    with _new_postgres_server() as server:
        yield server


@pytest.fixture(params=KINDS)
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the URL of an empty store, of each kind in turn."""
    if request.param == "sqlite":
        return sqlite_url(tmp_path)
    url: str = request.getfixturevalue("postgres_url")
    return url
