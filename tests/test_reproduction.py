"""What a reproduction runs, how statements are decided, and what they come to on seeded runs."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import covbandit as cb
from covbandit.core.tables import Table
from covbandit.errors import InvalidInput
from covbandit.reproduction import NORMAL, QUICK, Reproduction, Scale, claims_of, experiments_named
from covbandit.reproduction.claims.claim import (
    ELSEWHERE,
    IN_THE_FIGURE,
    Case,
    Claim,
    Comparison,
    Multiplicity,
    adjusted,
    compared,
    must_exceed,
    of_ratio,
    shown_once,
)
from covbandit.reproduction.claims.judge import judge
from covbandit.reproduction.claims.rules import (
    between_regrets,
    grows_less,
    grows_like,
    pays_more,
    rises,
    rises_exactly,
)
from covbandit.reproduction.experiments import (
    CORRELATIONS,
    DIMENSIONS,
    FULL,
    GAPS,
    Dimensions,
    HardInstances,
    NoRisk,
    synthetic_with,
)
from covbandit.reproduction.known_covariance import KnownCovariance
from covbandit.reproduction.panels import KNOWN, SYNTHETIC, all_panels, instance_of
from covbandit.reproduction.report import Report, horizons_in_words, panel_section
from covbandit.reproduction.report_formats import as_markdown
from covbandit.simulation.run import run_plan
from covbandit.simulation.statistics import Interval, p_value, paired_ratio

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
DIMENSION = ["dimension", "dimension-rho10"]
HARD = ["fi-lower-bound", "sb-lower-bound"]
NO_RISK = ["fi-no-risk"]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ([], [*PAPERS, *OTHERS, *SWEEPS, *DIMENSION, *HARD, *NO_RISK]),
        (["dimension-rho0.1"], ["dimension"]),
        (["dimension-rho10", "fi-no-risk"], ["dimension-rho10", "fi-no-risk"]),
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
    assert len({task.name for task in tasks}) == len(tasks) == 12 + 6 * 9 + 2 * 2 * 4 + 3 + 2 + 3 + 4
    assert all(task.replications == 50 for task in tasks[:12])
    several = {task.name: task.replications for task in tasks[12:]}
    for name, count in several.items():  # half of them in the sweeps, more where regret varies much
        assert count == (500 if name.startswith("fi-no-risk") else 50 if "lower-bound" in name else 25), name


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


def _claims(*outcomes: list[bool | None], papers: bool = True, universal: bool = False) -> list[Claim]:
    return [
        Claim(
            f"it {k}",
            "Theorem 0",
            "It is so",
            tuple(Case("", "", Interval(0, 0, 0), holds, papers, universal) for holds in cases),
        )
        for k, cases in enumerate(outcomes)
    ]


def _report(claims: list[Claim]) -> Report:
    nothing = Table([], [])
    return Report("", nothing, nothing, claims, [], [], [], [], {})


def test_the_summary_tells_contradicted_from_undecided() -> None:
    claims = _claims([True], [True, None], [None, True], [True, False, None], [False, None], [None])
    assert _report(claims).in_short == (
        "6 statements of the paper. In the paper's own figure, of 6 put to the test: 1 held in every case, 2 in every "
        "case that could be decided, 1 in some cases only, 1 in none, 1 could not be decided at all."
    )


def test_the_papers_figure_is_counted_apart_from_all_else() -> None:
    inside, outside = (
        Case(where, "", Interval(0, 0, 0), holds, papers)
        for where, holds, papers in (("inside", True, True), ("outside", False, False))
    )
    both = Claim("both", "Section 6", "It is so", (inside, outside))
    assert {where: part.short_verdict for where, part in both.parts.items()} == {
        IN_THE_FIGURE: "holds",
        ELSEWHERE: "does not hold",
    }
    assert both.to_dict()["verdicts"] == {IN_THE_FIGURE: "holds", ELSEWHERE: "does not hold"}
    assert both.to_dict()["verdict"] == "holds under inside"  # of all cases together, as before
    (elsewhere,) = _claims([True], papers=False)
    assert list(elsewhere.parts) == [ELSEWHERE]
    short = _report([both, elsewhere]).in_short
    assert "In the paper's own figure, of 1 put to the test: 1 held in every case. Elsewhere" in short
    assert "Elsewhere, of 2 put to the test: 1 held in every case, 1 in none." in short


def test_a_horizon_that_all_conditions_share_is_named_once() -> None:
    cases = tuple(
        Case(f"{what}, T = {rounds}", "", Interval(0, 0, 0), holds)
        for what, rounds, holds in (("a", "100", True), ("b", "100", True), ("c", "100", False), ("d", "30", None))
    )
    claim = Claim("it", "Theorem 0", "It is so", cases)
    assert claim.verdict == "holds at T = 100 under a; b; undecided under d, T = 30"


def test_a_statement_on_every_learner_is_never_confirmed() -> None:
    (claim,) = _claims([True, True], universal=True)
    assert claim.verdict == claim.short_verdict == "consistent with it"
    (mixed,) = _claims([True, None], universal=True)
    assert mixed.short_verdict == "consistent with it in 1 of 2 cases, 1 undecided"
    (refuted,) = _claims([False], universal=True)
    assert refuted.verdict == "does not hold"
    assert "1 speak of every learner and are consistent with what was measured" in _report([claim]).in_short
    assert "1 in none" in _report([refuted]).in_short


def _decided(name: str, p: float, condition: str = "") -> Claim:
    """Return a claim with one case whose interval lies above 1, with a given p-value."""
    comparison = Comparison("", Interval(2.0, 1.1, 3.0), 1.0, p)
    return Claim(name, "Section 6", name, (compared(condition or name, "above 1", [comparison], must_exceed),))


def test_all_comparisons_of_a_report_are_judged_together() -> None:
    """.01 would pass alone, and after Bonferroni not even beside .001 and .04: Holm gives .003, .02 and .04."""
    claims = adjusted([_decided("a", 0.001), _decided("b", 0.01), _decided("c", 0.04)])
    assert [claim.verdict for claim in claims] == ["holds", "holds", "holds"]
    claims = adjusted([_decided(f"{k}", p) for k, p in enumerate((0.001, 0.02, 0.03, 0.04))])
    assert [claim.verdict for claim in claims] == ["holds", "undecided", "undecided", "undecided"]
    fallen = claims[1].cases[0]
    assert fallen.falls
    assert fallen.outcome == "undecided (by its own interval: holds)"
    assert fallen.to_dict()["outcome_by_its_own_interval"] == "holds"
    assert fallen.to_dict()["comparisons"][0]["adjusted_p_value"] == pytest.approx(0.06)
    counted = Multiplicity.of(claims)
    assert (counted.comparisons, counted.cases, counted.decided_alone, counted.decided) == (4, 4, 4, 1)
    assert "1 of 4 cases are decided; with each judged by its own 95 % interval it would be 4, so 3 fall" in str(
        counted
    )


def test_a_measurement_that_decides_two_statements_counts_and_is_shown_once() -> None:
    first, second = _decided("a", 0.02, "the same"), _decided("b", 0.02, "the same")
    claims = adjusted(shown_once([first, second]))
    assert [claim.verdict for claim in claims] == ["holds", "holds"]  # one comparison, not two
    assert Multiplicity.of(claims).comparisons == 1
    assert claims[0].shown_elsewhere == {}
    assert claims[1].shown == ()
    assert claims[1].shown_elsewhere == {"a": 1}
    text = as_markdown(_report(claims))
    assert text.count("| the same |") == 1
    assert "Decided by the measurements of other statements: 1 shown under “a”." in text


def _levels(means: list[float], noise: float = 0.1, n: int = 30) -> Case:
    """Return whether regret rises over levels 0, 1, 2, ..., from seeded values whose common part cancels."""
    rng = np.random.default_rng(3)
    shared = rng.gamma(5.0, 0.2, n)
    regret = np.array([mean * (shared + noise * rng.standard_normal(n)) for mean in means])

    def between(a: int, b: int) -> Comparison:
        return between_regrets(regret, (a, b))

    (claim,) = adjusted(
        [Claim("it", "Remark 0", "", (rises("", "", [str(k) for k in range(len(means))], between, len(means) // 2),))]
    )
    (case,) = claim.cases
    assert case.measured == paired_ratio(regret[-1], regret[0])
    return case


@pytest.mark.parametrize(
    ("means", "outcome"),
    [
        ([1, 2, 3, 4, 5], "holds"),
        ([1, 1, 1, 2, 2], "holds"),  # steps that cannot be told from none do not matter
        ([5, 4, 3, 2, 1], "does not hold (falls from 0 to 4)"),
        ([5, 3, 1, 3, 9], "does not hold (falls from 0 to 2, rises from 2 to 4)"),  # a U, though a line would rise
        ([1, 3, 9, 3, 2], "does not hold (falls from 2 to 4, rises from 0 to 2)"),
        ([1, 2, 3, 4, 0.1], "does not hold (falls from 3 to 4, rises from 0 to 3)"),
        ([1, 1, 1, 1, 1], "undecided"),
    ],
)
def test_the_more_the_higher_is_judged_step_by_step(means: list[float], outcome: str) -> None:
    assert _levels(means).outcome == outcome


def test_a_half_that_falls_in_small_steps_is_no_rise() -> None:
    """Of four steps none is clear; the first two together fall, the last two and the whole rise."""
    measured = {
        (0, 2): Interval(0.8, 0.7, 0.9),
        (2, 4): Interval(2.0, 1.8, 2.2),
        (0, 4): Interval(1.6, 1.4, 1.8),
    }

    def between(a: int, b: int) -> Comparison:
        return of_ratio("", measured.get((a, b), Interval(1.0, 0.8, 1.25)), 30)

    case = rises("", "", list("abcde"), between, turning=2)
    assert [c.what for c in case.comparisons] == ["a to b", "b to c", "c to d", "d to e", "a to c", "c to e", "a to e"]
    assert case.outcome == "does not hold (falls from a to c, rises from c to e)"
    assert rises("", "", list("abcde"), between).outcome == "holds"


def test_a_fall_that_is_not_certain_among_so_many_leaves_it_undecided_and_is_named() -> None:
    """The step from b to c falls by its own interval only; the whole rises, which then decides nothing."""
    measured = {(1, 2): Interval(0.8, 0.65, 0.98), (0, 3): Interval(5.0, 4.0, 6.25)}

    def between(a: int, b: int) -> Comparison:
        return of_ratio("", measured.get((a, b), Interval(1.0, 0.8, 1.25)), 30)

    (claim,) = adjusted([Claim("it", "Remark 0", "", (rises("", "", list("abcd"), between),))])
    (case,) = claim.cases
    assert case.comparisons[-1].exceeds
    assert case.outcome == "undecided (by its own interval: does not hold, falls from b to c, rises from a to d)"
    assert case.to_dict()["detail"] == ""
    assert case.to_dict()["detail_by_its_own_interval"].startswith("falls from b to c")


def test_what_has_no_chance_in_it_is_compared_as_it_is() -> None:
    assert rises_exactly("", "", [1.0, 1.0, 2.0]).word == "holds"
    assert rises_exactly("", "", [1.0, 0.9, 2.0]).word == "does not hold"
    assert rises_exactly("", "", [3.0, 3.0, 3.0]).word == "does not hold"
    assert rises_exactly("", "", [3.0, 3.0 + 1e-15]).measured == Interval(1.0, 1.0, 1.0)


def test_every_statement_is_judged(reproduced: tuple[Reproduction, dict[str, cb.SimulationResult]]) -> None:
    claims = judge(reproduced[0].experiments, reproduced[1])
    sources = {claim.source for claim in claims}
    assert {f"Theorem {k}" for k in range(1, 6)} | {f"Remark {k}" for k in (1, 3, 5)} <= sources
    assert {f"Section 6, {setting}" for setting in ("FI", "SB", "FB")} <= sources
    assert len({claim.name for claim in claims}) == len(claims) == 30
    by_name = {claim.name: claim for claim in claims}
    assert len(by_name["orders-of-magnitude"].cases) == 12
    assert len(by_name["correlation-fi"].cases) == len(by_name["correlation-fb"].cases) == 8
    assert len(by_name["correlation-sb"].cases) == 10  # Remark 3 compares positive ones with negative ones and with 0
    assert by_name["ols-highest"].cases[0].measured == reproduced[1]["sb-synthetic"].ratio("OLS-UCB-C", "MC-UCB")
    cases = {case.condition: case for case in by_name["correlation-fi"].cases}
    flat = cases["ρ = 0.1, Theorem 1's bound itself, T = 100"]  # its minimum is Σ_max's term, whatever the correlation
    assert (flat.measured.estimate, flat.word) == (1.0, "does not hold")
    assert [case.word for case in by_name["first-term-dominates"].cases] == ["does not hold", "does not hold"]
    for claim in ("fi", "sb", "fb"):  # the factors by which the remarks argue do rise
        factors = [case for case in by_name[f"correlation-{claim}"].cases if "the factor" in case.condition]
        assert [case.word for case in factors] == ["holds", "holds"]
    bounds = [case for case in by_name["dimension"].cases if "bounds" in case.condition]
    assert [case.word for case in bounds] == ["holds", "holds"]
    assert [case.word for case in by_name["no-risk-linear"].cases] == ["holds", "holds"]
    panels = {claim.name for claim in claims if IN_THE_FIGURE in claim.parts}
    assert {"mc-ete-best", "rate-sb", "narrow-intervals", "PairUCB-better"} <= panels
    assert not panels & {"lower-bound-fi", "correlation-fi", "dimension", "no-risk-gap"}


def test_no_measurement_is_shown_twice(reproduced: tuple[Reproduction, dict[str, cb.SimulationResult]]) -> None:
    claims = judge(reproduced[0].experiments, reproduced[1])
    shown = [case.key for claim in claims for case in claim.shown]
    assert len(set(shown)) == len(shown)
    elsewhere = {claim.name: claim.shown_elsewhere for claim in claims if claim.shown_elsewhere}
    assert elsewhere == {
        "gamma-inferior": {"mc-ucb-lowest": 8},
        "ols-highest": {"mc-ucb-lowest": 4},
        "ogd-ete-higher": {"mc-ete-best": 4},
        "linear-fb-worst": {"mc-ete-best": 4},
    }
    stored = json.loads((reproduced[0].out / "claims.json").read_text(encoding="utf-8"))
    assert sum(case["shown_under"] != "" for claim in stored["claims"] for case in claim["cases"]) == 20


def test_trends_are_paired_and_the_end_where_options_differ_by_constants_only_is_apart() -> None:
    experiments = experiments_named(["fi-correlation-rho10"])
    results = {
        task.name: run_plan(task.plan, 8) for task in experiments.tasks(Scale({"fi": 20_000, "sb": 0, "fb": 0}), 0)
    }
    (claim, _) = judge(experiments, results)
    cases = {case.condition.split("regret ")[-1]: case for case in claim.cases}
    regular = cases["from −.25 to .8, T = 2,000"]
    assert regular.word == "holds"
    assert (
        cases["from .8 to 1, where options differ by constants only, T = 2,000"].outcome
        == "does not hold (falls from .8 to 1)"
    )
    sweep = experiments.sweeps[0]
    regret = [results[sweep.point(x)].at("MC-Empirical") for x in CORRELATIONS]
    steps = {c.what: c.measured for c in regular.comparisons}
    assert steps["−.25 to −.2"] == paired_ratio(regret[1], regret[0])
    assert steps["0 to .2"] == paired_ratio(regret[4], regret[3])
    assert steps["−.25 to 0"] == paired_ratio(regret[3], regret[0])
    assert steps["0 to .8"] == paired_ratio(regret[7], regret[3])
    assert regular.measured == steps["−.25 to .8"] == paired_ratio(regret[7], regret[0])
    assert len(steps) == 7 + 2 + 1


def test_the_number_of_options_is_compared_between_the_settings() -> None:
    """By which factor regret grows with d where the chosen are seen, over the same where all are."""
    experiments = experiments_named(["dimension"])
    results = {
        task.name: run_plan(task.plan, 6)
        for task in experiments.tasks(Scale({"fi": 100, "sb": 1_000, "fb": 100}, 10), 0)
    }
    (claim,) = judge(experiments, results)
    assert claim.source == "Remark 3"
    means = {name: result.at(result.learners[0]).mean() for name, result in results.items()}
    growth = {
        s: means[f"dimension-{s}-d{DIMENSIONS[-1]}"] / means[f"dimension-{s}-d{DIMENSIONS[0]}"] for s in ("sb", "fi")
    }
    whole = claim.cases[0].comparisons[-1]
    assert claim.cases[0].measured == whole.measured
    assert whole.measured.estimate == pytest.approx(growth["sb"] / growth["fi"])
    assert whole.p_value == p_value(whole.measured, 1.0, 6, "log")
    assert {result.horizon for result in results.values()} == {400}
    assert [result.learners[0] for result in results.values()] == ["MC-Empirical"] * 4 + ["MC-UCB"] * 4
    # At d = 5 it is the paper's synthetic instance.
    paper, ours = cb.problems.synthetic(0.1, 0.1), Dimensions(0.1).problem("sb", 5)
    assert np.allclose(ours.mean, paper.mean, rtol=0, atol=1e-15)
    assert (ours.covariance == paper.covariance).all()
    assert ours.min_weight == paper.min_weight
    theorem_3, theorem_1 = (
        [bound(Dimensions(0.1).problem(s, d)).at(400) for d in (DIMENSIONS[0], DIMENSIONS[-1])]
        for s, bound in (("sb", cb.theory.semi_bandit_bound), ("fi", cb.theory.full_information_bound))
    )
    assert claim.cases[1].measured.estimate == pytest.approx(
        theorem_3[1] / theorem_3[0] / (theorem_1[1] / theorem_1[0])
    )


def test_without_risk_aversion_it_is_a_bandit_whose_rewards_are_all_seen() -> None:
    """Remark 1: with the gap √(Σmax/T) regret grows like √T; with a constant gap it stays, below 1/gap in order."""
    experiments = experiments_named(["fi-no-risk"])
    scale = Scale({"fi": 100_000, "sb": 100, "fb": 100}, 40)
    results = {task.name: run_plan(task.plan, task.replications) for task in experiments.tasks(scale, 1)}
    claims = {claim.name: claim for claim in judge(experiments, results)}
    assert set(claims) == {"no-risk-linear", "no-risk-rate", "no-risk-gap"}
    assert {claim.verdict for claim in claims.values()} == {"holds"}
    (slope, same) = (case.measured for case in claims["no-risk-rate"].cases)
    assert slope == same
    assert slope.estimate == pytest.approx(0.5, abs=0.03)
    thresholds = {name: [case.comparisons[0].threshold for case in claims[name].cases] for name in list(claims)[1:]}
    assert thresholds["no-risk-rate"] == pytest.approx([0.55, 0.45])
    assert thresholds["no-risk-gap"] == pytest.approx([0.05] * (len(claims["no-risk-gap"].cases) - 1) + [-1.05])
    for horizon in (100, 1_000, 10_000):
        problem = NoRisk().shrinking(horizon)
        assert problem.mean.max() - problem.mean.min() == pytest.approx(horizon**-0.5)
        assert problem.risk_aversion == 0
    for gap in GAPS:
        assert results[f"fi-no-risk-gap{gap:g}"].specification["problem"] == synthetic_with(5, gap, 0.0).to_dict()


def test_who_knows_the_covariance_learns_the_means_alone() -> None:
    """Against the optimum of the estimated means and the true covariance, round by round, with and without c."""
    rng = np.random.default_rng(4)
    for problem in (cb.problems.random(4, "factor", 3, risk_aversion=0.5), cb.problems.etf(), cb.problems.etf(10, 0.1)):
        learner = KnownCovariance(
            covariance=problem.covariance, risk_aversion=problem.risk_aversion, min_weight=problem.min_weight
        )
        d = problem.n_options
        rewards = rng.multivariate_normal(problem.mean, problem.covariance, 60)
        assert learner.ask().tolist() == [1 / d] * d
        for t, reward in enumerate(rewards, 1):
            learner.tell(learner.ask(), reward)
            believed = cb.Problem(
                mean=rewards[:t].mean(axis=0),
                covariance=problem.covariance,
                risk_aversion=problem.risk_aversion,
                min_weight=problem.min_weight,
            )
            assert believed.gap(learner.ask()) == pytest.approx(0, abs=1e-9)
    with pytest.raises(InvalidInput, match="covariance must be square"):
        KnownCovariance(covariance=[[1.0, 0.0]], risk_aversion=1.0)


def test_panels_show_the_level_of_who_knows_the_covariance_and_quantiles(
    reproduced: tuple[Reproduction, dict[str, cb.SimulationResult]],
) -> None:
    for panel in reproduced[0].experiments.panels:
        result = reproduced[1][panel.name]
        assert result.learners[-2:] == [KNOWN, "equal weights"]
        table = panel_section(panel, result, "").summary.to_dict()
        learner = result.learners[0]
        assert table["10 %"][0] == np.quantile(result.at(learner), 0.1)
        assert table["50 %"][0] == np.median(result.at(learner))
        assert table["90 %"][0] == np.quantile(result.at(learner), 0.9)
        assert table["learner"] == result.learners


def test_the_report_says_what_a_longer_run_changes() -> None:
    text = horizons_in_words(NORMAL)
    assert "100,000 rounds with full information, 3,000 with semi-bandit feedback (1,200 at the other ρ)" in text
    assert "--full plays 1,000,000 rounds with full information, 100,000 with semi-bandit feedback, 1,000,000" in text
    assert "--full" not in horizons_in_words(FULL)


def test_lower_bounds_are_played_on_their_own_instances(
    reproduced: tuple[Reproduction, dict[str, cb.SimulationResult]],
) -> None:
    """Theorem 2 with five options; Theorem 4 with c = .4, the least that its proof allows; floors of the last T."""
    claims = {claim.name: claim for claim in judge(reproduced[0].experiments, reproduced[1])}
    for setting, horizon in (("fi", 1_000), ("sb", 500)):
        claim = claims[f"lower-bound-{setting}"]
        result = reproduced[1][f"{setting}-lower-bound-{horizon}"]
        described = result.specification["problem"]
        assert (described["n_options"], described["horizon"]) == (5, horizon)
        if setting == "fi":
            floor = cb.problems.full_information_lower_bound(5, horizon).regret_floor
        else:
            assert described["min_weight"] == 0.4
            assert HardInstances("sb").distribution(horizon).risk_aversion == pytest.approx(
                0.6 * (5 / (horizon * 2)) ** 0.5 / (2 * 0.6)
            )
            floor = cb.problems.semi_bandit_lower_bound(5, horizon, 0.4).regret_floor
        first = claim.cases[0]
        learner = result.learners[0]
        assert first.measured.estimate == pytest.approx(result.at(learner).mean() / floor, rel=1e-12)
        assert f"the floor in the proof, {floor:.3g}, T = {horizon:,}" in first.rule
        assert {case.word for case in claim.cases} <= {"consistent with it", "does not hold", "undecided"}
        assert all(case.universal for case in claim.cases)
        thresholds = {(case.condition.split(",")[0], case.comparisons[0].threshold) for case in claim.cases}
        assert thresholds == {("the proof's floor", 1.0), ("the rate", 0.45)}
        assert f"{learner} {result.at(learner).mean():,.3g}" in claim.note
    assert "equal weights " in claims["lower-bound-fi"].note
    (rate,) = (case for case in claims["lower-bound-fi"].cases if case.condition == "the rate, played by equal weights")
    assert rate.measured == pytest.approx((0.5, 0.5, 0.5))
    assert "The slope of equal weights is 1/2 by construction" in claims["lower-bound-fi"].note
    assert "by construction" not in claims["lower-bound-sb"].note


@pytest.mark.parametrize(("paid", "outcome"), [(1e3, "undecided"), (1e-3, "does not hold")])
def test_a_small_slope_alone_does_not_contradict_a_lower_bound(
    reproduced: tuple[Reproduction, dict[str, cb.SimulationResult]], paid: float, outcome: str
) -> None:
    """Regret that hardly grows: it may be that of the first rounds, unless it has come below the floor."""
    experiments = experiments_named(["fi-lower-bound"])
    horizons = (100, 1_000)
    floor = HardInstances("fi").distribution(horizons[-1]).regret_floor
    results = {}
    for horizon, growth in zip(horizons, (1.0, 1.1), strict=True):
        result = reproduced[1][f"fi-lower-bound-{horizon}"]
        spread = 1 + 1e-3 * np.arange(len(result.replications))[:, None]
        results[f"fi-lower-bound-{horizon}"] = replace(
            result, regret=np.broadcast_to(paid * floor * growth * spread, result.regret.shape)
        )
    (claim,) = judge(experiments, results)
    rates = [case for case in claim.cases if case.condition.startswith("the rate")]
    assert [case.measured.estimate for case in rates] == pytest.approx([np.log10(1.1)] * 3)
    assert {case.word for case in rates} == {outcome}
    assert all(case.rule.endswith("if below, undecided while regret is above the floor") for case in rates)


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
    stored = json.loads((out / "claims.json").read_text(encoding="utf-8"))
    for claim in stored["claims"]:
        claim["verdict"] = "tampered with"
    (out / "claims.json").write_text(json.dumps(stored), encoding="utf-8")
    again = claims_of(out)
    assert [claim.to_dict() for claim in again] == [
        claim.to_dict() for claim in judge(reproduced[0].experiments, reproduced[1])
    ]
    with pytest.raises(InvalidInput, match="holds no reproduction"):
        claims_of(out / "figures")


def test_a_folder_with_more_replications_than_the_report_gives_the_reports_claims(tmp_path: Path) -> None:
    scale = Scale({"fi": 200, "sb": 100, "fb": 100}, replications=3)
    small = Reproduction(experiments_named(["fi-synthetic"]), scale, 1, tmp_path)
    reported = small.write(small.simulate()).claims
    more = Reproduction(small.experiments, replace(scale, replications=8), 1, tmp_path)
    assert len(more.simulate()["fi-synthetic"].replications) == 8  # in the same file, the report not written anew
    assert [claim.to_dict() for claim in claims_of(tmp_path)] == [claim.to_dict() for claim in reported]


def test_results_of_an_earlier_version_are_judged(
    reproduced: tuple[Reproduction, dict[str, cb.SimulationResult]], tmp_path: Path
) -> None:
    """Without the sweep over d, the instances without risk and those who know the covariance."""
    stored = json.loads((reproduced[0].out / "claims.json").read_text(encoding="utf-8"))
    stored["version"] = 1
    stored["results"] = {
        name: entry for name, entry in stored["results"].items() if not name.startswith(("dimension", "fi-no-risk"))
    }
    (tmp_path / "results").mkdir()
    for entry in stored["results"].values():
        result = cb.SimulationResult.load(reproduced[0].out / entry["file"])
        kept = [k for k, name in enumerate(result.learners) if name != KNOWN]
        learners = {n: v for n, v in result.specification["learners"].items() if n != KNOWN}
        replace(
            result,
            regret=result.regret[kept],
            weights=result.weights[kept],
            specification=result.specification | {"learners": learners},
        ).save(tmp_path / entry["file"])
    (tmp_path / "claims.json").write_text(json.dumps(stored), encoding="utf-8")
    again = {claim.name: claim for claim in claims_of(tmp_path)}
    assert len(again) == 30 - 4
    now = {claim.name: claim for claim in judge(reproduced[0].experiments, reproduced[1])}
    for name, claim in again.items():
        assert [case.measured for case in claim.cases] == [case.measured for case in now[name].cases], name


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
