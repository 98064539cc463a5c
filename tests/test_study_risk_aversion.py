"""A study whose ρ lies outside the range in which it matters says so, with the range, wherever it is looked at."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import covbandit as cb
from covbandit.cli.study.configure import create
from covbandit.risk.landmarks import range_that_matters
from covbandit.risk.option_moments import Moments
from covbandit.service.server import response_models
from covbandit.service.server.app import create_app
from covbandit.studies import RiskAversionCheck, Store, Study, StudySummary
from covbandit.studies import study as study_module
from service_calls import InProcess, calling

OPTIONS = ["search", "social", "video"]


def campaigns(store: Any, rho: float, rounds: int = 40, name: str = "ads", **more: Any) -> Study:
    """A study whose rewards are in the thousands."""
    learner = cb.MCEmpirical(n_options=3, risk_aversion=rho, **more)
    study = Study.create(name, OPTIONS, learner, "per_unit", store)
    draws = np.random.default_rng(4).multivariate_normal(
        [12_000, 11_000, 9_000], [[9e6, 1e6, 0], [1e6, 4e6, 0], [0, 0, 1e6]], rounds
    )
    for row in draws.tolist():
        study.tell_outside([1 / 3] * 3, row)
    return study


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with Store(tmp_path / "s.db", create=True) as opened:
        yield opened


# The range ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_the_range_is_that_of_the_risk_path(seed: int) -> None:
    problem = cb.problems.random(4, "factor", seed)
    path = cb.risk_path(problem, points=2)
    low, high = range_that_matters(Moments(problem.mean.copy(), problem.covariance.copy(), None))
    assert low == pytest.approx(path.single_option_below)
    assert high == pytest.approx(path.minimum_variance_above, rel=2e-3)


@pytest.mark.parametrize("seed", range(6))
def test_with_caps_the_weights_change_within_the_range_alone(seed: int) -> None:
    problem = cb.problems.random(4, "factor", seed)
    caps = np.array([0.5, 0.4, 0.35, 0.6])
    low, high = range_that_matters(Moments(problem.mean.copy(), problem.covariance.copy(), None), caps)
    assert 0 < low < high < np.inf

    def at(rho: float) -> tuple[Any, float]:
        w = cb.maximize_utility(problem.mean, problem.covariance, rho, max_weight=caps).weights
        return w, float(w @ problem.covariance @ w) ** 0.5

    assert at(low * 1e-3)[0] == pytest.approx(at(low * 0.99)[0], abs=1e-7)
    assert np.abs(at(low * 1.2)[0] - at(low * 0.99)[0]).max() > 1e-6
    assert at(high)[1] <= 1.011 * at(1e9 * high)[1]
    assert at(high / 1.5)[1] > 1.009 * at(1e9 * high)[1]


def test_where_one_option_is_best_in_everything_no_range_matters() -> None:
    moments = Moments(np.array([2.0, 1.0]), np.array([[1.0, 1.5], [1.5, 4.0]]), None)
    low, high = range_that_matters(moments)
    assert not low < high


# What is said ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rho", "verdict", "words"),
    [(0.4, "too large", "least variance"), (1e-8, "too small", "best estimated mean"), (0.0003, "matters", None)],
)
def test_a_study_says_so_with_the_range(store: Store, rho: float, verdict: str, words: str | None) -> None:
    study = campaigns(store, rho)
    check = study.risk_aversion_check()
    assert check.known
    assert check.verdict == verdict
    assert check.low is not None
    assert check.high is not None
    assert 1e-5 < check.low < 0.0003 < check.high < 0.01
    frontier = study.frontier(points=200)  # which is drawn from a third of the lower end to three times the upper one
    first, last = frontier.points[0]["risk_aversion"], frontier.points[-1]["risk_aversion"]
    assert first == pytest.approx(check.low / 3)
    assert last == pytest.approx(max(3 * check.high, 1000 * first), rel=2e-3)
    assert study.summary().risk_aversion_check == check
    assert (check.message is None) == (words is None)
    if words is not None:
        assert words in str(check.message)
        assert f"ρ = {rho:g}" in str(check.message) or "0.00000001" in str(check.message)
        assert "between 0.00" in str(check.message)
    assert RiskAversionCheck.from_dict(check.to_dict()) == check
    assert StudySummary.from_dict(study.summary().to_dict()) == study.summary()


def test_it_waits_for_enough_rounds_and_follows_what_is_told_and_changed(store: Store) -> None:
    study = campaigns(store, 0.4, rounds=9)
    assert not study.risk_aversion_check().known
    assert "10 times" in str(study.risk_aversion_check().reason)
    assert study.summary().risk_aversion_check == study.risk_aversion_check()
    study.tell_outside([1 / 3] * 3, [12_000, 9_000, 9_500])
    before = study.risk_aversion_check()
    assert before.verdict == "too large"
    study.tell_outside([1 / 3] * 3, [2_000, 19_000, 9_500])
    assert study.risk_aversion_check() != before
    study.set_risk_aversion(0.001)
    assert study.risk_aversion_check().verdict == "matters"
    assert study.summary().risk_aversion_check == study.risk_aversion_check()
    study.add_option("radio")  # which was not seen yet
    assert not study.risk_aversion_check().known
    study.retire("radio")
    assert study.risk_aversion_check().verdict == "matters"
    study.retire("video")
    study.retire("social")
    assert "single option" in str(study.risk_aversion_check().reason)


def test_risk_ignored_on_purpose_is_not_judged(store: Store) -> None:
    assert campaigns(store, 0.0).risk_aversion_check().message is None
    plain = Study.create("means", OPTIONS, {"class": "LinearFI"}, "per_unit", store)
    assert plain.risk_aversion_check().reason == "the learner has no risk aversion"
    assert plain.summary().risk_aversion_check == plain.risk_aversion_check()


def test_caps_count(store: Store) -> None:
    capped = campaigns(store, 0.4, name="capped", max_weight=0.4).risk_aversion_check()
    free = campaigns(store, 0.4).risk_aversion_check()
    assert capped.verdict == free.verdict == "too large"
    assert capped.low != free.low


@pytest.mark.parametrize("feedback", ["chosen", "total"])
def test_learners_that_see_less(store: Store, feedback: str) -> None:
    learner = {"feedback": feedback, "risk_aversion": 50.0}
    study = Study.create("ads", OPTIONS, learner, "per_unit", store)
    for row in np.random.default_rng(4).normal([1200, 1100, 900], [300, 200, 100], (60, 3)):
        weights = study.learner.ask()
        seen: Any = float(weights @ row)
        if feedback == "chosen":
            seen = {name: float(y) for name, y, w in zip(OPTIONS, row, weights, strict=True) if w > 0}
        study.tell_outside(weights.tolist(), seen)
    assert study.risk_aversion_check().verdict == "too large"


def test_no_pair_is_ever_seen_one_at_a_time(store: Store) -> None:
    with pytest.warns(cb.errors.SetupWarning):
        learner = cb.MCUCB(n_options=3, risk_aversion=50.0, min_weight=0.7, variance_bound=1e6)
    study = Study.create("ads", OPTIONS, learner, "per_unit", store)
    for k in range(45):
        study.tell_outside({OPTIONS[k % 3]: 1.0}, {OPTIONS[k % 3]: float(k)})
    assert "one option at a time" in str(study.risk_aversion_check().reason)


# What it costs --------------------------------------------------------------------------------------------------------


def test_asking_and_telling_never_compute_it_and_glances_seldom(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    study = campaigns(store, 0.4, rounds=100)
    computed = []
    judge = study_module.check_risk_aversion
    monkeypatch.setattr(study_module, "check_risk_aversion", lambda *a: (computed.append(1), judge(*a))[1])
    for _ in range(20):
        study.tell(study.ask().id, [12_000, 11_000, 9_000])
    assert computed == []
    first = study.risk_aversion_check()
    assert study.risk_aversion_check() is first  # nothing was told since
    for _ in range(30):
        study.tell(study.ask().id, [12_000, 11_000, 9_000])
        assert study.summary().risk_aversion_check is not None
    assert len(computed) <= 8
    study.risk_aversion_check()
    assert study.risk_aversion_check() is not first


def test_it_is_computed_while_others_write(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the books nor a transaction are held meanwhile: here the very computation tells a round."""
    study = campaigns(store, 0.4)
    judge = study_module.check_risk_aversion
    other = Study.open("ads", store)

    def slowly(*arguments: Any) -> RiskAversionCheck:
        other.tell(other.ask().id, [1.0, 2.0, 3.0])
        study.tell(study.ask().id, [1.0, 2.0, 3.0])
        return judge(*arguments)

    monkeypatch.setattr(study_module, "check_risk_aversion", slowly)
    assert study.risk_aversion_check().verdict == "too large"
    assert study.summary().told == 42


