"""Damaged and hostile files: one error of ours, and little memory, whatever a file declares."""

from __future__ import annotations

import gzip
import io
import json
import os
import resource
import struct
import subprocess
import sys
import textwrap
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import covbandit as cb
from commands import covbandit
from covbandit.core.files import write_document
from covbandit.core.size_limits import MOST_COLUMNS, MOST_LEVELS
from covbandit.errors import CovbanditError, InvalidInput, StateFileError
from covbandit.learners.protocol.serialization import describe
from covbandit.specifications import specification
from covbandit.studies import packed_state

_ROOM = 3 * 2**29  # bytes of memory that a reader may have beyond what Python and its libraries take


def _refused_in_little_memory(code: str, folder: Path) -> str:
    """Run code that reads a hostile file, with a limit of memory; return the error of ours that it ends in."""
    script = f"""
        import resource, sys
        import numpy, covbandit as cb
        from covbandit.errors import CovbanditError
        import pyarrow, pyarrow.parquet, openpyxl, covbandit.specifications, covbandit.cli.study.files
        from covbandit.cli.study.files import read_entries
        from pathlib import Path
        with open("/proc/self/statm") as file:
            taken = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (taken + {_ROOM}, taken + {_ROOM}))
        try:
            {code}
        except CovbanditError as error:
            print(type(error).__name__, str(error)[:400])
        else:
            print("accepted")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},  # messages have letters that the machine's may lack
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip()


# Learners ------------------------------------------------------------------------------------------------------------


def _learner() -> cb.Learner:
    learner = cb.MCEmpirical(n_options=3, risk_aversion=0.1, options=["a", "b", "c"])
    learner.tell_many([[1 / 3] * 3] * 5, np.random.default_rng(0).standard_normal((5, 3)))
    return learner


def _write_learner(path: Path, change: Callable[[dict[str, Any]], None], learner: cb.Learner | None = None) -> Path:
    content = describe(learner or _learner())
    change(content)
    write_document(path, "learner", 1, content)
    return path


def _set(*keys: str, to: Any) -> Callable[[dict[str, Any]], None]:
    def change(content: dict[str, Any]) -> None:
        for key in keys[:-1]:
            content = content[key]
        content[keys[-1]] = to

    return change


_ARRAY = {"array": ["a"], "dtype": "U200000000", "shape": [1]}

_LEARNERS = {
    "negative rounds": _set("rounds_told", to=-5),
    "rounds beyond any": _set("rounds_told", to=2**80),
    "endless rounds": _set("rounds_told", to=float("inf")),
    "half a round": _set("rounds_told", to=5.5),
    "rounds in words": _set("rounds_told", to="5"),
    "many options": _set("config", "n_options", to=100_000),
    "more options than any": _set("config", "n_options", to=10**30),
    "options in words": _set("config", "n_options", to="3"),
    "more counted than told": _set("arrays", "count", to=[6.0, 5.0, 5.0]),
    "negative counts": _set("arrays", "count", to=[-1.0, 5.0, 5.0]),
    "counts that are no numbers": _set("arrays", "count", to=[float("nan"), 5.0, 5.0]),
    "options in use beyond floats": _set("arrays", "active", to=[1e308, 1e308, 1e308]),
    "no option in use": _set("arrays", "active", to=[0.0, 0.0, 0.0]),
    "integers beyond floats": _set("arrays", "mean", to=[10**400, 0, 0]),
    "ragged arrays": _set("arrays", "mean", to=[[1.0], 2.0, 3.0]),
    "arrays of another shape": _set("arrays", "mean", to=[[1.0, 2.0, 3.0]]),
    "no arrays": _set("arrays", to=[]),
    "no configuration": _set("config", to=[]),
    "long texts": _set("statistics", to={"x": _ARRAY}),
    "small integers": _set("statistics", to={"x": {"array": [1000], "dtype": "int8", "shape": [1]}}),
    "objects": _set("statistics", to={"x": {"array": [None], "dtype": "object", "shape": [1]}}),
    "dates": _set("statistics", to={"x": {"array": [1], "dtype": "M8[s]", "shape": [1]}}),
    "records": _set("statistics", to={"x": {"array": [1], "dtype": "i4,(1000000,1000000)i4", "shape": [1]}}),
    "shapes that are guessed": _set("statistics", to={"x": {"array": [1.0], "dtype": "float64", "shape": [-1]}}),
    "shapes that do not fit": _set("statistics", to={"x": {"array": [1.0], "dtype": "float64", "shape": [10**9]}}),
    "statistics of another shape": _set(
        "statistics", to={"pair_count": {"array": [1.0], "dtype": "float64", "shape": [1]}}
    ),
    "statistics that are none": _set("statistics", to=3),
    "a seed beyond any": _set("config", "seed", to=2**80),
}


@pytest.mark.parametrize("case", _LEARNERS)
def test_hostile_learners_are_refused(case: str, tmp_path: Path) -> None:
    path = _write_learner(tmp_path / "learner.json", _LEARNERS[case])
    for load in (cb.load_learner, cb.Allocator.load):
        with pytest.raises(StateFileError) as refused:
            load(path)
        assert "\n" not in str(refused.value)
        assert len(str(refused.value)) < 2000


# What kernels use as places in arrays, or as numbers of observations: learner, statistic, value.
_BELIEVED = [
    ("LinearFB", "cursor", 1e9),
    ("LinearFB", "cursor", -7.0),
    ("LinearFB", "cursor", 1.0),
    ("LinearFB", "begun", float("nan")),
    ("LinearFB", "completed", -1e300),
    ("LinearFB", "action_count", -5.0),
    ("LinearFB", "action_count", 1e9),
    ("LinearFB", "action_mean", float("inf")),
    ("LinearFB", "weights", 3.0),
    ("MCEmpirical", "reference", 1e9),
    ("MCEmpirical", "reference", -3.0),
    ("MCEmpirical", "reference", 0.5),
    ("MCEmpirical", "scatter", float("nan")),
    ("MCEmpirical", "last", 2.0),
    ("ShrunkEmpirical", "reference", 1.0),
    ("ShrunkEmpirical", "raw_mean", 1e308),
    ("OGD", "iterate", 3.0),
    ("OGD", "iterate", float("nan")),
    ("PairUCB", "pair_count", -5.0),
    ("PairUCB", "pair_count", 1e9),
    ("PairUCB", "ready", 2.0),
    ("PairUCB", "mean", float("nan")),
    ("GradientTS", "rounds", -1.0),
    ("GradientTS", "unit", 1e308),
]


@pytest.mark.parametrize(("kind", "name", "value"), _BELIEVED)
def test_learners_whose_kernels_would_believe_too_much_are_refused(
    kind: str, name: str, value: float, tmp_path: Path
) -> None:
    """Such files ended the process, or gave weights that are none."""
    arguments = {"LinearFB": {}, "PairUCB": {"risk_aversion": 1.0, "min_weight": 0.1}}
    learner = getattr(cb, kind)(n_options=3, **arguments.get(kind, {"risk_aversion": 1.0}))
    whole = np.full_like(learner._snapshot()[1][name], value).tolist()
    path = _write_learner(tmp_path / "learner.json", _set("arrays", name, to=whole), learner)
    with pytest.raises(StateFileError, match=name):
        cb.load_learner(path)


def test_statistics_of_pairs_are_all_there_and_none_is_negative(tmp_path: Path) -> None:
    learner = _learner()
    learner.tell_partly([0.5, 0.0, 0.5], [0.1, float("nan"), 0.2])
    assert cb.load_learner(_write_learner(tmp_path / "good.json", lambda content: None, learner)).statistics
    for change in (
        lambda content: content["statistics"].pop("squares"),
        _set("statistics", "pair_seen", "array", to=[[-1.0] * 3] * 3),
        _set("statistics", "pair_count", "array", to=[[7.0] * 3] * 3),
        _set("statistics", "pair_mean", "array", to=[[float("nan")] * 3] * 3),
        _set("statistics", "other", to=1),
    ):
        with pytest.raises(StateFileError, match="does not fit MCEmpirical"):
            cb.load_learner(_write_learner(tmp_path / "bad.json", change, learner))


def test_learners_that_declare_much_are_refused_before_room_is_made(tmp_path: Path) -> None:
    for k, (learner, change) in enumerate(
        {
            _learner(): _set("config", "n_options", to=10_000),
            cb.GradientTS(n_options=3, risk_aversion=1.0): _set("config", "start_up", to=10**11),
            cb.MCETE(n_options=3, risk_aversion=1.0): _set("config", "n_options", to=9_000),
            cb.FixedWeights(n_options=3): _set("statistics", to={"x": _ARRAY}),
        }.items()
    ):
        _write_learner(tmp_path / f"{k}.json", change, learner)
        said = _refused_in_little_memory(f'cb.load_learner("{k}.json")', tmp_path)
        assert said.startswith("StateFileError"), said
        assert "memory" not in said.lower(), said  # found out, not run into


@pytest.mark.parametrize("kind", ["learner", "aggregate-moments"])
def test_documents_that_are_none_are_refused(kind: str, tmp_path: Path) -> None:
    load: Callable[[Any], Any] = cb.load_learner if kind == "learner" else cb.AggregateMoments.load
    path = tmp_path / "saved.json"
    deep = '{"x":' * 100_000 + "1" + "}" * 100_000
    for text, message in (
        ("[" * 100_000 + "]" * 100_000, "nested too deeply"),
        (f'{{"format": "covbandit-{kind}", "version": 1, "checksum": "", "{kind}": {deep}}}', "nested too deeply"),
        ("1" * 10_000, "not complete JSON"),
        (f'{{"format": "covbandit-{kind}", "version": -1, "{kind}": {{}}}}', "format version -1"),
        (f'{{"format": "covbandit-{kind}", "version": true, "{kind}": {{}}}}', "format version True"),
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(StateFileError, match=message):
            load(path)
    with pytest.raises(StateFileError, match=r"cannot read 'nul\\x00.json'"):
        load("nul\0.json")
    with pytest.raises(StateFileError, match="cannot read"):
        load(tmp_path)


def test_a_document_larger_than_any_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    with path.open("wb") as file:
        file.truncate(2**33)  # takes no room on disk
    said = _refused_in_little_memory('cb.load_learner("large.json")', tmp_path)
    assert said.startswith("StateFileError"), said


# Estimators ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        _set("n_options", to=1_000),
        _set("n_options", to=-1),
        _set("n_options", to=10**30),
        _set("n_observations", to=-5),
        _set("n_observations", to=2**80),
        _set("n_observations", to=2),
        _set("sums", "V", to=[[1.0]]),
        _set("sums", "unit", to=float("nan")),
        _set("sums", "relevance", to=-1.0),
        _set("held", "y", to=[0.0] * 100_000),
        _set("held", "W", to=[[10**400, 0]]),
        _set("held", "W", to=[[-1.0, 2.0], [0.0, 1.0], [0.5, 0.5]]),
        _set("held", "y", to=[1e308, 2.0, 1.4]),
        _set("held", "weights", to=[-1.0, 1.0, 1.0]),
        _set("held", to=None),
        _set("options", to=["a"]),
    ],
)
def test_hostile_estimators_are_refused(change: Callable[[dict[str, Any]], None], tmp_path: Path) -> None:
    moments = cb.AggregateMoments(2)
    moments.update_many([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]], [1.0, 2.0, 1.4])
    path = tmp_path / "moments.json"
    moments.save(path)
    content = json.loads(path.read_text(encoding="utf-8"))["aggregate-moments"]
    change(content)
    write_document(path, "aggregate-moments", 1, content)
    with pytest.raises(StateFileError, match="does not fit AggregateMoments"):
        cb.AggregateMoments.load(path)
    said = _refused_in_little_memory('cb.AggregateMoments.load("moments.json")', tmp_path)
    assert said.startswith("StateFileError"), said


# Results and journals ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def result() -> cb.SimulationResult:
    problem = cb.Problem(mean=[0.1, 0.2], covariance=[[1.0, 0.1], [0.1, 1.0]], risk_aversion=0.5)
    return cb.simulate(problem, cb.FixedWeights(n_options=2), horizon=50, replications=3, workers=1)


@pytest.fixture(scope="module")
def replay() -> cb.SimulationResult:
    history = cb.data.Returns([[1.0, 2.0], [0.5, -1.0], [2.0, 0.0]], options=["a", "b"])
    environment = cb.environments.Replay(history)
    return cb.simulate(history.problem(0.5), cb.FixedWeights(n_options=2), environment=environment, workers=1)


def _npy(declared: str, data: bytes = b"") -> bytes:
    header = declared.encode("latin-1")
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


def _repack(source: Path, target: Path, changes: dict[str, Any], method: int = zipfile.ZIP_DEFLATED) -> Path:
    """Copy an archive with some arrays, or the raw bytes of some, in place of its own."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", method) as new:
        for name in old.namelist():
            change = changes.get(name.removesuffix(".npy"), old.read(name))
            if change is None:
                continue
            if not isinstance(change, bytes):
                buffer = io.BytesIO()
                np.save(buffer, change, allow_pickle=True)
                change = buffer.getvalue()
            new.writestr(name, change)
    return target


