r"""The decision that empirical learners share: the exact maximiser for estimated moments.

From round to round the scatter matrix M changes by one rank-one term, and the optimal support hardly ever. So a
learner may keep the inverse of the matrix of differences ``R_ab = M_ab - M_ar - M_rb + M_rr`` on the support of the
weights told last (r: a reference option in it). `absorb_and_track` updates it, after Sherman and Morrison, and with it
the best weights on that support. A decision then only checks that they are the best on the whole simplex; if they are
not, and after every change of support, the general active set decides.

These kernels index the state directly instead of slicing it, do in one pass over the inverse all that needs it, and
are unrolled for the paper's number of options: at d = 5 reference counting and loop set-up would otherwise take longer
than the arithmetic.
"""

from __future__ import annotations

from covbandit.core.typing import F64
from covbandit.kernels.jit.compilation import UNROLLED, kernel
from covbandit.kernels.qp.decision_set import is_feasible
from covbandit.kernels.qp.semicontinuous import SEMICONTINUOUS_ROWS, call_semicontinuous_maximizer
from covbandit.kernels.qp.simplex import call_simplex_maximizer, iteration_limit
from covbandit.learners.protocol.state import CAP, COUNT, DECIDE, FIRST_INT, FIRST_ROW, LAST, START, TOLD, State

X = FIRST_ROW  # scratch rows
G = FIRST_ROW + 1
DELTA = FIRST_ROW + 4
KNOWN = FIRST_ROW + SEMICONTINUOUS_ROWS
N_WORK_ROWS = SEMICONTINUOUS_ROWS + 2  # two, so that there is room for two numbers even with a single option
MEAN = FIRST_ROW + N_WORK_ROWS  # row: the means to believe in
REFERENCE = MEAN + 1  # row: its first entry is 1 + the reference option, 0 while there is no inverse
CANDIDATE = MEAN + 2  # row: the best weights on the support, except the reference's
WORK_SLAB = 0
STACK_SLAB = 1
N_WORK_SLABS = 2
SCATTER = 2  # slab: n times the covariance to believe in
INVERSE = 3  # slab: R⁻¹, with zeros in the rows and columns of the reference and of options without weight

RISK_AVERSION = 0  # parameters
MIN_WEIGHT = 1  # c, or 0

NODES = 2_000  # of branch and bound in one decision; if they do not suffice, the best weights found are played

_SINGULAR = 1e-10  # an inverse of anything nearer to singular would not be accurate enough
_ACCEPT = 1e-13  # spread of the gradients on the support, as a share of their terms
_AFRESH = 1024  # (a power of two) rounds after which the inverse is computed anew, so that rounding cannot pile up


@kernel(DECIDE)
def decide_plug_in(s: State, t: int, w: F64) -> None:
    """Play argmax w'θ̂ - ρ w'Σ̂w; at first, equal weights."""
    n = s.v[COUNT, 0]
    if n == 0.0:
        for i in range(w.size):
            w[i] = s.v[START, i]
        return
    scale = 2.0 * s.p[RISK_AVERSION] / n
    if s.v[REFERENCE, 0] > 0.0:
        if w.size == UNROLLED:
            accepted = _accept_candidate(s, scale, w, UNROLLED)
        else:
            accepted = _accept_candidate(s, scale, w, w.size)
        if accepted and (s.p[MIN_WEIGHT] == 0.0 or is_feasible(w, s.p[MIN_WEIGHT], s.v[CAP])):
            return  # the best on the simplex is the best of those with large enough weights, if it is one of them
    if s.p[MIN_WEIGHT] > 0.0:
        _decide_semicontinuous(s, scale, w)
        return
    call_simplex_maximizer(
        s.v[MEAN],
        s.m[SCATTER],
        scale,
        s.v[CAP],
        s.v[LAST],
        w,
        s.m[WORK_SLAB],
        s.v[FIRST_ROW : FIRST_ROW + 4],
        s.i[FIRST_INT:],
        iteration_limit(w.size),
    )


@kernel()
def _decide_semicontinuous(s: State, scale: float, w: F64) -> None:
    """Play the best weights that are zero or at least c."""
    size = 0.0
    for i in range(w.size):
        size = max(size, max(abs(s.v[MEAN, i] - s.v[MEAN, 0]), scale * s.m[SCATTER, i, i]))
    call_semicontinuous_maximizer(
        s.v[MEAN],
        s.m[SCATTER],
        scale,
        s.p[MIN_WEIGHT],
        s.v[CAP],
        s.v[LAST],
        NODES,
        1e-13 * size,
        w,
        s.v[KNOWN : KNOWN + 2].reshape(2 * w.size),
        s.m[WORK_SLAB],
        s.m[STACK_SLAB],
        s.v[FIRST_ROW : FIRST_ROW + SEMICONTINUOUS_ROWS],
        s.i[FIRST_INT:],
    )


