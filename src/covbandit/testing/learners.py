"""The conformance suite of learners."""

from __future__ import annotations

import json
import tempfile
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from covbandit.core.typing import F64
from covbandit.environments import Gaussian
from covbandit.errors import CovbanditError, InvalidInput
from covbandit.learners import Learner, load_learner
from covbandit.learners.protocol.serialization import describe
from covbandit.learners.protocol.setup_warnings import said_before
from covbandit.problems import random
from covbandit.simulation import simulate
from covbandit.simulation.engine import fresh_player, total_reward


class LearnerConformance(ABC):
    """What every learner must do. Subclass it, name the subclass ``Test...``, and define `make`.

    Attributes
    ----------
    history : int
        Rounds told before what is checked past start-up; raise it for learners with a long start-up.
    memory_rounds : int
        Rounds over which the state must not grow.
    """

    history: ClassVar[int] = 60
    memory_rounds: ClassVar[int] = 100_000

    @abstractmethod
    def make(self) -> Learner:
        """Return a fresh learner, with at least two options."""

    def rescaled(self, learner: Learner, factor: float) -> Learner:
        """Return a fresh learner for rewards multiplied by a factor: ρ divided, variances squared."""
        config = learner.config()
        if config.get("risk_aversion") is not None:
            config["risk_aversion"] /= factor
        for name in ("variance_bound", "gamma", "curvature"):
            if config.get(name) is not None:
                config[name] = np.multiply(config[name], factor**2)
        with said_before():
            return type(learner)(**config)

    # Rewards and observations ----------------------------------------------------------------------------------------

    def problem(self, learner: Learner) -> Any:
        """Return a problem that the learner may play."""
        rho = 0.5 if learner.risk_aversion is None else learner.risk_aversion
        base = random(learner.n_options, "factor", seed=7, risk_aversion=rho)
        limits = {"max_weight": learner.max_weight, "min_weight": learner.min_weight}
        return type(base)(**{**base.to_dict(), **limits})

    def rewards(self, learner: Learner, n: int, seed: int = 3) -> F64:
        """Return n rounds of tie-free rewards."""
        return Gaussian().sampler(self.problem(learner), seed, 0).draw(n)

    def observe(self, learner: Learner, weights: F64, reward: F64) -> Any:
        """Return what the learner would see."""
        if learner.feedback == "total":
            return total_reward(weights, reward)
        return reward if learner.feedback == "all" else np.where(weights > 0, reward, np.nan)

    def play(self, learner: Learner, rewards: F64) -> F64:
        """Let a learner ask and tell; return the weights it asked for."""
        asked = []
        for reward in rewards:
            weights = learner.ask()
            learner.tell(weights, self.observe(learner, weights, reward))
            asked.append(weights)
        return np.array(asked).reshape(len(rewards), learner.n_options)

    def told(self, n: int | None = None) -> Learner:
        """Return a learner past its start-up."""
        learner = self.make()
        self.play(learner, self.rewards(learner, self.history if n is None else n))
        return learner

    # The checks ------------------------------------------------------------------------------------------------------

    def test_live_equals_simulation(self) -> None:
        """A simulation and a live run on the same rewards give the same weights, bit for bit."""
        learner = self.make()
        problem = self.problem(learner)
        rounds = np.arange(1, self.history + 1)
        simulated = simulate(problem, {"it": learner}, self.history, 1, seed=3, workers=1, checkpoints=rounds)
        live = fresh_player(learner, seed=3, replication=0, position=0)
        asked = self.play(live, self.rewards(learner, self.history))
        assert np.array_equal(asked, simulated.weights[0, 0])
        regret = np.cumsum([problem.gap(weights) for weights in asked])
        assert np.allclose(regret, simulated.regret[0, 0], rtol=1e-9, atol=1e-12)

    def test_save_and_load(self) -> None:
        """A loaded learner's next asks are bit-identical, also after more is told."""
        for n in (0, 1, self.history):
            learner = self.told(n)
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "learner.json"
                learner.save(path)
                again = load_learner(path)
            more = self.rewards(learner, 20, seed=4)
            assert np.array_equal(self.play(learner, more), self.play(again, more))

    def test_ask_is_pure(self) -> None:
        """Asking twice, or ahead, changes nothing."""
        learner = self.told()
        before = describe(learner)
        first = learner.ask()
        learner.ask(outstanding=3)
        assert np.array_equal(first, learner.ask())
        assert describe(learner) == before

    def test_explanation_agrees_with_the_learner(self) -> None:
        """Explaining changes nothing, explains what is asked, and its contributions sum to its totals."""
        for n in (0, 1, self.history):
            learner = self.make()
            asked = self.play(learner, self.rewards(learner, n))
            before = describe(learner)
            explanation = learner.explain()
            assert describe(learner) == before
            assert explanation.rounds == n
            assert np.array_equal(explanation.weights, learner.ask())
            assert np.array_equal(explanation.counts, learner.counts)
            seen = np.full(learner.n_options, n) if learner.feedback == "all" else (asked > 0).sum(axis=0)
            assert (learner.counts <= seen + 1e-9).all()  # with forgetting, less
            for total, contributions in (
                (explanation.mean, explanation.mean_contributions),
                (explanation.variance, explanation.risk_contributions),
            ):
                assert len(contributions) == learner.n_options
                if total is not None:
                    known = [value for value in contributions if value is not None]
                    assert abs(sum(known) - total) <= 1e-12 * (1 + np.abs(known).sum())
            as_data = explanation.to_dict()
            assert json.loads(json.dumps(as_data, allow_nan=False)) == as_data

    def test_clone_is_independent(self) -> None:
        """A clone knows the same and then goes its own way."""
        learner = self.told()
        copy = learner.clone()
        before = describe(learner)
        more = self.rewards(learner, 20, seed=4)
        first = learner.ask()
        assert np.array_equal(first, copy.ask())
        self.play(copy, more)
        assert describe(learner) == before
        self.play(learner, more)
        assert describe(learner) == describe(copy)

    def test_reset_forgets(self) -> None:
        """A reset learner is like a new one."""
        learner = self.told()
        learner.reset()
        assert describe(learner) == describe(self.make())

    def test_batch_equals_sequential(self) -> None:
        """Telling many rounds at once is telling them one by one."""
        one, many = self.make(), self.make()
        rewards = self.rewards(one, self.history)
        asked = self.play(one, rewards)
        many.tell_many(asked, [self.observe(many, w, r) for w, r in zip(asked, rewards, strict=True)])
        assert describe(one) == describe(many)

    def test_inputs_are_not_modified(self) -> None:
        """What is told stays the caller's."""
        learner = self.make()
        rewards = self.rewards(learner, 5)
        for reward in rewards:
            weights = learner.ask()
            observation = self.observe(learner, weights, reward)
            kept = weights.copy(), np.array(observation)
            learner.tell(weights, observation)
            assert np.array_equal(weights, kept[0])
            assert np.array_equal(observation, kept[1], equal_nan=True)
            weights[:] = -1.0  # nor does the learner keep a hold of it
            assert (learner.ask() >= 0).all()

    def test_weights_are_on_the_decision_set(self) -> None:
        """Weights sum to one within 1e-12, none is negative, caps are kept."""
        learner = self.make()
        asked = self.play(learner, self.rewards(learner, 3 * self.history))
        _require_decision_set(learner, asked)

    def test_memory_is_bounded(self) -> None:
        """The state does not grow with the number of rounds."""
        learner = self.told()
        before = _size(describe(learner))
        rewards = self.rewards(learner, self.memory_rounds)
        weights = learner.ask()
        rows = np.broadcast_to(weights, (len(rewards), learner.n_options))
        learner.tell_many(rows, [self.observe(learner, weights, reward) for reward in rewards])
        assert learner.rounds_told == self.history + self.memory_rounds
        assert _size(describe(learner)) == before
        assert np.isfinite(learner.ask()).all()

    def test_no_look_ahead(self) -> None:
        """Weights up to a round do not depend on what comes after it."""
        one, other = self.make(), self.make()
        shared = self.rewards(one, self.history)
        changed = np.concatenate([shared[: self.history // 2], self.rewards(one, self.history, seed=5)])
        a, b = self.play(one, shared), self.play(other, changed)
        upto = self.history // 2 + 1
        assert np.array_equal(a[:upto], b[:upto])

    def test_bad_input_changes_nothing(self) -> None:
        """NaN, infinities, wrong shapes and weights off the simplex are refused, and nothing has changed."""
        learner = self.told(10)
        weights = learner.ask()
        good = self.observe(learner, weights, self.rewards(learner, 1)[0])
        d = learner.n_options
        before = describe(learner)
        bad_weights: list[Any] = [
            np.full(d, np.nan),
            np.full(d, np.inf),
            weights * 1.1,
            np.append(weights, 0.0),
            weights[:-1],
            np.eye(d)[0] - 1e-3 * np.eye(d)[1] + 1e-3 * np.eye(d)[0],
            np.ones((d, d)) / d,
            "weights",
            None,
        ]
        bad_observations: list[Any] = [np.full(d + 1, 0.1), np.ones((2, d)), "rewards", None, 1e200, np.full(d, 1e200)]
        bad_observations += [np.nan, np.inf] if learner.feedback == "total" else [0.5, np.full(d, np.inf)]
        if learner.feedback == "all":
            bad_observations.append(np.where(np.arange(d) == d - 1, np.nan, 0.1))
        for bad in bad_weights:
            _refused(lambda bad=bad: learner.tell(bad, good))
            _refused(lambda bad=bad: learner.tell_many([weights, bad], [good, good]))
        for bad in bad_observations:
            _refused(lambda bad=bad: learner.tell(weights, bad))
            _refused(lambda bad=bad: learner.tell_many([weights, weights], [good, bad]))
        _refused(lambda: learner.tell_many([weights], [good, good]))
        _refused(lambda: learner.ask(outstanding=-1))
        assert describe(learner) == before

    def test_retired_options_get_no_weight(self) -> None:
        """From the moment it is retired an option's weight is zero, also ahead; the others' are on the decision set."""
        for n in (0, 1, self.history):
            learner = self.told(n)
            out = _retire_one(learner)
            if out is None:
                return
            asked = [learner.ask(outstanding=k) for k in (0, 1, 2, 7, self.history, 1_000)]
            asked.extend(self.play(learner, self.rewards(learner, 2 * self.history, seed=4)))
            weights = np.array(asked)
            assert (weights[:, out] == 0.0).all()
            _require_decision_set(learner, weights)
            assert learner.explain().weights[out] == 0.0
            problem = self.problem(learner)
            assert "retired" in str(learner.mismatch(problem))

    def test_retired_options_are_saved_and_come_back(self) -> None:
        """Copies know what is retired; brought back, nothing is lost; late outcomes of retired options are absorbed."""
        learner = self.told()
        late = [learner.ask(outstanding=k) for k in range(5)]
        counts = learner.counts
        out = _retire_one(learner)
        if out is None:
            return
        assert np.array_equal(learner.counts, counts)
        for weights, reward in zip(late, self.rewards(learner, 5, seed=6), strict=True):
            learner.tell(weights, self.observe(learner, weights, reward))
            assert learner.ask()[out] == 0.0
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "learner.json"
            learner.save(path)
            copies = [load_learner(path), learner.clone()]
        more = self.rewards(learner, 20, seed=4)
        asked = self.play(learner, more)
        for copy in copies:
            assert np.array_equal(self.play(copy, more), asked)
            assert describe(copy) == describe(learner)
        learner.set_retired([])
        assert learner.retired == ()
        assert learner.mismatch(self.problem(learner)) is None
        asked = self.play(learner, self.rewards(learner, self.history, seed=5))
        assert np.abs(asked.sum(axis=1) - 1).max() <= 1e-12

    def test_declared_invariances(self) -> None:
        """Scaling rewards, or reordering options, changes the weights as declared."""
        learner = self.make()
        assert learner.invariances <= {"scale", "permutation"}
        rewards = self.rewards(learner, self.history)
        weights = np.random.default_rng(0).dirichlet(np.ones(learner.n_options), size=self.history)
        _tell_all(self, learner, weights, rewards)
        asked = learner.ask()
        if "scale" in learner.invariances:
            for factor in (1e-3, 37.0):
                other = self.rescaled(learner, factor)
                _tell_all(self, other, weights, factor * rewards)
                assert np.abs(other.ask() - asked).max() <= 1e-9
        if "permutation" in learner.invariances and learner.max_weight is None and learner.hold is None:
            order = np.random.default_rng(1).permutation(learner.n_options)
            other = self.make()
            _tell_all(self, other, weights[:, order], rewards[:, order])
            assert np.abs(other.ask() - asked[order]).max() <= 1e-9


def _tell_all(suite: LearnerConformance, learner: Learner, weights: F64, rewards: F64) -> None:
    for w, reward in zip(weights, rewards, strict=True):
        learner.tell(w, suite.observe(learner, w, reward))


def _require_decision_set(learner: Learner, asked: F64) -> None:
    """Fail unless every row of weights sums to one, has no negative entry and keeps the learner's limits."""
    assert np.abs(asked.sum(axis=1) - 1).max() <= 1e-12
    assert asked.min() >= 0
    if learner.max_weight is not None:
        assert (asked <= learner.max_weight + 1e-12).all()
    if learner.min_weight is not None:
        assert ((asked == 0) | (asked >= learner.min_weight - 1e-12)).all()


def _retire_one(learner: Learner) -> int | None:
    """Retire the first option that the learner can do without, if there is one."""
    for i in range(learner.n_options):
        try:
            learner.set_retired([i])
        except CovbanditError:  # caps too small, or a design that tells too little of the others
            continue
        return i
    return None


def _refused(action: Any) -> None:
    try:
        action()
    except InvalidInput:
        return
    raise AssertionError("bad input was accepted")


def _size(value: Any) -> int:
    """Count the numbers and strings in plain data."""
    if isinstance(value, dict):
        return sum(_size(item) for item in value.values())
    return sum(_size(item) for item in value) if isinstance(value, list) else 1
