"""Files and stores that version 0.1 wrote are loaded and gone on with, and give the numbers that 0.1 gave.

``files_of_0_1`` holds them, each with what 0.1 got from it (``make_files.py`` says how). Where software and processor
are those of ``made_by.json``, every bit must be the same; elsewhere numbers may differ by 1e-9, and by 1e-6 for
learners that search. With ``COVBANDIT_EXACT_FIXTURES=1`` every bit must be the same wherever the test runs, with
``COVBANDIT_EXACT_FIXTURES=0`` the tolerances hold even on the same machine.

Only public names are used here, so that this test needs no change when inner modules move.
"""

from __future__ import annotations

import inspect
import io
import json
import os
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import covbandit as cb
import own_learners_of_0_1 as own_learners
from covbandit import learners
from old_files import (
    JOURNAL,
    MORE_REPLICATIONS,
    RECORD,
    REPLICATIONS,
    TOLERANCE,
    differences,
    go_on_with_allocator,
    go_on_with_learner,
    go_on_with_moments,
    go_on_with_study,
    look_at_result,
    look_at_study,
    machine,
    records,
    restored_store,
    simulations,
    tolerance_of,
)
from service_calls import calling

assert own_learners  # whoever loads a learner of his own has imported its module

HERE = Path(__file__).parent / "files_of_0_1"
EXPECTED = ".expected.json"
OWN = {"own_learners_of_0_1:InverseVariance", "own_learners_of_0_1:CompiledInverseVariance"}


def files(folder: str, ending: str = ".json") -> list[Any]:
    """Return the files of a folder, to be given to a test one by one."""
    found = sorted(file for file in (HERE / folder).glob(f"*{ending}") if not file.name.endswith(EXPECTED))
    return [pytest.param(file, id=file.stem) for file in found]


def studies() -> list[Any]:
    """Return what is expected of each study in the store, to be given to a test one by one."""
    found = sorted(file for file in (HERE / "store").glob(f"*{EXPECTED}") if not file.name.startswith("studies.sql"))
    return [pytest.param(file, id=file.name.removesuffix(EXPECTED)) for file in found]


def expected_of(file: Path) -> dict[str, Any]:
    beside = file.with_name(file.name.removesuffix(".json") + EXPECTED)
    expected: dict[str, Any] = json.loads(beside.read_text(encoding="utf-8"))
    return expected


def is_exact(written_on: dict[str, str] | None = None) -> bool:
    """Return True if every bit must be as it was; files of later learners say on which machine they were written."""
    wanted = os.environ.get("COVBANDIT_EXACT_FIXTURES")
    if wanted is not None:
        assert wanted in ("0", "1"), "COVBANDIT_EXACT_FIXTURES is 0 or 1"
        return wanted == "1"
    if written_on is None:
        written_on = json.loads((HERE / "made_by.json").read_text(encoding="utf-8"))["machine"]
    return written_on == machine()


def require_same(found: Any, expected: Any, tolerance: float, written_on: dict[str, str] | None = None) -> None:
    wrong = list(differences(found, expected, None if is_exact(written_on) else tolerance))
    assert not wrong, f"{len(wrong)} differences:\n" + "\n".join(wrong[:20])


# That nothing is left out ---------------------------------------------------------------------------------------------


def learner_classes() -> set[str]:
    public = [getattr(learners, name) for name in learners.__all__]
    return {kind.__name__ for kind in public if inspect.isclass(kind) and issubclass(kind, learners.Learner)} - {
        "Learner"
    }


def test_every_learner_has_a_file() -> None:
    saved = {json.loads(case.values[0].read_text(encoding="utf-8"))["learner"]["class"] for case in files("learners")}
    assert saved >= learner_classes(), "write a file of the new learner, see files_of_0_1/make_files.py"
    assert saved - learner_classes() == OWN


def test_nothing_was_lost() -> None:
    of_then = [case for case in files("learners") if "machine" not in expected_of(case.values[0])]
    assert len(of_then) == 116
    assert len(files("allocators")) == 5
    assert len(files("moments")) == 3
    assert len(files("results", ".npz")) == len(simulations()) == 6
    played = [json.loads(case.values[0].read_text(encoding="utf-8"))["learner"] for case in studies()]
    assert len(played) == 22
    saved = {json.loads(case.values[0].read_text(encoding="utf-8"))["learner"]["class"] for case in of_then}
    assert len(saved) == 15
    assert set(played) == saved


