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
from covbandit.kernels.jit.compilation import kernel
from covbandit.kernels.optimistic.search import SEARCH_ROWS
from covbandit.learners.full_bandit.design_actions import add_action, options_of_action, usable_count
from covbandit.learners.protocol.state import (
    DECIDE,
    STATE_TYPE,
    UPDATE,
    LearnerState,
    State,
    block,
    matrix,
    number,
    parameter,
    parameters,
    row,
    work_integers,
    work_matrices,
    work_matrix,
    work_row,
    work_rows,
)

PROJECT = 0
EXACT = 1

EXPLOITED = 0  # what a told round was
EXPLORED = 1
COMPLETED_A_ROUND = 2

SAME = 1e-9  # weights this close to those of an action are that action

_SCHEDULED = types.int64(STATE_TYPE, types.int64)


class DesignState(LearnerState):
    """What learners keep that explore by a design."""

    mean = row("θ̂ of the last completed round")
    width = row("standard errors of θ̂, 0 while unknown")
    weights = row("what to play in exploitation")
    completed = number("N, the number of rounds completed")
    begun = number("how many actions have more than N observations")
    cursor = number("the first action that has no more than N")
    removed = number("how many negative eigenvalues of Σ̂ were removed")
    covariance = matrix("Σ̂ of the last completed round, as it is used")
    action_count = block("observations of each action")
    action_mean = block("mean of the totals of each action")
    action_scatter = block("scatter of the totals of each action")

    risk_aversion = parameter("ρ, or 0 without risk")
    indefinite = parameter("PROJECT or EXACT")
    n_actions = parameter("K, the number of actions")
    variance_bound = parameter("b, the unit of gradient steps")
    design = parameters("a design of the user's: K × d weights, then B⁺ (d × K) and C⁺ (d(d+1)/2 × K); else nothing")

    centred_mean = work_row("the means less that of the first option in use")
    start_point = work_row("weights to start a maximiser from")
    lifted = work_matrix("a covariance to maximise with")
    zeros = work_matrix("nothing writes to it")
    work = work_rows("for the maximisers", SEARCH_ROWS)
    search = work_matrices("for LAPACK and the maximisers", DECOMPOSITION_SLABS)
    integers = work_integers("for the maximisers", 4)


@kernel()
def has_closed_forms(s: DesignState) -> bool:
    """Return True if the design is the paper's: single options, then pairs, half on each."""
    return s.design.size == 0


@kernel()
def is_usable(s: DesignState, k: int) -> bool:
    """Return True if an action contains no retired option."""
    d = s.count.size
    if s.n_in_use == d:
        return True
    if not has_closed_forms(s):
        on_retired = 0.0
        for i in range(d):
            if s.cap[i] <= 0.0:
                on_retired += s.design[k * d + i]
        return bool(on_retired == 0.0)
    i, j = options_of_action(k, d)
    return bool(s.cap[i] > 0.0 and s.cap[j] > 0.0)


@kernel()
def _n_usable(s: DesignState) -> int:
    """Return how many actions contain no retired option."""
    n = int(s.n_actions)
    if s.n_in_use == s.count.size:
        return n
    if has_closed_forms(s):
        return usable_count(s)
    usable = 0
    for k in range(n):
        usable += is_usable(s, k)
    return usable


@kernel()
def _exploits(rounds: float, t: float, d: float) -> bool:
    """Return True if this number of completed rounds is enough to exploit at step t (line 4)."""
    reach = rounds * d
    return reach * reach * reach > t * t


@kernel()
def is_exploring(s: DesignState, t: int) -> bool:
    """Return True if a round is in progress or, at step t, to begin."""
    return s.begun > 0.0 or not _exploits(s.completed, t, s.n_in_use)


@kernel(_SCHEDULED, on_demand=True)
def scheduled_action(state: State, t: int) -> int:
    """Return the action to play at step t, -1 for exploitation.

    Rounds that are outstanding are taken to follow the schedule, except held ones: these advance nothing.
    """
    s = DesignState(state)
    now = max(s.told, min(s.hold_rounds, t - 1)) + 1
    if now == t:
        return int(s.cursor) if is_exploring(s, t) else -1
    d = s.n_in_use
    n_actions = int(s.n_actions)
    n = _n_usable(s)
    count = s.action_count
    rounds = s.completed
    begun = int(s.begun)
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
def write_action(s: DesignState, k: int, w: F64) -> None:
    """Write the weights of an action."""
    d = w.size
    if not has_closed_forms(s):
        for i in range(d):
            w[i] = s.design[k * d + i]
        return
    for i in range(d):
        w[i] = 0.0
    add_action(k, 1.0, w)


@kernel()
def _is_action(s: DesignState, k: int, w: F64) -> bool:
    """Return True if weights are those of the k-th action of the user's design, within `SAME`."""
    d = w.size
    furthest = 0.0
    for i in range(d):
        furthest = max(furthest, abs(w[i] - s.design[k * d + i]))
    return furthest <= SAME


@kernel()
def action_of(s: DesignState, w: F64) -> int:
    """Return the action whose weights these are, -1 if there is none; of several, one with the fewest observations."""
    d = w.size
    if not has_closed_forms(s):
        cursor = int(s.cursor)
        if _is_action(s, cursor, w):
            return cursor
        count = s.action_count
        found = -1
        for k in range(int(s.n_actions)):
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
def absorb_action(s: DesignState, w: F64, y: F64) -> int:
    """Take in the total of one round; return what it was: exploitation, exploration or the last of a round's actions.

    What is neither an action nor exploitation counts as exploration that nothing is learned from.
    """
    if not is_exploring(s, s.told + 1):
        return EXPLOITED
    k = action_of(s, w)
    if k < 0:
        return EXPLORED
    count = s.action_count
    mean = s.action_mean
    scatter = s.action_scatter
    before = count[k]
    count[k] = before + 1.0
    away = y[0] - mean[k]
    mean[k] += away / count[k]
    scatter[k] += away * (y[0] - mean[k])
    for i in range(w.size):
        if w[i] > SAME:
            s.count[i] += 1.0
    rounds = s.completed
    if before > rounds or not is_usable(s, k):
        return EXPLORED
    s.begun += 1.0
    if s.begun < _n_usable(s):
        cursor = int(s.cursor)
        while count[cursor] > rounds or not is_usable(s, cursor):
            cursor += 1
        s.cursor = cursor
        return EXPLORED
    _find_place(s)
    return COMPLETED_A_ROUND


@kernel(UPDATE, on_demand=True)
def find_place(state: State) -> None:
    """Find out from the counts of the actions how many rounds are complete, and where in the next one we are."""
    _find_place(DesignState(state))


@kernel()
def _find_place(s: DesignState) -> None:
    n = int(s.n_actions)
    count = s.action_count
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
    s.completed = rounds
    s.begun = begun
    s.cursor = cursor


@kernel(DECIDE)
def decide_by_schedule(state: State, t: int, w: F64) -> None:
    """Play the scheduled action or, in exploitation, the weights found when the last round was completed.

    While all of the first round is outstanding, exploitation may be asked for before anything is known: equal weights.
    """
    s = DesignState(state)
    k = scheduled_action(state, t)
    if k >= 0:
        write_action(s, k, w)
        return
    known = s.weights if s.completed > 0.0 else s.start_weights
    for i in range(w.size):
        w[i] = known[i]
