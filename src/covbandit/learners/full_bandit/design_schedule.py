r"""When learners of the full-bandit setting explore, and what they keep of it (Algorithm 3).

A *round* of exploration plays every action of the design once, in its order. N, the number of rounds completed, is the
least number of observations that any action has. At the start of step t, unless a round is in progress, the learner
exploits if :math:`N > t^{2/3} / d` (line 4), which is compared in whole numbers, as :math:`(Nd)^3 > t^2`; else a round
begins. Rounds are not interrupted.

What is told need not be in order, nor be what was asked: each action of the design has statistics of its own. An action
that is told while a round is in progress, or at a step at which one would begin, is an observation for it; anything
else is exploitation, or a mix of the user's own, and is not used. The next action to play is the first of those with
the fewest observations.

Actions that contain a retired option are not played, and not counted: rounds are rounds of the others, and d is the
number of options in use. What was seen of such actions stays, and what is still told of them is added.
"""

from __future__ import annotations

import numpy as np
from numba import types

from covbandit.core.typing import F64
from covbandit.kernels.algebra.lapack import DECOMPOSITION_SLABS
from covbandit.kernels.design_actions import add_action
from covbandit.kernels.jit.compilation import kernel
from covbandit.kernels.optimistic.search import SEARCH_ROWS
from covbandit.learners.full_bandit.active_design import usable_count
from covbandit.learners.protocol.state import (
    CAP,
    COUNT,
    DECIDE,
    FIRST_ROW,
    HOLD_ROUNDS,
    IN_USE,
    START,
    STATE_TYPE,
    TOLD,
    Layout,
    State,
)

WORK = FIRST_ROW  # scratch rows of the maximisers
CENTRED = WORK + SEARCH_ROWS  # scratch row: means less that of the first option
FROM = CENTRED + 1  # scratch row: weights to start a maximiser from
MEAN = CENTRED + 2  # row: θ̂ of the last completed round
WIDTH = MEAN + 1  # row: standard errors of θ̂, 0 while unknown
WEIGHTS = MEAN + 2  # row: what to play in exploitation
COMPLETED = MEAN + 3  # rows of which only the first entry is used: N, the number of rounds completed
BEGUN = MEAN + 4  # how many actions have more than N observations
CURSOR = MEAN + 5  # the first action that has no more than N
REMOVED = MEAN + 6  # how many negative eigenvalues of Σ̂ were removed
SEARCH = 0  # scratch slabs of LAPACK and the maximisers
MATRIX = DECOMPOSITION_SLABS  # scratch slab
NOTHING = MATRIX + 1  # scratch slab that nobody writes: zero
COVARIANCE = MATRIX + 2  # slab: Σ̂ of the last completed round, as it is used
ACTIONS = MATRIX + 3  # blocks: number, mean and scatter of the observations of each action

RISK_AVERSION = 0  # parameters
INDEFINITE = 1  # PROJECT or EXACT
N_ACTIONS = 2
VARIANCE_BOUND = 3  # b, the unit of gradient steps
DESIGN = 4  # of a design of one's own: K × d weights, then B⁺ (d × K) and C⁺ (d(d+1)/2 × K)

PROJECT = 0
EXACT = 1

EXPLOITED = 0  # what a told round was
EXPLORED = 1
COMPLETED_A_ROUND = 2

SAME = 1e-9  # weights this close to those of an action are that action

REFRESH = types.void(STATE_TYPE)
"""Signature of a kernel that computes anew all that follows from the statistics of the actions."""

_SCHEDULED = types.int64(STATE_TYPE, types.int64)


def schedule_layout(slabs: int = 1) -> Layout:
    """Return the layout of a learner whose statistics of all actions take so many slabs each."""

    def size(d: int) -> int:
        return slabs

    return Layout(
        rows=("mean", "width", "weights", "completed", "begun", "cursor", "removed"),
        slabs=("covariance",),
        scratch_rows=SEARCH_ROWS + 2,
        scratch_slabs=DECOMPOSITION_SLABS + 2,
        scratch_ints=4,
        blocks=(("action_count", size), ("action_mean", size), ("action_scatter", size)),
    )