def test_a_difference_is_found() -> None:
    """The comparison itself: one bit where all must be the same, more than the tolerance elsewhere."""
    one = {"weights": [0.5, 0.25, None], "told": 3, "name": "a", "message": "in words"}
    other = {**one, "weights": [0.5, float(np.nextafter(0.25, 1)), None], "message": "in other words", "new": 1}
    assert not list(differences(one, one, None))
    assert list(differences(other, one, None)) == [".weights[1] is 0.25000000000000006, not 0.25"]
    assert not list(differences(other, one, TOLERANCE))
    for change in (
        {"weights": [0.5, 0.25 + 1e-9, None]},
        {"weights": [0.5, 0.25, 0.0]},
        {"weights": [0.5, None, None]},
        {"weights": [0.5, float("nan"), None]},
        {"weights": [0.5, 0.25]},
        {"told": 4},
        {"told": None},
        {"name": "b"},
    ):
        assert len(list(differences(one | change, one, TOLERANCE))) == 1, change
    assert list(differences({"told": 3}, one, TOLERANCE)) == [".weights is missing", ".name is missing"]
    assert list(differences([-0.0], [0.0], None))
    assert list(differences([1], [1.0], None))


# Files ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", files("learners"))
def test_a_learner_goes_on(file: Path) -> None:
    expected = expected_of(file)
    learner = cb.load_learner(file)
    assert isinstance(learner, cb.Learner)
    case, written_on = expected.pop("case"), expected.pop("machine", None)
    require_same(go_on_with_learner(learner, **case), expected, tolerance_of(type(learner).__name__), written_on)


@pytest.mark.parametrize("file", files("learners"))
def test_a_learner_is_saved_as_it_was_loaded(file: Path, tmp_path: Path) -> None:
    cb.load_learner(file).save(tmp_path / "again.json")
    before, after = (
        json.loads(each.read_text(encoding="utf-8"))["learner"] for each in (file, tmp_path / "again.json")
    )
    # Arguments within rounding: FixedWeights divides weights by their sum again, which may move their last bit.
    wrong = [*differences(after.pop("config"), before.pop("config"), 1e-15), *differences(after, before, None)]
    assert not wrong, "\n".join(wrong[:20])


@pytest.mark.parametrize("file", files("allocators"))
def test_an_allocator_goes_on(file: Path) -> None:
    require_same(go_on_with_allocator(cb.Allocator.load(file)), expected_of(file), TOLERANCE)


@pytest.mark.parametrize("file", files("moments"))
def test_moments_go_on(file: Path) -> None:
    require_same(go_on_with_moments(cb.AggregateMoments.load(file)), expected_of(file), TOLERANCE)


# Results --------------------------------------------------------------------------------------------------------------


def simulation_of(file: Path) -> dict[str, Any]:
    return simulations()[file.stem.replace("-", " ")]


@pytest.mark.parametrize("file", files("results", ".npz"))
def test_a_result_is_read_and_can_be_computed_again(file: Path) -> None:
    expected = expected_of(file)
    loaded = cb.SimulationResult.load(file)
    require_same(look_at_result(loaded), expected["loaded"], TOLERANCE)
    again = look_at_result(cb.simulate(**simulation_of(file), replications=REPLICATIONS))
    require_same(again, expected["loaded"], TOLERANCE)


@pytest.mark.parametrize("file", files("results", ".npz"))
def test_a_result_is_continued(file: Path) -> None:
    """By design only by the software that computed it: what stands in the way must be that, and nothing else."""
    loaded, arguments = cb.SimulationResult.load(file), simulation_of(file)
    problem = loaded.specification["problem"]
    if "mean" in problem:  # elsewhere the moments of a history may have other last bits, so be another problem
        arguments["problem"] = cb.Problem(**problem)
    now = cb.simulate(**arguments, replications=1).versions
    if loaded.versions != now:
        with pytest.raises(cb.errors.InvalidInput, match="computed by other software"):
            cb.simulate(**arguments, replications=MORE_REPLICATIONS, resume=loaded)
    continued = cb.simulate(**arguments, replications=MORE_REPLICATIONS, resume=replace(loaded, versions=now))
    require_same(look_at_result(continued), expected_of(file)["continued"], TOLERANCE)