def _with_header(source: Path, target: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    with np.load(source) as stored:
        header = json.loads(str(stored["header"]))
    change(header)
    return _repack(source, target, {"header": np.array(json.dumps(header))})


_ARCHIVES: dict[str, dict[str, Any]] = {
    "a shape beyond any": {"regret": _npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }")},
    "a shape beyond integers": {"regret": _npy("{'descr': '<f8', 'fortran_order': False, 'shape': (10**99,), }")},
    "a negative shape": {"regret": _npy("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }")},
    "a deep header": {"regret": _npy("(" * 9_000 + ")" * 9_000)},
    "a header that is no dictionary": {"regret": _npy("[1, 2]")},
    "records": {"regret": _npy("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }", bytes(8))},
    "pickled": {"regret": np.array([{}], dtype=object)},
    "wrong shape": {"regret": np.zeros((2, 3, 4))},
    "transposed": {"weights": np.zeros((2, 50, 3, 1))},
    "other numbers": {"regret": np.zeros((1, 3, 21), dtype=np.float32)},
    "replications that are no numbers": {"replications": np.array(["a", "b", "c"])},
    "replications in fractions": {"replications": np.array([0.0, 1.0, 2.0])},
    "negative replications": {"replications": np.array([-1, 0, 1])},
    "replications twice": {"replications": np.array([0, 0, 1])},
    "replications in a table": {"replications": np.array([[0, 1, 2]])},
    "no weights": {"weights": None},
    "no header": {"header": None},
    "a header of numbers": {"header": np.zeros(3)},
    "a header of deep lists": {"header": np.array("[" * 100_000)},
    "text where an array belongs": {"weights": b"hello"},
    "truncated": {"weights": _npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1, 3, 21, 2), }", bytes(16))},
}


