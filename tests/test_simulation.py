"""The engine: same seed, same numbers; common rewards; results that can be kept, merged and continued."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import covbandit as cb
from covbandit.core.processes import pool_of
from covbandit.errors import Interrupted, InvalidInput, StateFileError
from covbandit.simulation import engine
from covbandit.simulation.statistics import half_width, paired_ratio
from example_learners import Exploring, FollowTheLeader


def _learners(rho: float = 0.1, d: int = 5) -> dict[str, cb.Learner]:
    return {
        "MC-Empirical": cb.MCEmpirical(n_options=d, risk_aversion=rho),
        "OGD": cb.OGD(n_options=d, risk_aversion=rho),
        "plain": Exploring(n_options=d),
        "equal": cb.FixedWeights(n_options=d),
    }


def _run(**changes: Any) -> cb.SimulationResult:
    arguments: dict[str, Any] = {"horizon": 200, "replications": 5, "seed": 3, "workers": 1}
    return cb.simulate(cb.problems.synthetic(), _learners(), **{**arguments, **changes})


class _HalfAndHalf(FollowTheLeader):
    """In plain Python what FixedWeights is compiled."""

    def _decide(self, t: int) -> Any:
        return np.r_[0.5, 0.5, np.zeros(self.n_options - 2)]


@pytest.mark.parametrize("d", [2, 5, 9])
def test_regret_is_the_same_to_the_bit_for_learners_in_plain_python(d: int) -> None:
    problem = cb.problems.random(d, "factor", seed=d, risk_aversion=2.0)
    compiled = cb.FixedWeights(n_options=d, weights=np.r_[0.5, 0.5, np.zeros(d - 2)])
    r = cb.simulate(problem, {"compiled": compiled, "plain": _HalfAndHalf(n_options=d)}, 300, 2, seed=1)
    assert np.array_equal(r.regret[0], r.regret[1])
    # An independent second opinion, from the definition:
    at_stake = problem.utility(problem.optimum().weights) - problem.utility(compiled.ask())
    assert r.at("plain", 300) == pytest.approx(300 * at_stake, rel=1e-9)


@pytest.mark.usefixtures("shared_by_processes")
def test_same_numbers_on_any_number_of_workers() -> None:
    one = _run()
    for workers in (2, 4, None):
        assert np.array_equal(_run(workers=workers).regret, one.regret)
    with ThreadPoolExecutor(3) as pool:
        assert np.array_equal(_run(workers=pool).regret, one.regret)
    with pool_of(2) as pool:
        other = _run(workers=pool)
    assert np.array_equal(other.regret, one.regret)
    assert np.array_equal(other.weights, one.weights)


def test_numbers_do_not_depend_on_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = _run()
    monkeypatch.setattr(engine, "_CHUNK_ROUNDS", 37)
    assert np.array_equal(_run().regret, whole.regret)


class _Drawing(cb.environments.Environment):
    """An environment whose every draw is what a function of n gives."""

    def __init__(self, drawn: Any) -> None:
        self._drawn = drawn

    def to_dict(self) -> dict[str, Any]:
        return {}

    def sampler(self, problem: cb.Problem, seed: int, replication: int) -> Any:
        return None if self._drawn is None else SimpleNamespace(draw=self._drawn)


@pytest.mark.parametrize(
    "learner", [cb.MCEmpirical(n_options=5, risk_aversion=0.1), cb.MCETE(n_options=5, risk_aversion=0.1)]
)
@pytest.mark.parametrize(
    ("drawn", "message"),
    [
        (None, "must return an object with a method draw"),
        (lambda n: np.zeros((n, 4)), r"draw\(20\) must return 20 × 5 numbers.* got the shape \(20, 4\)"),
        (lambda n: np.zeros((n - 1, 5)), r"got the shape \(19, 5\)"),
        (lambda n: np.zeros((n + 1, 5)), r"got the shape \(21, 5\)"),
        (lambda n: np.zeros(n), r"got the shape \(20,\)"),
        (lambda n: None, "draw"),
        (lambda n: [["a"] * 5] * n, "must return numbers"),
        (lambda n: np.full((n, 5), np.nan), "there, finite and within"),
        (lambda n: np.full((n, 5), -np.inf), "there, finite and within"),
        (lambda n: np.full((n, 5), 1e200), "there, finite and within"),
        (lambda n: np.ma.masked_array(np.zeros((n, 5)), mask=np.eye(n, 5)), "there, finite and within"),
    ],
)
def test_draws_of_ones_own_environment_are_checked(learner: cb.Learner, drawn: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        cb.simulate(cb.problems.synthetic(), learner, 20, 2, environment=_Drawing(drawn))


def test_the_length_of_ones_own_environment_is_checked() -> None:
    class Endless(cb.environments.Gaussian):
        length = "abc"

    with pytest.raises(InvalidInput, match="the length of environment Endless must be"):
        cb.simulate(cb.problems.synthetic(), cb.FixedWeights(n_options=5), environment=Endless())


@pytest.mark.parametrize(
    "environment",
    [
        cb.environments.Gaussian(),
        cb.environments.StudentT(5),
        cb.environments.Skewed(-2),
        cb.environments.Skewed(1),
        cb.environments.Bounded(),
    ],
)
def test_environments_match_the_moments_and_do_not_depend_on_chunks(environment: cb.environments.Environment) -> None:
    problem = cb.problems.random(4, "factor", seed=2)
    n = 200_000
    rewards = environment.sampler(problem, 1, 0).draw(n)
    again = environment.sampler(problem, 1, 0)
    assert np.array_equal(np.concatenate([again.draw(k) for k in (1, 7, 992)]), rewards[:1000])
    assert not np.array_equal(environment.sampler(problem, 1, 1).draw(5), rewards[:5])
    spread = np.sqrt(np.diag(problem.covariance))
    assert (np.abs(rewards.mean(axis=0) - problem.mean) < 5 * spread / np.sqrt(n)).all()
    away = np.abs(np.cov(rewards.T, bias=True) - problem.covariance) / np.outer(spread, spread)
    assert away.max() < 0.05


def test_shapes_of_the_noise() -> None:
    problem = cb.Problem(mean=[0.0], covariance=[[1.0]], risk_aversion=1.0)

    def moments(environment: cb.environments.Environment) -> tuple[float, float, float]:
        x = environment.sampler(problem, 0, 0).draw(100_000)[:, 0]
        return float((x**3).mean()), float((x**4).mean()), float(np.abs(x).max())

    assert moments(cb.environments.Gaussian())[1] == pytest.approx(3, abs=0.1)
    assert moments(cb.environments.StudentT(5))[1] > 4
    assert moments(cb.environments.Skewed(-2))[0] == pytest.approx(-2, abs=0.2)
    assert moments(cb.environments.Bounded())[2] <= np.sqrt(3)
    with pytest.raises(InvalidInput, match="df must be above 2"):
        cb.environments.StudentT(2.0)
    with pytest.raises(InvalidInput, match="skewness must not be 0"):
        cb.environments.Skewed(0)


def test_a_singular_covariance_is_sampled_exactly() -> None:
    covariance = np.array([[1.0, 1.0, -1.0], [1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]])
    problem = cb.Problem(mean=[0.0, 1.0, 2.0], covariance=covariance, risk_aversion=1.0)
    x = cb.environments.Gaussian().sampler(problem, 0, 0).draw(50) - problem.mean
    assert np.allclose(x[:, 0], x[:, 1])
    assert np.allclose(x[:, 0], -x[:, 2])
    certain = cb.Problem(mean=[0.5, 1.0], covariance=np.zeros((2, 2)), risk_aversion=1.0)
    assert (cb.environments.Gaussian().sampler(certain, 0, 0).draw(3) == [0.5, 1.0]).all()


def test_an_environment_of_ones_own() -> None:
    class Alternating(cb.environments.Environment):
        def sampler(self, problem: cb.Problem, seed: int, replication: int) -> Any:
            class Rewards:
                t = 0

                def draw(self, n: int) -> np.ndarray:
                    rounds = np.arange(self.t, self.t + n)
                    self.t += n
                    return np.where(rounds[:, None] % 2 == 0, 1.0, -1.0) * np.ones(problem.n_options)

            return Rewards()

    r = cb.simulate(cb.problems.synthetic(), FollowTheLeader(n_options=5), 10, 2, environment=Alternating(), workers=1)
    assert r.learners == ["FollowTheLeader"]
    described = r.specification["environment"]
    assert described["environment"] == "Alternating"
    assert described["defined_in"].endswith("Alternating")  # with a hash of where: another one of that name is another


def test_regret_and_checkpoints() -> None:
    problem = cb.problems.synthetic()
    r = _run(checkpoints=[10, 50])
    assert r.checkpoints.tolist() == [10, 50, 200]
    gap = problem.gap(np.full(5, 0.2))
    assert np.allclose(r.at("equal", 10), 10 * gap)
    assert np.allclose(r.at("equal"), 200 * gap)
    assert r.regret.shape == (4, 5, 3)
    assert r.weights.shape == (4, 5, 3, 5)
    assert np.allclose(r.weights.sum(axis=-1), 1)
    default = _run()
    assert {1, 2, 20, 200} <= set(default.checkpoints.tolist())
    assert (np.diff(default.regret, axis=2) >= 0).all()


@pytest.mark.parametrize("d", [1, 4, 5, 6, 40])  # five options have unrolled code of their own
def test_regret_is_the_sum_of_the_gaps_of_the_weights_played(d: int) -> None:
    problem = cb.problems.random(d, "negative", seed=d, risk_aversion=0.7)
    learner = cb.MCEmpirical(n_options=d, risk_aversion=0.7)
    r = cb.simulate(problem, learner, 300, 2, checkpoints=range(1, 301), workers=1)
    for played, regret in zip(r.weights[0], r.regret[0], strict=True):
        assert np.allclose(regret, np.cumsum([problem.gap(w) for w in played]), rtol=1e-9, atol=1e-14)


def test_learners_are_not_changed_and_start_fresh() -> None:
    learner = cb.MCEmpirical(n_options=5, risk_aversion=0.1)
    fresh = cb.simulate(cb.problems.synthetic(), {"it": learner}, 50, 2, workers=1)
    learner.tell(np.full(5, 0.2), np.ones(5))
    again = cb.simulate(cb.problems.synthetic(), {"it": learner}, 50, 2, workers=1)
    assert learner.rounds_told == 1
    assert np.array_equal(fresh.regret, again.regret)


def test_hold_in_simulation() -> None:
    problem, held = cb.problems.synthetic(), [1.0, 0.0, 0.0, 0.0, 0.0]
    learner = cb.MCEmpirical(n_options=5, risk_aversion=0.1, hold=(held, 10))
    r = cb.simulate(problem, {"it": learner}, 20, 1, checkpoints=[1, 10, 11], workers=1)
    assert r.weights[0, 0, 1].tolist() == held
    assert r.weights[0, 0, 2].tolist() != held
    assert r.at("it", 10)[0] == pytest.approx(10 * problem.gap(held))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"horizon": 0}, "horizon must be at least 1"),
        ({"replications": 0}, "replications must be at least 1"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"workers": 0}, "workers must be at least 1"),
        ({"checkpoints": [0, 5]}, "whole rounds from 1 to the horizon 200"),
        ({"checkpoints": [5.5]}, "whole rounds from 1"),
        ({"checkpoints": [201]}, "whole rounds from 1"),
        ({"environment": "gauss"}, "environment must be an Environment"),
    ],
)
def test_bad_arguments(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        _run(**change)


def test_learners_that_do_not_fit_are_refused() -> None:
    problem = cb.problems.synthetic()
    capped = cb.Problem(mean=problem.mean, covariance=problem.covariance, risk_aversion=0.1, max_weight=0.5)
    for truth, learner, message in [
        (problem, cb.MCEmpirical(n_options=4, risk_aversion=0.1), "it has 4 options, the problem 5"),
        (problem, cb.MCEmpirical(n_options=5, risk_aversion=0.2), "its risk_aversion is 0.2, the problem's 0.1"),
        (problem, cb.MCEmpirical(n_options=5, risk_aversion=0.1, max_weight=0.5), "its max_weight is"),
        (capped, cb.MCEmpirical(n_options=5, risk_aversion=0.1), "its max_weight is None"),
        (capped, cb.FixedWeights(weights=[0.6, 0.1, 0.1, 0.1, 0.1]), "exceed the problem's max_weight"),
        (problem, cb.FixedWeights(n_options=4), "it has 4 options"),
    ]:
        with pytest.raises(InvalidInput, match=message):
            cb.simulate(truth, {"it": learner}, 10, 1)
    for learners, message in [
        ({}, "no learners"),
        ({"it": "OGD"}, "is not a Learner"),
        ([cb.LinearFI(n_options=5), cb.LinearFI(n_options=5)], "need names"),
    ]:
        with pytest.raises(InvalidInput, match=message):
            cb.simulate(problem, learners, 10, 1)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="problem must be a Problem"):
        cb.simulate("synthetic", cb.LinearFI(n_options=5), 10, 1)  # type: ignore[arg-type]
    cb.simulate(capped, {"it": cb.MCEmpirical(n_options=5, risk_aversion=0.1, max_weight=0.5)}, 10, 1)


def test_save_load_merge_resume(tmp_path: Path) -> None:
    whole = _run(replications=6)
    part = _run(replications=2)
    continued = _run(replications=6, resume=part)
    assert np.array_equal(continued.regret, whole.regret)
    path = tmp_path / "result.npz"
    part.save(path)
    again = cb.SimulationResult.load(path)
    assert np.array_equal(again.regret, part.regret)
    assert np.array_equal(again.weights, part.weights)
    assert again.specification == part.specification
    assert again.versions["covbandit"] == cb.__version__
    rest = cb.SimulationResult(
        whole.regret[:, 2:], whole.weights[:, 2:], whole.replications[2:], whole.specification, whole.versions
    )
    assert np.array_equal(rest.merge(again).regret, whole.regret)
    with pytest.raises(InvalidInput, match="replication 0 is in both"):
        whole.merge(part)
    with pytest.raises(InvalidInput, match=r"horizon differs \(200 there, 100 here\)|checkpoints differ"):
        _run(horizon=100, resume=part)
    with pytest.raises(InvalidInput, match="seed differs"):
        _run(seed=4, resume=part)
    assert _run(replications=2, resume=whole).replications.tolist() == [0, 1]


def test_result_files_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "result.npz"
    with pytest.raises(StateFileError, match="no such file"):
        cb.SimulationResult.load(path)
    _run(replications=1).save(path)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(StateFileError, match="truncated or not a simulation result"):
        cb.SimulationResult.load(path)
    np.savez(path, regret=np.zeros(3))
    with pytest.raises(StateFileError, match="lacks a header"):
        cb.SimulationResult.load(path)
    np.savez(path, header=np.array('{"format": "covbandit-simulation", "version": 99}'))
    with pytest.raises(StateFileError, match="format version 99"):
        cb.SimulationResult.load(path)
    np.savez(path, header=np.array('{"format": "else"}'))
    with pytest.raises(StateFileError, match="not a simulation result of covbandit"):
        cb.SimulationResult.load(path)


def test_tables_and_frames() -> None:
    r = _run()
    summary = r.summary()
    assert summary.to_dict()["learner"] == r.learners
    assert summary.to_dict()["mean regret"][0] == r.at("MC-Empirical").mean()
    equal = summary.to_dict()["log-log slope"][3]
    assert equal == pytest.approx(1)
    assert "Regret after 200 rounds, 5 replications" in str(summary)
    assert r.to_latex().count(r"\\") == 5
    frame = r.to_frame()
    assert len(frame) == r.regret.size
    row = frame[(frame.learner == "OGD") & (frame.replication == 2) & (frame["round"] == 200)]
    assert row.regret.item() == r.at("OGD")[2]
    assert r.slopes().columns == ["learner", "2 to 20", "20 to 200"]
    assert r.ratios("OGD").to_dict()["times OGD"][1] == pytest.approx(1)
    with pytest.raises(InvalidInput, match="no learner 'UCB'"):
        r.at("UCB")
    with pytest.raises(InvalidInput, match="round 199 is not a checkpoint"):
        r.at("OGD", 199)


def test_confidence_intervals_cover() -> None:
    rng = np.random.default_rng(0)
    means = rng.normal(2.0, 1.0, size=(10, 4000))
    covered = np.abs(means.mean(axis=0) - 2.0) <= half_width(means)
    assert covered.mean() == pytest.approx(0.95, abs=0.015)
    hits = 0
    for _ in range(2000):
        common = rng.gamma(20, 1, size=30)
        ratio = paired_ratio(common * rng.gamma(50, 3 / 50, size=30), common)
        hits += ratio.low <= 3 <= ratio.high
    assert hits / 2000 == pytest.approx(0.95, abs=0.02)
    assert np.isnan(half_width(np.ones((1, 3)))).all()
    assert np.isnan(paired_ratio(np.zeros(3), np.zeros(3)).estimate)


def test_plot_draws_every_learner() -> None:
    from matplotlib.figure import Figure

    r = _run()
    ax = r.plot(Figure().add_subplot())
    assert [text.get_text() for text in ax.get_legend().get_texts()] == r.learners
    assert ax.get_xscale() == ax.get_yscale() == "log"
    dashes = {str(line.get_linestyle()) + str(line.get_marker()) for line in ax.get_lines()}
    assert len(dashes) == len(r.learners)


def test_ctrl_c_keeps_what_is_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = cb.problems.synthetic()
    learners = {"it": cb.MCEmpirical(n_options=5, risk_aversion=0.1)}
    timer = threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT))
    cb.simulate(problem, learners, 10, 1, workers=1)  # compiled before Ctrl-C is pressed
    timer.start()
    with pytest.raises(Interrupted, match=r"resume=e\.partial") as caught:
        cb.simulate(problem, learners, 100_000, 5_000, workers=2)
    partial = caught.value.partial
    assert isinstance(partial, cb.SimulationResult)
    n = len(partial.replications)
    assert 0 < n < 5_000
    whole = cb.simulate(problem, learners, 100_000, n + 1, workers=2, resume=partial)
    kept = np.isin(whole.replications, partial.replications)
    assert np.array_equal(whole.regret[:, kept], partial.regret[:, : kept.sum()])


def test_an_error_in_a_learner_ends_the_simulation() -> None:
    class Broken(FollowTheLeader):
        def _absorb(self, weights: Any, observation: Any) -> None:
            raise RuntimeError("broken on purpose")

    with pytest.raises(RuntimeError, match="broken on purpose"):
        cb.simulate(cb.problems.synthetic(), Broken(n_options=5), 10, 4, workers=2)

    class Empty(FollowTheLeader):
        def _absorb(self, weights: Any, observation: Any) -> None:
            raise queue.Empty  # which we use ourselves

    with pytest.raises(queue.Empty):
        cb.simulate(cb.problems.synthetic(), Empty(n_options=5), 10, 4, workers=2)


def test_progress_is_shown_on_a_terminal_only(capsys: pytest.CaptureFixture[str]) -> None:
    _run(progress=False)
    _run()
    assert capsys.readouterr().err == ""
    code = (
        "import covbandit as cb; "
        "cb.simulate(cb.problems.synthetic(), cb.FixedWeights(n_options=5), 100_000, 200, workers=1, progress=True)"
    )
    terminal, end = os.openpty()
    with subprocess.Popen([sys.executable, "-c", code], stderr=end) as child:
        os.close(end)
        shown = b""
        try:
            while part := os.read(terminal, 4096):
                shown += part
        except OSError:  # the terminal closes with the child
            pass
    os.close(terminal)
    assert child.returncode == 0
    assert b"simulating" in shown
    assert b"left" in shown


def test_import_is_light() -> None:
    code = "import sys, covbandit; print([m for m in ('numpy', 'numba', 'matplotlib', 'typer') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert "simulate" in dir(cb)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = cb.nothing  # type: ignore[attr-defined]