def test_a_journal_is_continued(tmp_path: Path) -> None:
    """By design only by the software that wrote it, so it is given a header of today's; the replications are read."""
    file = HERE / "results" / "everything-seen.journal"
    expected = expected_of(file.with_suffix(".npz"))["continued"]
    arguments = simulation_of(file)
    journal, today = tmp_path / "it.journal", tmp_path / "today.journal"
    cb.simulate(**arguments, replications=1, journal=today)
    header, *done = records(file.read_bytes())
    new_header, _ = records(today.read_bytes())
    assert len(done) == REPLICATIONS + 1  # of which the last is torn
    if header != new_header:
        journal.write_bytes(file.read_bytes())
        with pytest.raises(cb.errors.InvalidInput, match="computed by other software"):
            cb.simulate(**arguments, replications=MORE_REPLICATIONS, journal=journal)
        assert journal.read_bytes() == file.read_bytes()

    journal.write_bytes(b"".join([JOURNAL, new_header, *done]))
    continued = look_at_result(cb.simulate(**arguments, replications=MORE_REPLICATIONS, journal=journal))
    require_same(continued, expected, TOLERANCE)
    kept = b"".join([JOURNAL, new_header, *done[:-1]])
    assert journal.read_bytes().startswith(kept)
    assert len(records(journal.read_bytes())) == 1 + MORE_REPLICATIONS

    # Replications that are in the journal are not computed again: other regret in it is other regret in the result.
    with np.load(io.BytesIO(done[0][RECORD.size :])) as stored:
        changed = {**stored, "regret": stored["regret"] + 1.0}
    buffer = io.BytesIO()
    np.savez(buffer, **changed)
    record = RECORD.pack(len(buffer.getvalue()), zlib.crc32(buffer.getvalue())) + buffer.getvalue()
    journal.write_bytes(b"".join([JOURNAL, new_header, record, *done[1:]]))
    other = cb.simulate(**arguments, replications=MORE_REPLICATIONS, journal=journal)
    added = other.regret - np.array(continued["regret"])
    assert np.allclose(added[:, int(changed["index"])], 1.0)
    assert np.count_nonzero(added) == added[:, 0].size


# Studies --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def store(tmp_path: Path) -> Iterator[cb.studies.Store]:
    with cb.studies.Store.of_any_schema(restored_store(HERE / "store" / "studies.sql", tmp_path / "store.db")) as old:
        old.upgrade()
    with cb.studies.Store(tmp_path / "store.db") as opened:
        yield opened


@pytest.mark.parametrize("file", studies())
def test_a_study_goes_on(file: Path, store: cb.studies.Store) -> None:
    expected = json.loads(file.read_text(encoding="utf-8"))
    tolerance = tolerance_of(expected["learner"])
    study = cb.Study.open(expected["study"], store)
    verified = study.verify()
    assert verified.ok, verified.message
    assert verified.exact or not is_exact(), verified.message
    require_same(look_at_study(study, expected["exports"]), expected["before"], tolerance)
    require_same(go_on_with_study(study), expected["after"], tolerance)


def test_all_studies_are_listed(store: cb.studies.Store) -> None:
    wanted = {json.loads(case.values[0].read_text(encoding="utf-8"))["study"] for case in studies()}
    assert {each.name for each in cb.studies.list_studies(store)} == wanted


def test_tokens_open_the_service(
    store: cb.studies.Store, tmp_path: Path, command_line: Callable[..., tuple[int, str, str]]
) -> None:
    expected = expected_of(HERE / "store" / "studies.sql")
    code, listed, _ = command_line("token", "list", "--store", str(tmp_path / "store.db"), "--json")
    assert code == 0
    assert json.loads(listed)["tokens"] == expected["listed"]
    for scope, status in {"read": 200, "tell": 401, "admin": 200}.items():  # that for telling was revoked
        with calling(store, token=expected["tokens"][scope]) as client:
            assert client.get("/api/v1/studies").status_code == status
    with calling(store) as client:
        assert client.get("/api/v1/studies").status_code == 401