@pytest.mark.parametrize("case", _ARCHIVES)
def test_hostile_results_are_refused(case: str, result: cb.SimulationResult, tmp_path: Path) -> None:
    result.save(tmp_path / "good.npz")
    path = _repack(tmp_path / "good.npz", tmp_path / "bad.npz", _ARCHIVES[case])
    with pytest.raises(StateFileError) as refused:
        cb.SimulationResult.load(path)
    assert str(path) in str(refused.value)


@pytest.mark.parametrize(
    "change",
    [
        _set("version", to=-1),
        _set("version", to=True),
        _set("versions", to=None),
        _set("specification", to=None),
        _set("specification", "learners", to={}),
        _set("specification", "learners", to={"a": 1, "b": 2}),
        _set("specification", "checkpoints", to=[1, 2]),
        _set("specification", "checkpoints", to=[]),
        _set("specification", "horizon", to=-50),
        _set("specification", "horizon", to=2**80),
        _set("specification", "problem", to={"mean": [1.0, 2.0, 3.0]}),
        _set("specification", "environment", to=None),
    ],
)
def test_hostile_headers_are_refused(
    change: Callable[[dict[str, Any]], None],
    result: cb.SimulationResult,
    replay: cb.SimulationResult,
    tmp_path: Path,
) -> None:
    for good in (result, replay):
        good.save(tmp_path / "good.npz")
        with pytest.raises(StateFileError):
            cb.SimulationResult.load(_with_header(tmp_path / "good.npz", tmp_path / "bad.npz", change))


