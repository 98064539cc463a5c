"""Kernels are compiled, and loaded, while no transaction writes: whoever else uses the store does not wait for it."""

from __future__ import annotations

import asyncio
import errno
import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

import covbandit as cb
from covbandit.cli import console
from covbandit.kernels.jit import compilation
from covbandit.learners import learner_classes
from covbandit.service.server.runtime import Service, Settings
from covbandit.studies import Study
from service_calls import OPTIONS, OUTCOME, Process, calling, new_store

# Each time that a kernel is compiled or loaded, another connection writes to the store, without waiting for its turn.
PLAY = """
import json, os, sqlite3, sys
import covbandit as cb
from covbandit.kernels.jit import compilation
from covbandit.learners import learner_classes

file = sys.argv[1]
seen = []
really = compilation._compile

def compile_while_others_write(kernel, begun):
    other = sqlite3.connect(file, timeout=0.0, isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        other.execute("ROLLBACK")
        free = True
    except sqlite3.OperationalError:
        free = False
    other.close()
    seen.append([compilation._name(kernel), free])
    really(kernel, begun)

compilation._compile = compile_while_others_write

def play(name):
    options = ["a", "b", "c"]
    learner = {"class": name}
    if name not in ("FixedWeights", "LinearFI", "LinearFB", "OLSUCBC"):
        learner["risk_aversion"] = 0.5
    if name == "MCUCBGamma":
        learner["gamma"] = 1.0
    study = cb.Study.create(name, options, learner, "per_unit", store=file)

    def told(asked):
        outcome = {key: 0.1 * k + 0.01 * asked.id for k, key in enumerate(asked.weights)}
        if study.feedback == "chosen":
            outcome = {key: value for key, value in outcome.items() if asked.weights[key] > 0}
        return 0.3 + 0.01 * asked.id if study.feedback == "total" else outcome

    for change in (
        lambda: None,
        lambda: study.retire("b"),
        lambda: study.amend(2, told(study.round(2)) if study.feedback != "total" else 0.7),
        lambda: study.restore("b"),
        lambda: study.add_option("d"),
        lambda: study.set_risk_aversion(0.7) if study.risk_aversion is not None else None,
    ):
        change()
        for _ in range(15):
            asked = study.ask()
            study.tell(asked.id, told(asked))
    if study.feedback == "all":
        study.tell_outside({"a": 1.0}, {"a": 0.1, "b": None, "c": 0.2, "d": None})
        study.ask()
    another = {"all": "LinearFI", "chosen": "OLSUCBC", "total": "LinearFB"}[study.feedback]
    study.fork({"class": another}, name=f"{name} copied")
    study.close()

for name in sys.argv[2:] or learner_classes():
    child = os.fork()  # each begins with nothing compiled
    if child == 0:
        play(name)
        print(json.dumps([name, seen]), flush=True)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, name
"""


def _played(store: Path, *names: str, **environment: str) -> dict[str, list[tuple[str, bool]]]:
    done = subprocess.run(
        [sys.executable, "-c", PLAY, str(store), *names],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=1_200,
    )
    assert done.returncode == 0, done.stderr
    return dict(map(json.loads, done.stdout.splitlines()))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")
def test_no_learner_compiles_or_loads_kernels_while_it_holds_the_store(tmp_path: Path) -> None:
    """Not in asks and tells, nor in whatever tells the log again or takes options out of use and back."""
    found = _played(tmp_path / "store.db")
    assert len(found) == len(learner_classes())
    for name, seen in found.items():
        assert seen, name
        assert [kernel for kernel, free in seen if not free] == [], name


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")
def test_others_write_while_the_first_ask_of_a_machine_compiles(tmp_path: Path) -> None:
    found = _played(tmp_path / "store.db", "LinearFI", NUMBA_CACHE_DIR=str(tmp_path / "empty"))
    assert {"covbandit.learners.full_information.linear_fi._decide"} < {kernel for kernel, _ in found["LinearFI"]}
    assert all(free for _, free in found["LinearFI"])
    assert list((tmp_path / "empty").rglob("linear_fi._decide-*.nbc"))


def test_a_kernel_that_is_needed_unforeseen_undoes_the_transaction_and_is_compiled_outside() -> None:
    """What a learner of the user's own calls besides its two kernels cannot be known ahead."""
    compiled = compilation.compiled(_small)
    with compilation.nothing_compiles():
        assert compilation.compiled(_small) is compiled  # what is ready may be used
        with pytest.raises(compilation.CompilationNeeded) as needed:
            compilation.compiled(_other)
    assert needed.value.kernel is _other
    assert compilation.compiled(_other)(2) == 3  # type: ignore[call-arg]


@compilation.kernel("int64(int64)", on_demand=True)  # not compiled by whatever compiles ahead
def _small(n: int) -> int:
    return n


@compilation.kernel("int64(int64)", on_demand=True)  # not compiled by whatever compiles ahead
def _other(n: int) -> int:
    return n + 1


# The service ----------------------------------------------------------------------------------------------------------


