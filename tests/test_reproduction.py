"""The paper's panels: which there are, what they decide on seeded runs, and how they go on after an interruption."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import covbandit as cb
from covbandit.errors import Interrupted, InvalidInput
from covbandit.reproduction import PANELS, panels_named, report, reproduce
from covbandit.reproduction.claims import grows_at_most, pays_more

BOTH = ["fb-synthetic-rho10", "fb-synthetic-rho0.1"]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ([], list(PANELS)),
        (["fi-synthetic"], ["fi-synthetic"]),
        (["fb-synthetic"], BOTH),
        (["fb"], BOTH),
        (["fb-synthetic-rho0.1"], ["fb-synthetic-rho0.1"]),
        (["fb-synthetic", "sb-synthetic", "fb-synthetic-rho10"], [*BOTH, "sb-synthetic"]),
    ],
)
def test_a_name_or_its_beginning_stands_for_panels(names: list[str], expected: list[str]) -> None:
    assert [panel.name for panel in panels_named(names)] == expected


@pytest.mark.parametrize("name", ["", "fb-", "fb-synth", "fb-synthetic-rho1", "-synthetic"])
def test_an_unknown_name_is_refused_with_what_there_is(name: str) -> None:
    with pytest.raises(InvalidInput, match=r"no panel '.*'; there is fi-synthetic, sb-synthetic, fb-synthetic-rho10"):
        panels_named(["fi-synthetic", name])


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """The verdicts of the full-bandit panel at T = 10,000, by panel and statement."""
    out = tmp_path_factory.mktemp("reproduction")
    reports = [reproduce(panel, out, 10_000, 20, seed=2021) for panel in panels_named(["fb-synthetic"])]
    return {r.panel.name: {v.statement: v.word for v in (*r.verdicts, *r.our_verdicts)} for r in reports}


BEST = "MC-ETE achieves the best regret performance"


@pytest.mark.parametrize(
    ("name", "statement", "word"),
    [
        ("fb-synthetic-rho10", f"{BEST}: OGD-ETE has a higher regret", "holds"),
        ("fb-synthetic-rho10", f"{BEST}: better than LinearFB", "holds"),
        ("fb-synthetic-rho10", "LinearFB shows the worst performance: worse than OGD-ETE too", "holds"),
        ("fb-synthetic-rho10", "GradientTS pays less than MC-ETE", "holds"),
        ("fb-synthetic-rho10", "GradientTS pays less than equal weights", "does not hold"),
        ("fb-synthetic-rho0.1", f"{BEST}: better than LinearFB", "holds"),
    ],
)
def test_verdicts_of_the_full_bandit_panel(
    verdicts: dict[str, dict[str, str]], name: str, statement: str, word: str
) -> None:
    assert verdicts[name][statement] == word


def test_a_statement_is_undecided_where_the_interval_contains_the_threshold() -> None:
    problem = cb.problems.synthetic(risk_aversion=10.0)
    learners = {"twin": cb.LinearFB(n_options=5), "LinearFB": cb.LinearFB(n_options=5)}
    result = cb.simulate(problem, learners, 200, 4)
    assert pays_more("the twins differ", "twin", "LinearFB")(result).word == "undecided"
    slope = result.slope("twin", 20, 200)
    assert grows_at_most("it grows so fast", "twin", slope.estimate)(result).word == "undecided"
    assert grows_at_most("it hardly grows", "twin", slope.low - 0.1)(result).word == "does not hold"
    assert grows_at_most("it explodes", "twin", slope.high + 0.1)(result).word == "holds"


@pytest.mark.parametrize("name", BOTH)
def test_an_interrupted_panel_continues_where_it_stopped(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel = PANELS[name]
    problem = panel.problem()
    whole = cb.simulate(problem, panel.learners(problem), 100, 4, seed=1)
    begun = cb.simulate(problem, panel.learners(problem), 100, 2, seed=1)
    begun.regret[:] *= 2  # so that one sees that they are not simulated again

    def interrupted(*_: Any, **__: Any) -> None:
        raise Interrupted("Ctrl-C", begun)

    with monkeypatch.context() as patch:
        patch.setattr(report, "simulate", interrupted)
        with pytest.raises(Interrupted, match=r"2 of 4 replications are kept in .*; the same command continues"):
            reproduce(panel, tmp_path, 100, 4, seed=1)
    (kept,) = tmp_path.iterdir()
    assert kept.name.startswith(f"{name}.partial-")
    for other in BOTH:
        if other != name:  # which has replications of its own
            reproduce(PANELS[other], tmp_path, 100, 4, seed=1)
            assert kept.exists()
    done = reproduce(panel, tmp_path, 100, 4, seed=1).result
    assert not kept.exists()
    assert (done.regret[:, :2] == 2 * whole.regret[:, :2]).all()
    assert (done.regret[:, 2:] == whole.regret[:, 2:]).all()
