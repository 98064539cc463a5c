"""Saved learners: exact, versioned, and refused with the reason when something is wrong."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest

import covbandit as cb
from covbandit.errors import CovbanditError, SetupWarning, StateFileError
from example_learners import FollowTheLeader
from semi_bandit_play import play


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    learner = cb.MCEmpirical(n_options=3, risk_aversion=0.1, options=["a", "b", "c"], hold=([1 / 3] * 3, 2))
    rng = np.random.default_rng(0)
    for _ in range(20):
        learner.tell(learner.ask(), rng.standard_normal(3) / 3)
    path = tmp_path / "learner.json"
    learner.save(path)
    return path


def _edit(path: Path, **changes: object) -> None:
    document = json.loads(path.read_text(encoding="utf-8"))
    document.update(changes)
    path.write_text(json.dumps(document), encoding="utf-8")


def test_the_file_is_plain_json_with_exact_floats(saved: Path) -> None:
    document = json.loads(saved.read_text(encoding="utf-8"))
    assert document["format"] == "covbandit-learner"
    assert document["version"] == 1
    assert document["learner"]["class"] == "MCEmpirical"
    assert document["learner"]["rounds_told"] == 20
    again = cb.load_learner(saved)
    assert isinstance(again, cb.MCEmpirical)
    assert again.options == ("a", "b", "c")
    assert again.hold is not None
    assert again.hold[1] == 2
    assert document["learner"]["arrays"]["mean"] == again._view.saved()["mean"].tolist()


@pytest.mark.parametrize("length", [0, 1, 100, -2])
def test_truncated(saved: Path, length: int) -> None:
    saved.write_text(saved.read_text(encoding="utf-8")[:length], encoding="utf-8")
    with pytest.raises(StateFileError, match="not complete JSON"):
        cb.load_learner(saved)


def test_foreign(saved: Path) -> None:
    saved.write_text("[1, 2]", encoding="utf-8")
    with pytest.raises(StateFileError, match="no learner saved by covbandit"):
        cb.load_learner(saved)
    saved.write_bytes(b"\xff\xfe\x00binary")
    with pytest.raises(StateFileError, match="not a text file"):
        cb.load_learner(saved)


def test_missing(tmp_path: Path) -> None:
    with pytest.raises(StateFileError, match="No such file"):
        cb.load_learner(tmp_path / "nothing.json")


def test_newer(saved: Path) -> None:
    _edit(saved, version=2, covbandit="9.0")
    with pytest.raises(StateFileError, match=r"format version 2, written by covbandit 9\.0.*upgrade"):
        cb.load_learner(saved)


def test_damaged(saved: Path) -> None:
    document = json.loads(saved.read_text(encoding="utf-8"))
    document["learner"]["arrays"]["mean"][0] += 1e-9
    _edit(saved, learner=document["learner"])
    with pytest.raises(StateFileError, match="checksum"):
        cb.load_learner(saved)


def _tamper(saved: Path, key: str, value: object) -> None:
    """Change the content and make the checksum fit."""
    from covbandit.core.files import _checksum

    content = json.loads(saved.read_text(encoding="utf-8"))["learner"]
    content[key] = value
    _edit(saved, learner=content, checksum=_checksum(content))


def test_unknown_class(saved: Path) -> None:
    _tamper(saved, "class", "os:system")
    with pytest.raises(StateFileError, match=r"'os:system' is not known here; import the module"):
        cb.load_learner(saved)


def test_content_that_does_not_fit(saved: Path) -> None:
    _tamper(saved, "arrays", {"mean": [1.0]})
    with pytest.raises(StateFileError, match="are not those of MCEmpirical"):
        cb.load_learner(saved)
    _tamper(saved, "config", {"n_options": 3})
    with pytest.raises(StateFileError, match="does not fit MCEmpirical"):
        cb.load_learner(saved)


def test_a_failed_save_leaves_the_old_file(saved: Path) -> None:
    before = saved.read_text(encoding="utf-8")
    learner = FollowTheLeader(n_options=2)
    learner.statistics["handle"] = object()
    with pytest.raises(CovbanditError, match="cannot save a object"):
        learner.save(saved)
    assert saved.read_text(encoding="utf-8") == before
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_pickling_for_workers_keeps_everything(saved: Path) -> None:
    learner = cb.load_learner(saved)
    again = pickle.loads(pickle.dumps(learner))
    assert np.array_equal(learner.ask(), again.ask())
    assert again.rounds_told == 20


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    missing = tmp_path / "no such folder" / "learner.json"
    with pytest.raises(StateFileError, match=r"cannot write .*learner\.json: No such file or directory"):
        cb.FixedWeights(n_options=2).save(missing)
    with pytest.raises(StateFileError, match=r"cannot write .*: Is a directory"):
        cb.FixedWeights(n_options=2).save(tmp_path)
    with pytest.raises(StateFileError, match=r"cannot write .*: the name of a file cannot contain a null byte"):
        cb.FixedWeights(n_options=2).save(tmp_path / "nul\0.json")
    assert list(tmp_path.parent.glob(f".{tmp_path.name}*")) == []


GAMMA = np.array([[2.0, 0.1, 1 / 3], [0.1, 1.0, -0.2], [1 / 3, -0.2, 1.5]])
with pytest.warns(SetupWarning, match="is above one half"):
    ONE_AT_A_TIME = cb.MCUCBGamma(n_options=3, risk_aversion=0.1, gamma=3.0, min_weight=0.7)


@pytest.mark.parametrize(
    "learner",
    [
        cb.MCUCB(n_options=3, risk_aversion=0.1, radius_scale=(0.1, 0.3), cap_upper=True, variance_bound=2.0),
        cb.MCUCB(n_options=3, risk_aversion=0.1, min_weight=None),
        cb.MCUCBGamma(n_options=3, risk_aversion=0.1, gamma=GAMMA, options=["a", "b", "c"]),
        ONE_AT_A_TIME,
        cb.OLSUCBC(n_options=3, gamma=GAMMA.tolist(), regularization=0.1, hold=([0.2, 0.3, 0.5], 5)),
        cb.PairUCB(n_options=3, risk_aversion=0.1, bonus=0.7, min_weight=1 / 3),
    ],
    ids=repr,
)
@pytest.mark.parametrize("rounds", [0, 4, 40])
def test_semi_bandit_learners(learner: cb.Learner, rounds: int, tmp_path: Path) -> None:
    """Saved in the middle of start-up or after it, they go on as if nothing had happened; so do copies."""
    rewards = 0.5 * np.random.default_rng(1).standard_normal((rounds + 30, 3))
    original = learner.clone()
    play(original, rewards[:rounds])
    path = tmp_path / "learner.json"
    original.save(path)
    copies = [cb.load_learner(path), original.clone(), pickle.loads(pickle.dumps(original))]
    expected = play(original, rewards[rounds:])
    for copy in copies:
        assert type(copy) is type(learner)
        assert repr(copy) == repr(learner)
        gamma = getattr(learner, "gamma", None)
        assert np.array_equal(getattr(copy, "gamma", None), gamma)  # type: ignore[arg-type]
        assert np.array_equal(play(copy, rewards[rounds:]), expected)


def test_a_damaged_gamma_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "learner.json"
    cb.MCUCBGamma(n_options=3, risk_aversion=0.1, gamma=GAMMA).save(path)
    config = json.loads(path.read_text(encoding="utf-8"))["learner"]["config"]
    config["gamma"]["array"][0][1] = 0.5
    _tamper(path, "config", config)
    with pytest.raises(StateFileError, match=r"does not fit MCUCBGamma.*gamma is not symmetric"):
        cb.load_learner(path)