# Where it is said -----------------------------------------------------------------------------------------------------


def test_the_command_line_says_it(command_line: Any) -> None:
    study = campaigns(Store("covbandit.db", create=True), 0.4)
    said = r"note: risk aversion ρ = 0\.4 is too large to matter: by the estimates .* between 0\.00\d+ and 0\.\d+"
    status, shown, _ = command_line("study", "show", "ads")
    assert status == 0
    assert re.search(said, shown)
    status, shown, told = command_line("study", "show", "ads", "--json")
    assert json.loads(shown)["risk_aversion_check"] == study.risk_aversion_check().to_dict()
    status, shown, told = command_line("study", "ask", "ads", "--json")
    assert re.search(said, told)
    assert json.loads(shown)["status"] == "open"
    study.set_risk_aversion(0.001)
    for words in (("show",), ("ask",)):
        assert "note:" not in "".join(map(str, command_line("study", *words, "ads")))
    study.close()


def test_the_service_and_its_client_say_it(store: Store) -> None:
    study = campaigns(store, 0.4)
    body = {"feedback": "chosen", "risk_aversion": 1.0, "min_weight": 0.6}
    app = create_app(store, remember_tokens=0.0)
    with cb.Client("http://localhost", transport=InProcess(app)) as client:
        remote = client.open("ads")
        assert remote.risk_aversion_check() == study.risk_aversion_check()
        assert remote.summary() == study.summary()
        assert client.studies()[0].risk_aversion_check is None  # lists stay cheap
        with pytest.warns(cb.errors.SetupWarning, match="risk is that of single options") as caught:
            client.create("one", ["a", "b"], body, "amount")
        assert [warning.filename for warning in caught] == [__file__]
    with calling(store) as plain:
        answer = plain.get("/api/v1/studies/ads").json()
        assert response_models.SummaryAnswer.model_validate(answer).risk_aversion_check is not None
        wanted = {"name": "two", "options": ["a", "b"], "outcome": "amount", "learner": body}
        made = plain.post("/api/v1/studies", json=wanted)
        assert made.status_code == 201
        assert "risk is that of single options" in made.json()["remarks"][0]
        schemas = plain.get("/api/v1/openapi.json").json()["components"]["schemas"]
        assert "range" in schemas["RiskAversionCheckAnswer"]["description"]
        assert {"remarks", "risk_aversion_check"} <= set(schemas["SummaryAnswer"]["properties"])
    app.state.service.close()