@kernel()
def n_places(s: State) -> int:
    """Return how many numbers each of the three blocks holds, at least one per action."""
    d = s.v.shape[1]
    return int((s.m.shape[0] - ACTIONS) * d * d // 3)


@kernel()
def has_closed_forms(s: State) -> bool:
    """Tell whether the design is the paper's: single options, then pairs, half on each."""
    return s.p.size == DESIGN


@kernel()
def is_usable(s: State, k: int) -> bool:
    """Tell whether an action contains no retired option."""
    d = s.v.shape[1]
    if s.i[IN_USE] == d:
        return True
    if not has_closed_forms(s):
        on_retired = 0.0
        for i in range(d):
            if s.v[CAP, i] <= 0.0:
                on_retired += s.p[DESIGN + k * d + i]
        return bool(on_retired == 0.0)
    if k < d:
        return bool(s.v[CAP, k] > 0.0)
    k -= d
    i = 0
    while k >= d - 1 - i:
        k -= d - 1 - i
        i += 1
    return bool(s.v[CAP, i] > 0.0 and s.v[CAP, i + 1 + k] > 0.0)


@kernel()
def _n_usable(s: State) -> int:
    """Return how many actions contain no retired option."""
    n = int(s.p[N_ACTIONS])
    if s.i[IN_USE] == s.v.shape[1]:
        return n
    if has_closed_forms(s):
        return usable_count(s)
    usable = 0
    for k in range(n):
        usable += is_usable(s, k)
    return usable


@kernel()
def _exploits(rounds: float, t: float, d: float) -> bool:
    """Tell whether so many rounds suffice at step t (line 4)."""
    reach = rounds * d
    return reach * reach * reach > t * t


@kernel()
def is_exploring(s: State, t: int) -> bool:
    """Tell whether a round is in progress or, at step t, to begin."""
    return s.v[BEGUN, 0] > 0.0 or not _exploits(s.v[COMPLETED, 0], t, s.i[IN_USE])


@kernel(_SCHEDULED, on_demand=True)
def scheduled_action(s: State, t: int) -> int:
    """Return the action to play at step t, -1 for exploitation.

    Rounds that are outstanding are taken to follow the schedule, except held ones: these advance nothing.
    """
    now = max(s.i[TOLD], min(s.i[HOLD_ROUNDS], t - 1)) + 1
    if now == t:
        return int(s.v[CURSOR, 0]) if is_exploring(s, t) else -1
    d = s.i[IN_USE]
    n_actions = int(s.p[N_ACTIONS])
    n = _n_usable(s)
    count = s.m[ACTIONS:].reshape(3 * n_places(s))
    rounds = s.v[COMPLETED, 0]
    begun = int(s.v[BEGUN, 0])
    while True:
        if begun == 0 and _exploits(rounds, now, d):
            if _exploits(rounds, t, d):
                return -1
            # N suffices up to the root of (Nd)³, where the next round begins.
            now = max(now + 1, int(np.sqrt((rounds * d) ** 3)))
            continue
        if t - now < n - begun:
            passed = 0
            for k in range(n_actions):
                if count[k] <= rounds and is_usable(s, k):
                    if passed == t - now:
                        return k
                    passed += 1
        now += n - begun
        rounds += 1.0
        begun = 0
        for k in range(n_actions):
            begun += count[k] > rounds and is_usable(s, k)


@kernel()
def write_action(s: State, k: int, w: F64) -> None:
    """Write the weights of an action."""
    d = w.size
    if not has_closed_forms(s):
        for i in range(d):
            w[i] = s.p[DESIGN + k * d + i]
        return
    for i in range(d):
        w[i] = 0.0
    add_action(k, 1.0, w)


@kernel()
def _is_action(s: State, k: int, w: F64) -> bool:
    """Tell whether weights are those of an action of one's own design."""
    d = w.size
    furthest = 0.0
    for i in range(d):
        furthest = max(furthest, abs(w[i] - s.p[DESIGN + k * d + i]))
    return furthest <= SAME


@kernel()
def action_of(s: State, w: F64) -> int:
    """Return the action whose weights these are, -1 if there is none; of several, one with the fewest observations."""
    d = w.size
    if not has_closed_forms(s):
        cursor = int(s.v[CURSOR, 0])
        if _is_action(s, cursor, w):
            return cursor
        count = s.m[ACTIONS:].reshape(3 * n_places(s))
        found = -1
        for k in range(int(s.p[N_ACTIONS])):
            if (found < 0 or count[k] < count[found]) and _is_action(s, k, w):
                found = k
        return found
    first = -1
    second = -1
    for i in range(d):
        if w[i] > SAME:
            if second >= 0:
                return -1
            if first < 0:
                first = i
            else:
                second = i
    if second < 0:
        return first if abs(w[first] - 1.0) <= SAME else -1
    if abs(w[first] - 0.5) > SAME or abs(w[second] - 0.5) > SAME:
        return -1
    return d + first * (2 * d - first - 1) // 2 + second - first - 1


@kernel()
def absorb_action(s: State, w: F64, y: F64) -> int:
    """Take in the total of one round; return what it was: exploitation, exploration or the last of a round's actions.

    What is neither an action nor exploitation counts as exploration that nothing is learned from.
    """
    if not is_exploring(s, s.i[TOLD] + 1):
        return EXPLOITED
    k = action_of(s, w)
    if k < 0:
        return EXPLORED
    size = n_places(s)
    known = s.m[ACTIONS:].reshape(3 * size)
    count = known[:size]
    mean = known[size : 2 * size]
    scatter = known[2 * size :]
    before = count[k]
    count[k] = before + 1.0
    away = y[0] - mean[k]
    mean[k] += away / count[k]
    scatter[k] += away * (y[0] - mean[k])
    for i in range(w.size):
        if w[i] > SAME:
            s.v[COUNT, i] += 1.0
    rounds = s.v[COMPLETED, 0]
    if before > rounds or not is_usable(s, k):
        return EXPLORED
    s.v[BEGUN, 0] += 1.0
    if s.v[BEGUN, 0] < _n_usable(s):
        cursor = int(s.v[CURSOR, 0])
        while count[cursor] > rounds or not is_usable(s, cursor):
            cursor += 1
        s.v[CURSOR, 0] = cursor
        return EXPLORED
    find_place(s)
    return COMPLETED_A_ROUND


@kernel(REFRESH, on_demand=True)
def find_place(s: State) -> None:
    """Work out from the numbers of observations how many rounds are complete and where in the next one we are."""
    n = int(s.p[N_ACTIONS])
    count = s.m[ACTIONS:].reshape(3 * n_places(s))
    cursor = 0
    while not is_usable(s, cursor):
        cursor += 1
    rounds = count[cursor]
    for k in range(cursor + 1, n):
        if count[k] < rounds and is_usable(s, k):
            rounds = count[k]
            cursor = k
    begun = 0
    for k in range(n):
        begun += count[k] > rounds and is_usable(s, k)
    s.v[COMPLETED, 0] = rounds
    s.v[BEGUN, 0] = begun
    s.v[CURSOR, 0] = cursor


@kernel(DECIDE)
def decide_by_schedule(s: State, t: int, w: F64) -> None:
    """Play the scheduled action or, in exploitation, the weights found when the last round was completed.

    While all of the first round is outstanding, exploitation may be asked for before anything is known: equal weights.
    """
    k = scheduled_action(s, t)
    if k >= 0:
        write_action(s, k, w)
        return
    row = WEIGHTS if s.v[COMPLETED, 0] > 0.0 else START
    for i in range(w.size):
        w[i] = s.v[row, i]