@kernel()
def _accept_candidate(s: State, scale: float, w: F64, d: int) -> bool:
    """Write the best weights on the support of the last ones; tell whether they are the best on the whole simplex."""
    v = s.v
    m = s.m
    r = int(v[REFERENCE, 0]) - 1
    left = 1.0
    size = 0.0
    for i in range(d):
        weight = v[CANDIDATE, i]
        w[i] = weight
        left -= weight
        better = v[MEAN, i] - v[MEAN, r]
        v[G, i] = better
        size += abs(better)
    w[r] = left
    for j in range(d):
        if v[LAST, j] > 0.0:
            if not (w[j] > 0.0 and w[j] <= v[CAP, j]):
                return False
            step = scale * w[j]
            for i in range(d):
                v[G, i] -= step * m[SCATTER, j, i]
    level = v[G, r]
    if d > 8:
        size *= 8.0 / d  # never more than eight times the largest difference, whatever d
    noise = _ACCEPT * (size + abs(level))
    for i in range(d):
        excess = v[G, i] - level
        if w[i] > 0.0:
            if abs(excess) > noise:
                return False
        elif excess > 0.0 and v[CAP, i] > 0.0:
            return False
    return True


@kernel()
def same_support(s: State, w: F64) -> bool:
    """Tell whether the weights w are positive where those told last are."""
    same = True
    for i in range(w.size):
        same = same and (w[i] > 0.0) == (s.v[LAST, i] > 0.0)
    return same


@kernel()
def is_tracking(s: State) -> bool:
    """Tell whether there is an inverse, not yet due to be computed anew."""
    return bool(s.v[REFERENCE, 0] > 0.0 and s.i[TOLD] & (_AFRESH - 1) != 0)


@kernel()
def start_tracking(s: State, w: F64) -> None:
    """Compute inverse and candidate for the support of w from the moments."""
    d = w.size
    v = s.v
    r = _invert(s, w)
    v[REFERENCE, 0] = r + 1.0
    if r < 0:
        return
    per = 0.5 * v[COUNT, 0] / s.p[RISK_AVERSION]
    for i in range(d):
        v[CANDIDATE, i] = 0.0
    for b in range(d):
        side = _advantage(s, b, r, per)
        for i in range(d):
            v[CANDIDATE, i] += side * s.m[INVERSE, b, i]


@kernel()
def absorb_and_track(s: State, w: F64, y: F64, d: int) -> None:
    """Take in the rewards y of d weights w: moments as `update_moments` does, inverse and candidate in step with them.

    The support must be that of the inverse.
    """
    v = s.v
    m = s.m
    r = int(v[REFERENCE, 0]) - 1
    before = v[COUNT, 0]
    n = before + 1.0
    share = 1.0 / n
    for i in range(d):
        delta = y[i] - v[MEAN, i]
        v[DELTA, i] = delta
        v[MEAN, i] += share * delta
        v[COUNT, i] = n
        v[X, i] = 0.0
        v[CANDIDATE, i] = 0.0
    # M += share δδ' and, for Sherman and Morrison, x = R⁻¹e with e the differences of δ to the reference's
    share *= before
    inner = 1.0 / share
    for b in range(d):
        step = share * v[DELTA, b]
        e = v[DELTA, b] - v[DELTA, r]
        for i in range(d):
            m[SCATTER, b, i] += step * v[DELTA, i]
            v[X, i] += e * m[INVERSE, b, i]
    for i in range(d):
        inner += v[X, i] * (v[DELTA, i] - v[DELTA, r])
    shrink = 1.0 / inner
    per = 0.5 * n / s.p[RISK_AVERSION]
    for b in range(d):
        if w[b] > 0.0:
            e = shrink * v[X, b]
            side = _advantage(s, b, r, per)
            for i in range(d):
                entry = m[INVERSE, b, i] - e * v[X, i]
                m[INVERSE, b, i] = entry
                v[CANDIDATE, i] += side * entry


@kernel()
def _advantage(s: State, b: int, r: int, per: float) -> float:
    """Return option b's entry of the right-hand side R x = side that the candidate solves; `per` is n / 2ρ."""
    side: float = (s.v[MEAN, b] - s.v[MEAN, r]) * per - (s.m[SCATTER, r, b] - s.m[SCATTER, r, r])
    return side


@kernel()
def _invert(s: State, w: F64) -> int:
    """Invert R on the support of w, by Gauss and Jordan; return the reference option, -1 if R is nearly singular."""
    d = w.size
    m = s.m
    r = 0
    for i in range(d):
        if w[i] > w[r]:
            r = i
    for i in range(d):
        for j in range(d):
            inside = w[i] > 0.0 and w[j] > 0.0 and i != r and j != r
            m[INVERSE, i, j] = (
                m[SCATTER, i, j] - m[SCATTER, i, r] - (m[SCATTER, r, j] - m[SCATTER, r, r]) if inside else 0.0
            )
    for p in range(d):
        if w[p] > 0.0 and p != r:
            pivot = m[INVERSE, p, p]
            if not pivot > _SINGULAR * (m[SCATTER, p, p] + m[SCATTER, r, r]):
                return -1
            for i in range(d):
                if i != p and w[i] > 0.0 and i != r:
                    factor = m[INVERSE, i, p] / pivot
                    for j in range(d):
                        m[INVERSE, i, j] -= factor * m[INVERSE, p, j]
                    m[INVERSE, i, p] = -factor
            for j in range(d):
                m[INVERSE, p, j] /= pivot
            m[INVERSE, p, p] = 1.0 / pivot
    return r
