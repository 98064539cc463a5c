"""Start-up: which options to play until every pair of options was seen.

Two ways. The paper pulls each option alone and then each ordered pair, half on each: d² rounds (`play_initial`).
PairUCB uses a greedy covering design (`play_cover`): as many options as fit, with equal weights, chosen so that they
show most of what was not seen yet. Either way the next pull follows from the counts alone, so rounds told from history
count, whatever was chosen in them.
"""

from __future__ import annotations

from covbandit.core.typing import F64
from covbandit.kernels.jit.compilation import kernel
from covbandit.kernels.qp.decision_set import largest_support
from covbandit.learners.protocol.state import ABSORB, UPDATE, State
from covbandit.learners.semi_bandit.statistics import PairState, absorb_pairs

# The paper's start-up -------------------------------------------------------------------------------------------------


@kernel()
def pairs_fit(s: PairState) -> bool:
    """Return True if two options may be chosen together."""
    return bool(s.min_weight <= 0.5)


@kernel()
def play_initial(s: PairState, t: int, w: F64) -> None:
    """Write the pull of round t of start-up (line 2): each option alone, then all ordered pairs, half on each.

    What was seen already, in whatever rounds, need not be pulled again. With rounds outstanding, the schedule advances;
    should it end before they are told, it begins again.
    """
    d = w.size
    due = 0
    ahead = t - s.told - 1
    for i in range(d):
        w[i] = 0.0
    for turn in range(2):
        if turn == 1:
            ahead = ahead % due
        passed = 0
        for k in range(d + d * d):
            i = k if k < d else (k - d) // d
            j = i if k < d else (k - d) % d
            if s.cap[i] <= 0.0 or s.cap[j] <= 0.0:
                continue
            if k < d:
                needed = s.count[i] < 1.0
            else:
                needed = i != j and pairs_fit(s) and s.pair_count[i, j] < (1.0 if i < j else 2.0)
            if needed:
                if turn == 1 and passed == ahead:
                    w[i] += 0.5
                    w[j] += 0.5
                    return
                passed += 1
        due = passed


@kernel()
def is_ready(s: PairState, d: int) -> bool:
    """Return True if start-up is over: every option seen once, every pair twice."""
    for i in range(d):
        if s.cap[i] > 0.0:
            if s.count[i] < 1.0:
                return False
            if pairs_fit(s):
                for j in range(i):
                    if s.cap[j] > 0.0 and s.pair_count[i, j] < 2.0:
                        return False
    return True


@kernel(ABSORB)
def absorb_counted(state: State, w: F64, y: F64) -> None:
    """Take in the rewards of the chosen options and note the end of start-up: for learners that keep no sum of Σ̄."""
    s = PairState(state)
    absorb_pairs(s, w, y)
    if s.ready == 0.0 and is_ready(s, w.size):
        s.ready = 1.0


@kernel(UPDATE, on_demand=True)
def finish_start_up_counted(state: State) -> None:
    """Find out whether start-up is over for the options now in use."""
    s = PairState(state)
    s.ready = 1.0 if is_ready(s, s.count.size) else 0.0


# The covering design --------------------------------------------------------------------------------------------------


@kernel()
def _lacks(seen: F64, i: int, j: int, level: float, m: int) -> bool:
    """Return True if a pair still needs to be seen (every option level + 1 times, every pair level times)."""
    if i == j:
        return bool(seen[i, i] < level + 1.0)
    return bool(m > 1 and seen[i, j] < level)


@kernel()
def _is_covered(s: PairState, seen: F64, level: float, m: int) -> bool:
    for i in range(s.count.size):
        for j in range(i + 1):
            if s.cap[i] > 0.0 and s.cap[j] > 0.0 and _lacks(seen, i, j, level, m):
                return False
    return True


@kernel()
def _fit(s: PairState) -> int:
    allowed = 0
    for i in range(s.count.size):
        allowed += s.cap[i] > 0.0
    return largest_support(s.min_weight, allowed)


@kernel()
def is_covered(s: PairState) -> bool:
    """Return True if every option was seen twice and every pair that fits once."""
    return _is_covered(s, s.pair_count, 1.0, _fit(s))


@kernel()
def play_cover(s: PairState, t: int, w: F64) -> None:
    """Write equal weights on the set of options that shows most of what was not seen yet.

    With rounds outstanding, it is the set that follows once they are told; should everything be covered by then, the
    design begins again.
    """
    d = w.size
    m = _fit(s)
    counts = s.shifted
    for i in range(d):
        for j in range(d):
            counts[i, j] = s.pair_count[i, j]
    level = 1.0
    for _ in range(t - s.told):
        while _is_covered(s, counts, level, m):
            level += 1.0
        for i in range(d):
            w[i] = 0.0
        for _member in range(m):
            best = -1
            most = -1.0
            for i in range(d):
                if w[i] > 0.0 or s.cap[i] <= 0.0:
                    continue
                # first what is new in this set, then what is lacking at all, then what was seen least
                new = 1.0 if _lacks(counts, i, i, level, m) else 0.0
                lacking = 0.0
                for j in range(d):
                    if j != i and s.cap[j] > 0.0 and _lacks(counts, i, j, level, m):
                        lacking += 1.0
                        new += w[j]
                gain = new + (lacking + 1.0 / (1.0 + counts[i, i])) / (d + 2.0)
                if gain > most:
                    most = gain
                    best = i
            w[best] = 1.0
        for i in range(d):
            for j in range(d):
                counts[i, j] += w[i] * w[j]
    for i in range(d):
        w[i] /= m
