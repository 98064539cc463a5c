"""Runs replications, on one core: draws rewards in chunks and lets every learner play the same ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from covbandit.core.typing import F64, I64
from covbandit.core.validation import LARGEST
from covbandit.environments import Environment
from covbandit.environments.base import Sampler
from covbandit.errors import InvalidInput
from covbandit.kernels.jit.compilation import callback, compiled
from covbandit.learners import Learner
from covbandit.simulation.driver import FEEDBACK_CODES, Record, confined, play
from covbandit.simulation.plan import Plan
from covbandit.simulation.regret import Truth

# A call of the driver costs 0.05 ms, so it plays many rounds; but its rewards must fit into the processor's cache.
_CHUNK_ROUNDS = 16_384
_CHUNK_NUMBERS = 81_920


@dataclass(frozen=True)
class Replication:
    """What one replication gave: regret [learner, checkpoint], weights [learner, checkpoint, option], and doubts.

    A doubt says which of a learner's assumptions was contradicted.
    """

    index: int
    regret: F64
    weights: F64
    doubts: tuple[str | None, ...] = ()


class Stopped(Exception):
    """The stop flag was raised in the middle of a replication."""


def run_replication(plan: Plan, index: int, stop: I64 | None = None, steps: I64 | None = None) -> Replication:
    """Run one replication of all learners.

    Parameters
    ----------
    plan : Plan
        What to run.
    index : int
        Which replication; with the plan's seed it determines every draw.
    stop : int64 array of size 1, optional
        Set its entry to end early, by `Stopped`.
    steps : int64 array, optional
        Its entry `index` is set to the number of learner-rounds played, for progress bars.
    """
    stop = np.zeros(1, dtype=np.int64) if stop is None else stop
    problem = plan.problem_of(index)
    d = problem.n_options
    sampler = plan.environment.sampler(problem, plan.seed, index)
    size = (len(plan.learners), len(plan.checkpoints))
    regret, weights, regret_so_far = np.zeros(size), np.zeros((*size, d)), np.zeros((size[0], 1))
    players = [fresh_player(learner, plan.seed, index, k) for k, learner in enumerate(plan.learners.values())]
    truth = Truth.of(problem)
    chunk = max(1, min(_CHUNK_ROUNDS, _CHUNK_NUMBERS // d))
    done = 0
    while done < plan.horizon:
        rewards = _next_rewards(plan.environment, sampler, min(chunk, plan.horizon - done), d)
        for k, player in enumerate(players):
            record = Record(plan.checkpoints, regret[k], weights[k], regret_so_far[k])
            play_on = _play_compiled if player.compiled else _play_python
            played = play_on(player, rewards, truth, record, stop)
            if played < len(rewards):
                raise Stopped
            if steps is not None:
                steps[index] += played
        done += len(rewards)
    return Replication(index, regret, weights, tuple(player._doubt() for player in players))


def _next_rewards(environment: Environment, sampler: Sampler, n: int, d: int) -> F64:
    """Return the rewards of the next n rounds, checked: kernels would read past the end of an array too small."""
    who = f"environment {type(environment).__name__}"
    if not callable(getattr(sampler, "draw", None)):
        raise InvalidInput(f"{who}: sampler must return an object with a method draw(n), got {sampler!r}")
    drawn = sampler.draw(n)
    try:
        rewards = np.ascontiguousarray(drawn, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{who}: draw({n}) must return numbers ({error})") from None
    if rewards.shape != (n, d):
        raise InvalidInput(
            f"{who}: draw({n}) must return {n} × {d} numbers, a row per round and a column per option; got the shape "
            f"{np.shape(drawn)}"
        )
    if np.ma.is_masked(drawn) or not (rewards.min() >= -LARGEST and rewards.max() <= LARGEST):
        raise InvalidInput(f"{who}: draw({n}) must return rewards that are there, finite and within ±{LARGEST:g}")
    return rewards


def total_reward(weights: F64, reward: F64) -> float:
    """Return w'y added up in the order of the options, as the driver does: NumPy's order depends on the machine."""
    total = 0.0
    for w, y in zip(weights.tolist(), reward.tolist(), strict=True):
        total += w * y
    return total


def fresh_player(learner: Learner, seed: int, replication: int, position: int) -> Learner:
    """Return a reset clone with a seed of its own in every replication, for randomised learners."""
    player = learner.clone()
    player.reset()
    sequence = np.random.SeedSequence(seed, spawn_key=(replication, 2, position))
    player._view.seed = int(sequence.generate_state(1, np.uint64)[0] >> np.uint64(1))
    return player


def _play_compiled(player: Learner, rewards: F64, truth: Truth, record: Record, stop: I64) -> int:
    decide = player._kernel("_decide_kernel")
    return compiled(play)(
        callback(confined(decide) if player._confined else decide),
        callback(player._kernel("_absorb_kernel")),
        player._state,
        FEEDBACK_CODES[player.feedback],
        rewards,
        truth,
        record,
        np.empty((4, rewards.shape[1])),
        stop,
    )


def _play_python(player: Learner, rewards: F64, truth: Truth, record: Record, stop: I64) -> int:
    """Do what the driver does, for a learner in plain Python, through its public ask and tell."""
    checkpoints = record.checkpoints
    for k, reward in enumerate(rewards):
        if stop[0]:
            return k
        w = player.ask()
        record.regret_so_far[0] += truth.regret(w)
        if player.feedback == "all":
            player.tell(w, reward)
        elif player.feedback == "chosen":
            player.tell(w, np.where(w > 0, reward, np.nan))
        else:
            player.tell(w, total_reward(w, reward))
        at = np.searchsorted(checkpoints, player.rounds_told)
        if at < len(checkpoints) and checkpoints[at] == player.rounds_told:
            record.regret[at] = record.regret_so_far[0]
            record.weights[at] = w
    return len(rewards)
