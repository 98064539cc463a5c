"""A least weight above one half: no two options fit, so pairs are never seen; that is said plainly, and once."""

from __future__ import annotations

import pickle
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import covbandit as cb
from covbandit.errors import SetupWarning
from covbandit.studies import list_studies

Run = Callable[..., tuple[int, str, str]]

SAID = r"min_weight=0\.\d+ is above one half, so only one of the 3 options .* risk is that of single options"
MAKE: dict[str, Callable[..., Any]] = {
    "PairUCB": lambda **more: cb.PairUCB(n_options=3, risk_aversion=0.5, **more),
    "MCUCB": lambda **more: cb.MCUCB(n_options=3, risk_aversion=0.5, **more),
    "MCUCBGamma": lambda **more: cb.MCUCBGamma(n_options=3, risk_aversion=0.5, gamma=2.0, **more),
    "allocator": lambda **more: cb.allocator(["a", "b", "c"], "chosen", risk_aversion=0.5, **more),
}


@pytest.mark.parametrize("name", MAKE)
def test_it_is_said_to_whoever_makes_the_learner(name: str) -> None:
    with pytest.warns(SetupWarning, match=SAID) as caught:
        MAKE[name](min_weight=0.6)
    assert [warning.filename for warning in caught] == [__file__]  # the user's own line


@pytest.mark.parametrize("name", MAKE)
@pytest.mark.parametrize("least", [0.5, 1 / 3, 0.1, None])
def test_up_to_one_half_exactly_pairs_fit(name: str, least: float | None) -> None:
    """Warnings are errors here; and two options are shown at once, which is why nothing has to be said."""
    made = MAKE[name](min_weight=least)
    learner = made if isinstance(made, cb.learners.Learner) else made.learner
    rewards = np.random.default_rng(1).normal(size=(40, 3))
    most = 0
    for row in rewards:
        weights = learner.ask()
        most = max(most, int((weights > 0).sum()))
        learner.tell(weights, np.where(weights > 0, row, np.nan))
    assert most >= 2


def test_just_above_one_half_no_pair_is_ever_seen() -> None:
    with pytest.warns(SetupWarning, match="above one half"):
        learner = cb.PairUCB(n_options=3, risk_aversion=0.5, min_weight=0.5 + 1e-9)
    for row in np.random.default_rng(1).normal(size=(40, 3)):
        weights = learner.ask()
        assert (weights > 0).sum() == 1
        learner.tell(weights, np.where(weights > 0, row, np.nan))


def test_nothing_is_said_where_nothing_follows() -> None:
    """Of a single option, of means alone, or where every option is seen whatever its weight. Warnings are errors."""
    cb.PairUCB(n_options=1, risk_aversion=0.5, min_weight=0.6)
    cb.OLSUCBC(n_options=3, min_weight=0.6)
    cb.MCEmpirical(n_options=3, risk_aversion=0.5, min_weight=0.6)
    cb.allocator(["a", "b"], "all", risk_aversion=0.5, min_weight=0.6)


def test_copies_and_files_say_nothing_again(tmp_path: Path) -> None:
    with pytest.warns(SetupWarning) as caught:
        learner = cb.PairUCB(n_options=3, risk_aversion=0.5, min_weight=0.6)
    assert len(caught) == 1
    learner.clone()
    pickle.loads(pickle.dumps(learner))
    learner.save(tmp_path / "learner.json")
    cb.load_learner(tmp_path / "learner.json")


def test_a_study_says_it_when_it_is_created_and_keeps_saying_it_in_its_summary(tmp_path: Path) -> None:
    learner = {"feedback": "chosen", "risk_aversion": 0.5, "min_weight": 0.6}
    with pytest.warns(SetupWarning, match=SAID) as caught:
        study = cb.Study.create("ads", ["a", "b", "c"], learner, "amount", tmp_path / "s.db")
    assert [warning.filename for warning in caught] == [__file__]
    asked = study.ask()  # warnings are errors from here on
    study.tell(asked.id, {name: 1.0 for name, w in asked.weights.items() if w > 0})
    again = cb.Study.open("ads", tmp_path / "s.db")
    (remark,) = again.summary().remarks
    assert "risk is that of single options" in remark
    assert list_studies(tmp_path / "s.db")[0].remarks == (remark,)
    plain = cb.Study.create(
        "plain", ["a", "b"], {"feedback": "all", "risk_aversion": 0.5}, "per_unit", tmp_path / "s.db"
    )
    assert plain.summary().remarks == ()
    for each in (study, again, plain):
        each.close()


def test_another_thread_still_hears_it() -> None:
    """Remarks are held back for copies alone, not in other threads meanwhile."""
    from covbandit.learners.protocol.setup_warnings import said_before

    heard: list[type[Warning]] = []

    def make() -> None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            MAKE["PairUCB"](min_weight=0.6)
            heard.extend(warning.category for warning in caught)

    with said_before():
        MAKE["PairUCB"](min_weight=0.6)
        thread = threading.Thread(target=make)
        thread.start()
        thread.join()
    assert heard == [SetupWarning]


def test_the_command_line_says_it_once(command_line: Run) -> None:
    words = ("--options", "a,b,c", "--feedback", "chosen", "--risk-aversion", "0.5", "--outcome", "amount")
    status, shown, told = command_line("study", "create", "ads", *words, "--min-weight", "0.6")
    assert status == 0
    assert (shown + told).count("risk is that of single options") == 1
    status, shown, _ = command_line("study", "show", "ads")
    assert "note: min_weight=0.6 is above one half" in shown
    status, shown, told = command_line("study", "create", "fits", *words, "--min-weight", "0.5")
    assert "note:" not in shown + told


@pytest.mark.parametrize("arguments", [["--check"], []], ids=["checked", "run"])
def test_a_simulation_from_a_file_says_it_once_in_a_line(
    arguments: list[str], tmp_path: Path, command_line: Run
) -> None:
    (tmp_path / "my.toml").write_text(
        "horizon = 20\nreplications = 2\n[problem]\npreset = 'synthetic'\nmin_weight = 0.6\n"
        "risk_aversion = [0.1, 1.0]\n[[learners]]\nclass = 'PairUCB'\n",
        encoding="utf-8",
    )
    status, shown, told = command_line("simulate", "my.toml", *arguments)
    assert status == 0
    (line,) = [line for line in told.splitlines() if "risk is that of single options" in line]
    assert line.startswith("note: min_weight=0.6 is above one half")
    assert "Warning" not in shown + told
    status, _, told = command_line("bounds", "my.toml")  # in which learners have no part
    assert (status, told) == (0, "")