def test_a_replay_whose_history_does_not_fit_is_refused(replay: cb.SimulationResult, tmp_path: Path) -> None:
    replay.save(tmp_path / "good.npz")
    assert repr(cb.SimulationResult.load(tmp_path / "good.npz")) == repr(replay)
    for values in ([[1.0, 2.0]], [[1.0], [2.0], [3.0]], "x", None, [[10**400, 1]]):
        change = _set("specification", "environment", "replayed", "values", to=values)
        with pytest.raises(StateFileError):
            cb.SimulationResult.load(_with_header(tmp_path / "good.npz", tmp_path / "bad.npz", change))


def test_archives_that_unpack_to_much_are_refused_in_little_memory(result: cb.SimulationResult, tmp_path: Path) -> None:
    result.save(tmp_path / "good.npz")
    head = "{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}"
    bombs = {
        "regret": _npy(head.format("<f8", "(25000000,)"), bytes(200_000_000)),
        "header": _npy(head.format("<U50000000", "()"), bytes(200_000_000)),
        "replications": _npy(head.format("<i8", "(25000000,)"), bytes(200_000_000)),
    }
    for name, bomb in bombs.items():
        path = _repack(tmp_path / "good.npz", tmp_path / f"{name}.npz", {name: bomb})
        assert path.stat().st_size < 2**20
        said = _refused_in_little_memory(f'cb.SimulationResult.load("{path.name}")', tmp_path)
        assert said.startswith("StateFileError"), said
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        path = _repack(tmp_path / "good.npz", tmp_path / "packed.npz", {}, method)
        with pytest.raises(StateFileError, match="packed in a way"):
            cb.SimulationResult.load(path)