def test_serve_compiles_what_its_studies_need_before_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with new_store(tmp_path) as store:
        Study.create("funds", OPTIONS, cb.LinearFI(n_options=3), "per_unit", store=store)
    kernels = tmp_path / "kernels"
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(kernels))
    monkeypatch.delenv("COVBANDIT_QUIET", raising=False)
    with Process(tmp_path / "studies.db") as process:  # returns when it is announced
        compiled = {path.name.split("-")[0] for path in kernels.rglob("*.nbc")}
        assert "linear_fi._decide" in compiled
        assert any(name.endswith(".absorb_moments") for name in compiled)
        status, errors = process.stop()
    assert status == 0
    assert errors.count("covbandit: compiling kernels") == 1


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with new_store(tmp_path) as store:
        found = Service(store, Settings())
        yield found
        found.close()


def test_a_study_that_is_being_compiled_holds_up_no_other(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("slow", "quick"):
        Study.create(name, OPTIONS, cb.LinearFI(n_options=3), "per_unit", store=service.store)
    go_on = threading.Event()
    threads: list[str] = []

    def compile_slowly(study: Study) -> None:
        threads.append(threading.current_thread().name)
        if study.name == "slow":
            assert go_on.wait(60)

    async def play() -> list[str]:
        order = []
        await asyncio.wait_for(service.run(lambda: None, "quick", writes=True, slow=False), 60)
        slow = asyncio.create_task(service.run(lambda: order.append("slow"), "slow", writes=True, slow=False))
        given_up = asyncio.create_task(service.run(lambda: order.append("given up"), "slow", writes=True, slow=False))
        await asyncio.sleep(0)
        await asyncio.wait_for(service.run(lambda: order.append("quick"), "quick", writes=True, slow=False), 60)
        given_up.cancel()  # a client that went away: the others still get their answer
        go_on.set()
        await asyncio.wait_for(slow, 60)
        return order

    monkeypatch.setattr(Study, "_compile", compile_slowly)
    assert asyncio.run(play()) == ["quick", "slow"]
    assert len(threads) == 2
    assert all("-compiler_" in name for name in threads)


def test_a_study_that_is_created_is_compiled_at_once_and_asked_as_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled: list[str] = []
    really = Study._compile
    monkeypatch.setattr(Study, "_compile", lambda study: (compiled.append(study.name), really(study)))
    with new_store(tmp_path) as store, calling(store) as client:
        where = "/api/v1/studies"
        assert client.post(f"{where}/funds/ask", json={}).status_code == 404  # which is not taken for compiled
        body = {"name": "funds", "options": OPTIONS, "outcome": "per_unit", "learner": {"class": "LinearFI"}}
        assert client.post(where, json=body).status_code == 201
        asked = client.post(f"{where}/funds/ask", json={})
        assert asked.status_code == 200
        told = client.post(f"{where}/funds/rounds/{asked.json()['id']}/tell", json={"outcome": OUTCOME})
        assert told.status_code == 200
    assert compiled == ["funds"]


# What is said meanwhile -----------------------------------------------------------------------------------------------


def test_the_notice_is_given_once_unless_it_is_not_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compilation, "_notice", compilation._Notice())
    monkeypatch.setenv("COVBANDIT_QUIET", "1")
    assert compilation.notice() is None
    for off in ("", "0"):
        monkeypatch.setattr(compilation, "_notice", compilation._Notice())
        monkeypatch.setenv("COVBANDIT_QUIET", off)
        with compilation.without_notice():
            assert compilation.notice() is None
        line = compilation.notice()
        assert line is not None
        assert "compiling kernels, once per machine" in line
        assert "COVBANDIT_QUIET=1" in line
        assert compilation.notice() is None


def test_a_notice_that_cannot_be_written_stops_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody reads standard error any more, as when a pipe was closed, or there is none."""

    class Broken(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    closed = io.StringIO()
    closed.close()
    monkeypatch.delenv("COVBANDIT_QUIET", raising=False)
    for standard_error in (Broken(), closed, None):
        monkeypatch.setattr(compilation, "_notice", compilation._Notice())
        with monkeypatch.context() as patched:
            patched.setattr(sys, "stderr", standard_error)
            compilation._give_notice(_small)
        assert compilation._notice.written


@pytest.mark.parametrize(
    ("terminal", "what", "given"), [(True, "ask", False), (True, "tell", True), (False, "ask", True)]
)
def test_a_command_that_shows_that_it_compiles_says_it_once(
    terminal: bool, what: str, given: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compilation, "_notice", compilation._Notice())
    monkeypatch.delenv("COVBANDIT_QUIET", raising=False)
    monkeypatch.setattr(console, "Console", lambda **_: Console(stderr=True, force_terminal=terminal))
    shown = console.waiting_for_learner("asking") if what == "ask" else console.Waiting("telling")
    with shown:
        assert (compilation.notice() is not None) == given
    assert (compilation.notice() is None) == given


def test_python_says_on_standard_error_that_it_compiles(tmp_path: Path) -> None:
    environment = {key: value for key, value in os.environ.items() if key != "COVBANDIT_QUIET"}
    code = "import covbandit as cb; print(cb.LinearFI(n_options=2).ask().tolist())"

    def run(**more: str) -> tuple[str, str]:
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            timeout=600,
            env={**environment, "NUMBA_CACHE_DIR": str(tmp_path / "kernels"), **more},
        )
        return done.stdout, done.stderr

    answer = "[0.5, 0.5]\n"
    assert run(COVBANDIT_QUIET="1", NUMBA_CACHE_DIR=str(tmp_path / "others")) == (answer, "")
    said, notice = run()
    assert said == answer
    assert notice.startswith("covbandit: compiling kernels, once per machine")
    assert notice.count("\n") == 1
    assert run() == (answer, "")  # found in the cache
