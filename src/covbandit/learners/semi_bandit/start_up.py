"""A start-up that shows every pair of options in few rounds: a greedy covering design.

As many options as fit are chosen at a time, with equal weights. The next set follows from the counts alone, so rounds
told from history count, whatever was chosen in them.
"""

from __future__ import annotations

from covbandit.core.typing import F64
from covbandit.kernels.jit.compilation import kernel
from covbandit.kernels.qp.decision_set import largest_support
from covbandit.learners.protocol.state import CAP, TOLD, State
from covbandit.learners.semi_bandit.statistics import MIN_WEIGHT, PAIRS, SHIFTED


@kernel()
def _lacks(s: State, slab: int, i: int, j: int, level: float, m: int) -> bool:
    """Tell whether a pair still needs to be seen (every option level + 1 times, every pair level times)."""
    if i == j:
        return bool(s.m[slab, i, i] < level + 1.0)
    return bool(m > 1 and s.m[slab, i, j] < level)


@kernel()
def _is_covered(s: State, slab: int, level: float, m: int) -> bool:
    for i in range(s.m.shape[1]):
        for j in range(i + 1):
            if s.v[CAP, i] > 0.0 and s.v[CAP, j] > 0.0 and _lacks(s, slab, i, j, level, m):
                return False
    return True


@kernel()
def _fit(s: State) -> int:
    allowed = 0
    for i in range(s.m.shape[1]):
        allowed += s.v[CAP, i] > 0.0
    return largest_support(s.p[MIN_WEIGHT], allowed)


@kernel()
def is_covered(s: State) -> bool:
    """Tell whether every option was seen twice and every pair that fits once."""
    return _is_covered(s, PAIRS, 1.0, _fit(s))


@kernel()
def play_cover(s: State, t: int, w: F64) -> None:
    """Write equal weights on the set of options that shows most of what was not seen yet.

    With rounds outstanding, it is the set that follows once they are told; should everything be covered by then, the
    design begins again.
    """
    d = w.size
    m = _fit(s)
    counts = s.m[SHIFTED]
    for i in range(d):
        for j in range(d):
            counts[i, j] = s.m[PAIRS, i, j]
    level = 1.0
    for _ in range(t - s.i[TOLD]):
        while _is_covered(s, SHIFTED, level, m):
            level += 1.0
        for i in range(d):
            w[i] = 0.0
        for _member in range(m):
            best = -1
            most = -1.0
            for i in range(d):
                if w[i] > 0.0 or s.v[CAP, i] <= 0.0:
                    continue
                # first what is new in this set, then what is lacking at all, then what was seen least
                new = 1.0 if _lacks(s, SHIFTED, i, i, level, m) else 0.0
                lacking = 0.0
                for j in range(d):
                    if j != i and s.v[CAP, j] > 0.0 and _lacks(s, SHIFTED, i, j, level, m):
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