def test_results_saved_by_columns_load(result: cb.SimulationResult, tmp_path: Path) -> None:
    result.save(tmp_path / "good.npz")
    by_columns = {"weights": np.asfortranarray(result.weights), "regret": np.asfortranarray(result.regret)}
    path = _repack(tmp_path / "good.npz", tmp_path / "turned.npz", by_columns)
    again = cb.SimulationResult.load(path)
    np.testing.assert_array_equal(again.weights, result.weights)
    np.testing.assert_array_equal(again.regret, result.regret)


def _records(content: bytes) -> list[bytes]:
    at, found = content.index(b"\n") + 1, []
    while at < len(content):
        length, _ = struct.unpack_from("<QI", content, at)
        found.append(content[at + 12 : at + 12 + length])
        at += 12 + length
    return found


@pytest.mark.parametrize("case", ["header", "index", "shape", "bomb", "doubts", "noise"])
def test_hostile_journals_are_refused(case: str, tmp_path: Path) -> None:
    problem = cb.Problem(mean=[0.1, 0.2], covariance=[[1.0, 0.1], [0.1, 1.0]], risk_aversion=0.5)
    path = tmp_path / "journal"

    def run() -> cb.SimulationResult:
        return cb.simulate(problem, cb.FixedWeights(n_options=2), horizon=50, replications=2, workers=1, journal=path)

    run()
    content = path.read_bytes()
    header, record, *_ = _records(content)
    (tmp_path / "record.npz").write_bytes(record)
    changes: dict[str, dict[str, Any]] = {
        "index": {"index": np.int64(-5)},
        "shape": {"regret": np.zeros((2, 2))},
        "bomb": {"regret": _npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }")},
        "doubts": {"doubts": np.array("[1]")},
    }
    if case == "header":
        header = b'{"specification": 1}'
    elif case == "noise":
        record = b"noise"
    else:
        record = _repack(tmp_path / "record.npz", tmp_path / "bad.npz", changes[case]).read_bytes()
    packed = [struct.pack("<QI", len(each), zlib.crc32(each)) + each for each in (header, record)]
    path.write_bytes(content[: content.index(b"\n") + 1] + b"".join(packed))
    before = path.read_bytes()
    with pytest.raises(StateFileError, match="is damaged"):
        run()
    assert path.read_bytes() == before


