"""What a reproduction runs, how statements are decided, and what they come to on seeded runs."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import covbandit as cb
from covbandit.errors import InvalidInput
from covbandit.reproduction import NORMAL, QUICK, Reproduction, Scale, claims_of, experiments_named
from covbandit.reproduction.claims import Case, Claim, grows_less, grows_like, pays_more, trend
from covbandit.reproduction.content import Report
from covbandit.reproduction.panels import SYNTHETIC, all_panels, instance_of
from covbandit.reproduction.statements import judge
from covbandit.simulation.run import run_plan
from covbandit.simulation.statistics import Interval
from covbandit.tables import Table

PAPERS = ["fi-synthetic", "sb-synthetic", "fb-synthetic", "fi-etf", "sb-etf", "fb-etf"]
OTHERS = [
    "fi-synthetic-rho10",
    "sb-synthetic-rho10",
    "fb-synthetic-rho0.1",
    "fi-etf-rho10",
    "sb-etf-rho10",
    "fb-etf-rho0.1",
]
SWEEPS = [
    "fi-correlation",
    "sb-correlation",
    "fb-correlation-rho0.1",
    "fi-correlation-rho10",
    "sb-correlation-rho10",
    "fb-correlation",
]
HARD = ["fi-lower-bound", "sb-lower-bound"]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ([], [*PAPERS, *OTHERS, *SWEEPS, *HARD]),
        (["fi-synthetic"], ["fi-synthetic"]),
        (["fi-synthetic-rho0.1", "fb-synthetic-rho10"], ["fi-synthetic", "fb-synthetic"]),
        (["fb-synthetic-rho0.1"], ["fb-synthetic-rho0.1"]),
        (
            ["fb"],
            [
                "fb-synthetic",
                "fb-etf",
                "fb-synthetic-rho0.1",
                "fb-etf-rho0.1",
                "fb-correlation-rho0.1",
                "fb-correlation",
            ],
        ),
        (["sb-lower", "fi-etf", "sb-lower-bound"], ["fi-etf", "sb-lower-bound"]),
        (["fi-correlation"], ["fi-correlation"]),
    ],
)
def test_names_and_their_beginnings(names: list[str], expected: list[str]) -> None:
    assert experiments_named(names).names == expected


@pytest.mark.parametrize("name", ["", "fb-", "fb-synth", "fb-synthetic-rho1", "-synthetic"])
def test_an_unknown_name_is_refused_with_what_there_is(name: str) -> None:
    with pytest.raises(InvalidInput, match=r"no panel '.*; there is fi-synthetic, sb-synthetic, fb-synthetic"):
        experiments_named(["fi-synthetic", name])
    with pytest.raises(InvalidInput, match=r"no panel .fi-syntetic. \(did you mean fi-synthetic\?\); there is"):
        experiments_named(["fi-syntetic"])


def test_panels_are_those_of_the_paper() -> None:
    panels = {panel.name: panel for panel in experiments_named().panels}
    for name, panel in panels.items():
        problem, learners = panel.problem(), panel.learners()
        assert problem.risk_aversion == {"fi": 0.1, "sb": 0.1, "fb": 10}[name[:2]] if panel.papers else True
        assert (problem.min_weight == 0.1) == name.startswith("sb")
        assert list(learners)[-1] == "equal weights"
        for learner in learners.values():
            assert learner.mismatch(problem) is None
    assert panels["sb-etf"].learners()["MC-UCB"].config()["variance_bound"] == pytest.approx(269.8, abs=0.1)
    tasks = experiments_named().tasks(NORMAL, 0)
    assert len({task.name for task in tasks}) == len(tasks) == 12 + 6 * 9 + 3 + 2
    assert all(task.replications == 50 for task in tasks[:12])


def test_a_users_own_funds_take_the_place_of_ours() -> None:
    returns = cb.data.Returns([[1.0, 3.0], [2.0, -1.0], [3.0, 1.0]], options=["A", "B"], unit="percent")
    panels = {panel.name: panel for panel in experiments_named((), returns).panels}
    assert panels["fi-etf"].problem().options == ("A", "B")
    assert np.allclose(panels["sb-etf"].problem().covariance, returns.covariance)
    assert panels["fi-synthetic"].problem().n_options == 5


QUICK_SCALE = Scale({"fi": 100, "sb": 100, "fb": 100}, 3)
TWINS = {"twin": cb.LinearFB(n_options=5), "LinearFB": cb.LinearFB(n_options=5)}


def test_a_case_is_undecided_where_the_interval_contains_the_threshold() -> None:
    result = cb.simulate(cb.problems.synthetic(risk_aversion=10.0), TWINS, 200, 4)
    assert pays_more("", result, "twin", "LinearFB").word == "undecided"
    slope = result.slope("twin", 20, 200)
    assert grows_less("", result, "twin", slope.estimate, "").word == "undecided"
    assert grows_less("", result, "twin", slope.low - 0.1, "").word == "does not hold"
    assert grows_less("", result, "twin", slope.high + 0.1, "").word == "holds"


def test_growth_is_compared_with_the_bounds_own_logarithms_included() -> None:
    problem = cb.problems.synthetic()
    learners = {"MC-Empirical": cb.MCEmpirical(n_options=5, risk_aversion=0.1), "equal": cb.FixedWeights(n_options=5)}
    result = cb.simulate(problem, learners, 10_000, 10)
    bound = cb.theory.full_information_bound(problem)
    case = grows_like("here", result, "MC-Empirical", bound)
    allowed = 0.5 + np.log10(np.log(10_000) / np.log(1_000))  # of ln T √T
    assert (case.condition, case.word) == ("here, T = 10,000", "holds")
    assert f"below {allowed:.3f}, the bound's own slope there" in case.rule
    assert result.at("equal").mean() < bound.at(10_000)
    assert grows_like("here", result, "equal", bound).word == "undecided"  # steeper, but far below the bound
    smaller = cb.theory.full_information_bound(
        cb.Problem(mean=[0.2] * 5, covariance=np.eye(5) / 1e4, risk_aversion=0.01)
    )
    assert smaller.at(10_000) < result.at("equal").mean()
    assert grows_like("here", result, "equal", smaller).word == "does not hold"


def test_what_cannot_be_computed_is_undecided() -> None:
    returns = cb.data.Returns([[1.0], [2.0], [4.0]], options=["only"], unit="percent")  # no regret, whoever plays
    experiments = experiments_named(["fi-etf", "fb-etf"], returns)
    results = {task.name: run_plan(task.plan, 3) for task in experiments.tasks(QUICK_SCALE, 0)}
    for claim in judge(experiments, results):
        assert {case.word for case in claim.cases} == {"undecided"}, claim.name


@pytest.mark.parametrize(
    ("outcomes", "verdict", "short"),
    [
        ([True, True], "holds", "holds"),
        ([False, False], "does not hold", "does not hold"),
        ([None], "undecided", "undecided"),
        ([True, False, True], "holds under condition 0; condition 2", "holds in 2 of 3 cases"),
        ([True, None], "holds under condition 0; undecided under condition 1", "holds in 1 of 2 cases, 1 undecided"),
        (
            [False, None],
            "does not hold; undecided under condition 1",
            "does not hold in 1 of 2 cases, 1 undecided",
        ),
    ],
)
def test_a_verdict_follows_from_its_cases(outcomes: list[bool | None], verdict: str, short: str) -> None:
    cases = tuple(Case(f"condition {k}", "", Interval(0, 0, 0), holds) for k, holds in enumerate(outcomes))
    claim = Claim("it", "Theorem 0", "It is so", cases)
    assert claim.verdict == verdict
    assert claim.short_verdict == short


def test_the_summary_tells_contradicted_from_undecided() -> None:
    outcomes: list[list[bool | None]] = [[True], [True, None], [None, True], [True, False, None], [False, None], [None]]
    claims = [
        Claim(f"it {k}", "Theorem 0", "It is so", tuple(Case("", "", Interval(0, 0, 0), holds) for holds in cases))
        for k, cases in enumerate(outcomes)
    ]
    nothing = Table([], [])
    assert Report("", nothing, nothing, claims, [], [], [], [], {}).in_short == (
        "6 statements of the paper: 1 held in every case, 2 in every case that could be decided, 1 in some cases only, "
        "1 in none; 1 could not be decided at all."
    )


def test_a_trend_is_relative_paired_and_covers() -> None:
    levels = [-0.25, 0.0, 0.5, 1.0]
    exact = trend(np.array([[2 + x] for x in levels]), levels)
    centre = 2 + np.mean(levels)
    assert exact.estimate == exact.low == exact.high == pytest.approx(1 / centre)
    assert trend(np.full((4, 3), 7.0), levels) == Interval(0.0, 0.0, 0.0)
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(400):
        shared = rng.gamma(5.0, 1.0, 20)  # what replications have in common at all levels cancels
        regret = np.array([shared * (2 + x) + 0.3 * rng.standard_normal(20) for x in levels])
        interval = trend(regret, levels)
        covered += interval.low <= 1 / centre <= interval.high
    assert 0.92 <= covered / 400 <= 0.98


def test_every_statement_is_judged(reproduced: tuple[Reproduction, dict[str, cb.SimulationResult]]) -> None:
    claims = judge(reproduced[0].experiments, reproduced[1])
    sources = {claim.source for claim in claims}
    assert {f"Theorem {k}" for k in range(1, 6)} | {f"Remark {k}" for k in (1, 3, 5)} <= sources
    assert {f"Section 6, {setting}" for setting in ("FI", "SB", "FB")} <= sources
    assert len({claim.name for claim in claims}) == len(claims) == 26
    by_name = {claim.name: claim for claim in claims}
    assert len(by_name["orders-of-magnitude"].cases) == 12
    assert len(by_name["correlation-fi"].cases) == len(by_name["correlation-fb"].cases) == 14
    assert len(by_name["correlation-sb"].cases) == 12  # Remark 3 says nothing of what happens among negative ones
    assert by_name["ols-highest"].cases[0].measured == reproduced[1]["sb-synthetic"].ratio("OLS-UCB-C", "MC-UCB")
    cases = {case.condition: case for case in by_name["correlation-fi"].cases}
    flat = cases["ρ = 0.1, Theorem 1's bound itself, T = 100"]  # its minimum is Σ_max's term, whatever the correlation
    assert (flat.measured.estimate, flat.word) == (0.0, "does not hold")
    assert [case.word for case in by_name["first-term-dominates"].cases] == ["does not hold", "does not hold"]
    for claim in ("fi", "sb", "fb"):  # the factors by which the remarks argue do rise
        factors = [case for case in by_name[f"correlation-{claim}"].cases if "the factor" in case.condition]
        assert [case.word for case in factors] == ["holds", "holds"]


def test_trends_are_fitted_with_and_without_the_end_where_options_differ_by_constants_only() -> None:
    experiments = experiments_named(["fi-correlation-rho10"])
    results = {
        task.name: run_plan(task.plan, 8) for task in experiments.tasks(Scale({"fi": 20_000, "sb": 0, "fb": 0}), 0)
    }
    (claim, _) = judge(experiments, results)
    cases = {case.condition.split("regret ")[-1]: case for case in claim.cases}
    assert cases["where positive, 0 to 0.8, T = 2,000"].word == "holds"
    assert (
        cases["where positive, 0 to 1, T = 2,000"].measured.estimate < 0
    )  # by the one point that is unlike the others
    regret = np.array([results[experiments.sweeps[0].point(x)].at("MC-Empirical") for x in (0.0, 0.2, 0.4, 0.6, 0.8)])
    assert cases["where positive, 0 to 0.8, T = 2,000"].measured == trend(regret, [0.0, 0.2, 0.4, 0.6, 0.8])


def test_gradient_descent_is_played_in_the_papers_unit() -> None:
    """The funds' returns in fractions instead of percent give the same weights, and so the same verdicts."""
    percent = cb.data.etf_returns()
    setting_and_names = {"fi": ("OGD", "OGD (plug-in)"), "fb": ("OGD-ETE",)}
    for setting, names in setting_and_names.items():
        played = []
        for returns, rho in ((percent, 0.1), (percent.to_fraction(), 10.0)):
            (panel,) = (p for p in all_panels((SYNTHETIC, instance_of(returns))) if p.name == f"{setting}-etf")
            panel = replace(panel, risk_aversion=rho)
            learners = {name: panel.learners()[name] for name in names}
            played.append(cb.simulate(panel.problem(), learners, 300, 2, seed=4))
        assert np.allclose(played[0].weights, played[1].weights, atol=1e-9)
        assert np.allclose(played[0].regret, 100 * played[1].regret, rtol=1e-6)


