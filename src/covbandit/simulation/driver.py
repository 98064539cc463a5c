"""The loop that every simulation runs: decide, pay regret, observe, absorb."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from numba import types

from covbandit.core.typing import F64, I64
from covbandit.kernels.jit.compilation import UNROLLED, compiled, kernel, out_of_line, without_notice
from covbandit.learners.protocol.retired_options import call_confine_in_place
from covbandit.learners.protocol.state import ABSORB, DECIDE, STATE_TYPE, LearnerState, State
from covbandit.simulation.regret import TRUTH_TYPE, Truth, regret_of

ALL = 0
CHOSEN = 1
TOTAL = 2
FEEDBACK_CODES = {"all": ALL, "chosen": CHOSEN, "total": TOTAL}


class Record(NamedTuple):
    """What is kept of one learner's replication; the driver writes all of it but the checkpoints.

    Attributes
    ----------
    checkpoints : array of int
        Rounds after which to record, ascending.
    regret : array of checkpoints
        Cumulative regret at each of them.
    weights : array of checkpoints × d
        The weights played in each of them.
    regret_so_far : array of 1
        Cumulative regret, carried from call to call.
    """

    checkpoints: I64
    regret: F64
    weights: F64
    regret_so_far: F64


_VECTOR = types.Array(types.float64, 1, "C")
_MATRIX = types.Array(types.float64, 2, "C")
_INTEGERS = types.Array(types.int64, 1, "C")
_RECORD_TYPE = types.NamedTuple((_INTEGERS, _VECTOR, _MATRIX, _VECTOR), Record)  # type: ignore[no-untyped-call]

_SIGNATURE = types.int64(
    types.FunctionType(DECIDE),
    types.FunctionType(ABSORB),
    STATE_TYPE,
    types.int64,
    _MATRIX,
    TRUTH_TYPE,
    _RECORD_TYPE,
    _MATRIX,
    _INTEGERS,
)


@kernel(_SIGNATURE)
def play(
    decide: Callable[[State, int, F64], None],
    absorb: Callable[[State, F64, F64], None],
    state: State,
    feedback: int,
    rewards: F64,
    truth: Truth,
    record: Record,
    work: F64,
    stop: I64,
) -> int:
    """Play one round per row of `rewards`; return how many were played before `stop` was raised.

    ============  ========================================================================
    feedback      what the learner observes: ALL, CHOSEN or TOTAL
    truth         what regret is measured against
    record        regret and weights at checkpoints, written
    work          4 × d scratch
    stop          one number, raised to 1 by another thread
    ============  ========================================================================
    """
    s = LearnerState(state)
    n, d = rewards.shape
    w = work[0]
    y = work[1]
    away = work[2]
    slope = work[3]
    checkpoints = record.checkpoints
    total = record.regret_so_far[0]
    t = s.told
    held = s.hold_rounds
    at = 0
    while at < checkpoints.size and checkpoints[at] <= t:
        at += 1
    following = checkpoints[at] if at < checkpoints.size else -1
    for k in range(n):
        if stop[0] != 0:
            record.regret_so_far[0] = total
            return k
        t += 1
        if t <= held:
            for i in range(d):
                w[i] = s.held_weights[i]
        else:
            decide(state, t, w)
        if d == UNROLLED:
            total += regret_of(w, truth, away, slope, UNROLLED)
        else:
            total += regret_of(w, truth, away, slope, d)
        if feedback == ALL:
            absorb(state, w, rewards[k])
        elif feedback == CHOSEN:
            for i in range(d):
                y[i] = rewards[k, i] if w[i] > 0.0 else np.nan
            absorb(state, w, y)
        else:
            earned = 0.0
            for i in range(d):
                earned += w[i] * rewards[k, i]
            y[0] = earned
            absorb(state, w, y[:1])
        for i in range(d):
            s.last_weights[i] = w[i]
        s.told = t
        if t == following:
            record.regret[at] = total
            for i in range(d):
                record.weights[at, i] = w[i]
            at += 1
            following = checkpoints[at] if at < checkpoints.size else -1
    record.regret_so_far[0] = total
    return int(n)


Decide = Callable[[State, int, F64], None]


@cache
def confined(decide: Decide) -> Decide:
    """Return a kernel that decides as another does, kept to the options in use: for kernels that are not ours.

    It stands between the driver and the user's kernel, so that ours do not pay for it: the same call in the driver's
    own loop made a whole step of MC-Empirical a third slower. It takes a moment to compile in each process.
    """
    call_decide = out_of_line(decide)

    @kernel(DECIDE, on_demand=True)
    def decide_in_use(state: State, t: int, w: F64) -> None:
        call_decide(state, t, w)
        s = LearnerState(state)
        call_confine_in_place(w, s.cap, s.start_weights)

    with without_notice():
        return compiled(decide_in_use)