def test_hostile_states_of_studies_are_refused() -> None:
    learner = _learner()
    packed = packed_state.pack(learner)
    assert packed_state.read(packed)[0] == 5

    def changed(header: Any, rest: bytes = b"") -> bytes:
        text = header if isinstance(header, bytes) else json.dumps(header).encode()
        body = struct.pack("<I", len(text)) + text + rest
        return b"CBS1" + packed_state._checksum(body) + body

    for header in (
        {"told": -5, "arrays": [], "statistics": {}},
        {"told": 2**80, "arrays": [], "statistics": {}},
        {"told": 5, "arrays": [["count", [10**12]]], "statistics": {}},
        {"told": 5, "arrays": [["count", [-1]]], "statistics": {}},
        {"told": 5, "arrays": [], "statistics": {"x": _ARRAY}},
        b"[" * 100_000,
        b"",
        [],
    ):
        with pytest.raises(StateFileError, match="damaged"):
            packed_state.read(changed(header))
    with pytest.raises(StateFileError, match="do not fit MCEmpirical"):
        packed_state.unpack(changed({"told": 5, "arrays": [], "statistics": {}}), learner)


# Tables --------------------------------------------------------------------------------------------------------------


def test_tables_that_unpack_to_much_are_refused_in_little_memory(tmp_path: Path) -> None:
    (tmp_path / "zeros.csv.gz").write_bytes(gzip.compress(bytes(2**29), 1))
    with (tmp_path / "large.csv").open("wb") as file:
        file.truncate(2**33)
    with (tmp_path / "large.xlsx").open("wb") as file:
        file.truncate(2**33)
    n = 30_000_000
    pq.write_table(pa.table({"date": np.zeros(n, np.int8), "A": np.zeros(n, np.int8)}), tmp_path / "rows.parquet")
    words = pa.DictionaryArray.from_arrays(pa.array(np.zeros(10_000, np.int32)), ["x" * 10**6])
    pq.write_table(pa.table({"A": words}), tmp_path / "words.parquet")
    with zipfile.ZipFile(tmp_path / "bomb.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", bytes(2**29))
    for name in ("zeros.csv.gz", "large.csv", "large.xlsx", "rows.parquet", "words.parquet", "bomb.xlsx"):
        said = _refused_in_little_memory(f'cb.data.read_returns("{name}", kind="returns")', tmp_path)
        assert said.startswith("InvalidInput"), (name, said)
        assert "memory" not in said, (name, said)
    for name in ("zeros.csv.gz", "large.csv"):
        said = _refused_in_little_memory(f'read_entries(Path("{name}"), ["A"], False, True)', tmp_path)
        assert said.startswith("InvalidInput"), (name, said)


def test_a_table_with_more_columns_than_are_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    names = [f"o{k}" for k in range(200_000)]
    path.write_text("\n".join([",".join(names), *[",".join(["1"] * 200_000)] * 3]), encoding="utf-8")
    with pytest.raises(InvalidInput, match=rf"wide.csv has 200,000 columns; at most {MOST_COLUMNS:,} are read"):
        cb.data.read_returns(path, kind="returns")
    wide = pa.table({name: [1.0] for name in names[: MOST_COLUMNS + 1]})
    pq.write_table(wide, tmp_path / "wide.parquet")
    with pytest.raises(InvalidInput, match=r"wide.parquet has 32,769 columns"):
        cb.data.read_returns(tmp_path / "wide.parquet", kind="returns")
    path.write_text("\n".join([",".join(names[:20_000]), *[",".join(["1"] * 20_000)] * 3]), encoding="utf-8")
    with pytest.raises(InvalidInput, match="n_options must be at most 10,000, got 20,000"):
        cb.data.read_returns(path, kind="returns")
    picked = cb.data.read_returns(_wide(tmp_path), kind="returns", options=["o5", "o7"])  # a few of many are fine
    assert picked.options == ("o5", "o7")


def _wide(folder: Path) -> Path:
    path = folder / "many.csv"
    rows = [[f"o{k}" for k in range(20_000)], *([f"{(k + r) % 3 / 10}" for k in range(20_000)] for r in range(3))]
    path.write_text("\n".join(",".join(row) for row in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "label",
    ["Jan {}" + ", " * 40 + "x", "Jan {}" + " " * 100_000 + "x", "{}" + " " * 100_000 + "x", "{}e999999999"],
)
def test_labels_that_would_take_for_ever_are_read_at_once(label: str, tmp_path: Path) -> None:
    rows = [f'"{label.format(k)}",{k / 10}' for k in range(1, 4)]
    (tmp_path / "table.csv").write_text("\n".join(["date,A", *rows]), encoding="utf-8")
    said = _refused_in_little_memory('cb.data.read_returns("table.csv", kind="returns")', tmp_path)
    assert said == "accepted" or "cannot be told" in said, said


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"not a workbook", bytes(1000)])
def test_files_that_are_no_workbooks_are_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "table.xlsx"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match=r"table\.xlsx is truncated or not an Excel file"):
        cb.data.read_returns(path, kind="returns")