def test_claims_are_recomputed_from_the_results_files_alone(
    reproduced: tuple[Reproduction, dict[str, cb.SimulationResult]], tmp_path: Path
) -> None:
    out = tmp_path / "copy"
    shutil.copytree(reproduced[0].out, out)
    stored = json.loads((out / "claims.json").read_text())
    for claim in stored["claims"]:
        claim["verdict"] = "tampered with"
    (out / "claims.json").write_text(json.dumps(stored))
    again = claims_of(out)
    assert [claim.to_dict() for claim in again] == [
        claim.to_dict() for claim in judge(reproduced[0].experiments, reproduced[1])
    ]
    with pytest.raises(InvalidInput, match="holds no reproduction"):
        claims_of(out / "figures")


def test_verdicts_on_a_seeded_run(tmp_path: Path) -> None:
    """What is known of the synthetic instance, clear enough to show at T = 10,000 with twenty replications."""
    scale = Scale({"fi": 10_000, "sb": 1_000, "fb": 10_000}, replications=20)
    names = ["fi-synthetic", "sb-synthetic", "fb-synthetic"]
    reproduction = Reproduction(experiments_named(names), scale, 2021, tmp_path)
    claims = {claim.name: claim for claim in judge(reproduction.experiments, reproduction.simulate())}
    words = {name: [case.word for case in claim.cases] for name, claim in claims.items()}
    assert words["better-than-ogd"][0] == "holds"
    assert words["orders-of-magnitude"] == ["does not hold"] * 3
    assert words["gamma-inferior"][0] == "does not hold"  # with the tightest Γ
    assert words["ols-highest"][:2] == ["holds", "holds"]
    assert words["ogd-ete-higher"] == ["holds"]
    assert words["linear-fb-worst"] == ["holds", "holds"]
    assert words["GradientTS-better"] == ["holds"]
    assert words["GradientTS-equal"] == ["does not hold"]
    assert words["rate-fi"] == ["holds"]


def test_too_little_to_judge_by_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="at least 20 rounds to judge by, got 10"):
        Reproduction(experiments_named(), Scale(dict.fromkeys(QUICK.horizons, 10), 20), 0, tmp_path)