# What the documentation shows -----------------------------------------------------------------------------------------

ROOT = Path(__file__).resolve().parents[1]


def documented() -> dict[str, float]:
    """The risk aversions of all examples that tell amounts."""
    found = {}
    sources = {
        "README.md": (ROOT / "README.md").read_text(encoding="utf-8"),
        "study create --help": str(create.__doc__),
    }
    for page in sorted((ROOT / "docs").glob("*.md")):
        sources[page.name] = page.read_text(encoding="utf-8")
    for name, text in sources.items():
        for k, example in enumerate(re.split(r"\n\s*\n|```", text)):
            if re.search(r'outcome="amount"|--outcome amount', example):
                for rho in re.findall(r'risk[_-]aversion"?[=: ]+([\d.e-]+)', example):
                    found[f"{name}, {k}"] = float(rho)
    return found


def test_examples_in_amounts_have_a_risk_aversion_that_matters(store: Store) -> None:
    """Sales of some thousands, which vary by a fifth, as in these examples."""
    assert {name.partition(",")[0] for name in documented()} >= {"README.md", "study create --help", "studies.md"}
    learner = {"feedback": "chosen", "risk_aversion": 1.0, "min_weight": 0.1}
    study = Study.create("ads", OPTIONS, learner, "amount", store)
    weights = dict(zip(OPTIONS, (0.36, 0.34, 0.3), strict=True))
    for share in np.random.default_rng(6).normal(1.0, 0.2, (40, 3)):
        earned = dict(zip(OPTIONS, (share * [5100, 4000, 2900]).tolist(), strict=True))
        study.tell_outside(weights, earned)
    for name, rho in documented().items():
        study.set_risk_aversion(rho)
        assert study.risk_aversion_check().verdict == "matters", name