def test_a_workbook_that_declares_rows_without_end_is_refused(tmp_path: Path) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    for row in (["date", "A"], ["2024-01", 0.1], ["2024-02", -0.1]):
        book.active.append(row)
    book.save(tmp_path / "good.xlsx")
    with zipfile.ZipFile(tmp_path / "good.xlsx") as old, zipfile.ZipFile(tmp_path / "bad.xlsx", "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name.endswith("sheet1.xml"):
                content = content.replace(b'<row r="3"', b'<row r="99999999999"').replace(b'"A3"', b'"A99999999999"')
            new.writestr(name, content)
    with pytest.raises(InvalidInput):
        cb.data.read_returns(tmp_path / "bad.xlsx", kind="returns")


def test_damaged_parquet_is_refused_at_every_byte(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    table = {"date": ["2024-01", "2024-02", "2024-03"], "A": [0.1, 0.2, -0.1], "B": [0.3, 0.1, 0.2]}
    pq.write_table(pa.table(table), path)
    whole = path.read_bytes()
    rng = np.random.default_rng(3)
    for _ in range(200):
        content = bytearray(whole)
        for at in rng.integers(0, len(whole), rng.integers(1, 4)):
            content[at] = rng.integers(256)
        path.write_bytes(bytes(content))
        try:
            cb.data.read_returns(path, kind="returns", check=False)
        except CovbanditError:
            continue


# Files of rounds, specifications -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("log.json", "[" * 100_000, "nested too deeply"),
        ("log.json", '[{"outcome": ' + "1" * 5_000 + "}]", "too many digits"),
        ("log.json", "{" + ", ".join(f'"{k}": 0' for k in [*range(200_000), 199_999]) + "}", "'199999' is named twice"),
        ("log.csv", ",".join(f"c{k}" for k in range(200_000)) + "\n", "200,000 columns"),
        ("log.csv", ",".join(f"c{k}" for k in [*range(30_000), 29_999]) + "\n", "two columns 'c29999'"),
    ],
)
def test_hostile_files_of_rounds_are_refused(name: str, text: str, message: str, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/studies.db"
    cb.Study.create("s", ["A", "B"], cb.allocator(["A", "B"], risk_aversion=1.0), outcome="per_unit", store=store)
    (tmp_path / name).write_text(text, encoding="utf-8")
    done = covbandit("study", "outside", "s", "--file", str(tmp_path / name), "--store", store)
    assert done.returncode != 0
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 100_000 + "]" * 100_000,
        "a = " + "{a = " * 100_000 + "1" + "}" * 100_000,
        "a." * 100_000 + "a = 1",
        "[" + "a." * 100_000 + "a]",
        "[" + '"a" . ' * 100_000 + "a]",
        "x = {" + "a." * 100_000 + "a = 1}",
        "a." * (MOST_LEVELS + 2) + "a = 1",
        "\n".join(f"[{'.'.join(['a'] * k)}]" for k in range(1, MOST_LEVELS + 3)),
    ],
)
def test_specifications_nested_too_deep_are_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "deep.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput, match="nested too deep"):
        specification.load(path)


def test_a_specification_larger_than_any_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "large.toml").open("wb") as file:
        file.truncate(2**33)
    said = _refused_in_little_memory('cb.specifications.load("large.toml")', tmp_path)
    assert said.startswith("InvalidInput"), said


def test_the_limit_of_memory_is_one() -> None:
    """The limit that these tests rest on holds: Python itself runs into it."""
    code = f"""
        import resource
        resource.setrlimit(resource.RLIMIT_AS, ({_ROOM}, {_ROOM}))
        try:
            bytes({2 * _ROOM})
        except MemoryError:
            print("refused")
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "refused"
    assert resource.RLIMIT_AS
