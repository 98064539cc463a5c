r"""The decision that empirical learners share: the exact maximiser for estimated moments.

From round to round the scatter matrix M changes by one rank-one term, and the optimal support hardly ever. So a
learner may keep the inverse of the matrix of differences ``R_ab = M_ab - M_ar - M_rb + M_rr`` on the support of the
weights told last (r: a reference option in it). `absorb_and_track` updates it, after Sherman and Morrison, and with it
the best weights on that support. A decision then only checks that they are the best on the whole simplex; if they are
not, and after every change of support, the general active set decides.

These kernels do in one pass over the inverse all that needs it, and are unrolled for the paper's number of options: at
d = 5 loop set-up would otherwise take longer than the arithmetic.
"""

from __future__ import annotations

from covbandit.core.typing import F64
from covbandit.kernels.jit.compilation import UNROLLED, kernel
from covbandit.kernels.qp.decision_set import is_feasible
from covbandit.kernels.qp.semicontinuous import SEMICONTINUOUS_ROWS, call_semicontinuous_maximizer
from covbandit.kernels.qp.simplex import call_simplex_maximizer, iteration_limit
from covbandit.learners.full_information.statistics import MomentState
from covbandit.learners.protocol.state import (
    DECIDE,
    State,
    matrix,
    number,
    parameter,
    row,
    work_integers,
    work_matrix,
    work_row,
    work_rows,
)

NODES = 2_000  # of branch and bound in one decision; if they do not suffice, the best weights found are played

_SINGULAR = 1e-10  # an inverse of anything nearer to singular would not be accurate enough
_ACCEPT = 1e-13  # spread of the gradients on the support, as a share of their terms
_AFRESH = 1024  # (a power of two) rounds after which the inverse is computed anew, so that rounding cannot pile up


class EmpiricalState(MomentState):
    """What learners keep that maximise the utility of estimated moments."""

    reference = number("1 + the reference option r, 0 while there is no inverse")

    risk_aversion = parameter("ρ")
    min_weight = parameter("c: every weight is zero or at least c; 0 without such a bound")

    work = work_rows("for the maximisers", SEMICONTINUOUS_ROWS)
    known = work_rows("for the maximiser with thresholds: room for two numbers even with a single option", 2)
    factor = work_matrix("for the maximisers")
    stack = work_matrix("for the maximiser with thresholds")
    integers = work_integers("for the maximisers", 2)


class TrackedState(EmpiricalState):
    """What learners that track the inverse keep in addition."""

    candidate = row("the best weights on the support, except the reference's")
    inverse = matrix("R⁻¹, with zeros in the rows and columns of the reference and of options without weight")

    direction = work_row("R⁻¹ times the newest deviations")
    gradient = work_row("of the utility at the candidate")


@kernel(DECIDE)
def decide_tracked(state: State, t: int, w: F64) -> None:
    """Play argmax w'θ̂ - ρ w'Σ̂w; at first, equal weights."""
    s = TrackedState(state)
    n = s.count[0]
    if n > 0.0 and s.reference > 0.0:
        scale = 2.0 * s.risk_aversion / n
        if w.size == UNROLLED:
            accepted = _accept_candidate(s, scale, w, UNROLLED)
        else:
            accepted = _accept_candidate(s, scale, w, w.size)
        if accepted and (s.min_weight == 0.0 or is_feasible(w, s.min_weight, s.cap)):
            return  # the best on the simplex is the best of those with large enough weights, if it is one of them
    decide_empirical(s, w)


@kernel()
def decide_empirical(s: EmpiricalState, w: F64) -> None:
    """Write the best weights by a general maximiser, without an inverse; the start weights before any reward."""
    n = s.count[0]
    if n == 0.0:
        for i in range(w.size):
            w[i] = s.start_weights[i]
        return
    scale = 2.0 * s.risk_aversion / n
    if s.min_weight > 0.0:
        _decide_semicontinuous(s, scale, w)
        return
    call_simplex_maximizer(
        s.mean,
        s.scatter,
        scale,
        s.cap,
        s.last_weights,
        w,
        s.factor,
        s.work[:4],
        s.integers,
        iteration_limit(w.size),
    )


@kernel()
def _decide_semicontinuous(s: EmpiricalState, scale: float, w: F64) -> None:
    """Play the best weights that are zero or at least c."""
    size = 0.0
    for i in range(w.size):
        size = max(size, max(abs(s.mean[i] - s.mean[0]), scale * s.scatter[i, i]))
    call_semicontinuous_maximizer(
        s.mean,
        s.scatter,
        scale,
        s.min_weight,
        s.cap,
        s.last_weights,
        NODES,
        1e-13 * size,
        w,
        s.known.reshape(2 * w.size),
        s.factor,
        s.stack,
        s.work,
        s.integers,
    )


@kernel()
def _accept_candidate(s: TrackedState, scale: float, w: F64, d: int) -> bool:
    """Write the best weights on the support of the last ones; return True if no others on the simplex are better."""
    r = int(s.reference) - 1
    left = 1.0
    size = 0.0
    for i in range(d):
        weight = s.candidate[i]
        w[i] = weight
        left -= weight
        better = s.mean[i] - s.mean[r]
        s.gradient[i] = better
        size += abs(better)
    w[r] = left
    for j in range(d):
        if s.last_weights[j] > 0.0:
            if not (w[j] > 0.0 and w[j] <= s.cap[j]):
                return False
            step = scale * w[j]
            for i in range(d):
                s.gradient[i] -= step * s.scatter[j, i]
    level = s.gradient[r]
    if d > 8:
        size *= 8.0 / d  # never more than eight times the largest difference, whatever d
    noise = _ACCEPT * (size + abs(level))
    for i in range(d):
        excess = s.gradient[i] - level
        if w[i] > 0.0:
            if abs(excess) > noise:
                return False
        elif excess > 0.0 and s.cap[i] > 0.0:
            return False
    return True


@kernel()
def same_support(s: TrackedState, w: F64) -> bool:
    """Return True if the weights w are positive where those told last are."""
    same = True
    for i in range(w.size):
        same = same and (w[i] > 0.0) == (s.last_weights[i] > 0.0)
    return same


@kernel()
def is_tracking(s: TrackedState) -> bool:
    """Return True if there is an inverse, not yet due to be computed anew."""
    return bool(s.reference > 0.0 and s.told & (_AFRESH - 1) != 0)


@kernel()
def start_tracking(s: TrackedState, w: F64) -> None:
    """Compute inverse and candidate for the support of w from the moments."""
    d = w.size
    r = _invert(s, w)
    s.reference = r + 1.0
    if r < 0:
        return
    per = 0.5 * s.count[0] / s.risk_aversion
    for i in range(d):
        s.candidate[i] = 0.0
    for b in range(d):
        side = _advantage(s, b, r, per)
        for i in range(d):
            s.candidate[i] += side * s.inverse[b, i]


@kernel()
def absorb_and_track(s: TrackedState, w: F64, y: F64, d: int) -> None:
    """Take in the rewards y of d weights w: moments as `update_moments` does, inverse and candidate in step with them.

    The support must be that of the inverse.
    """
    r = int(s.reference) - 1
    before = s.count[0]
    n = before + 1.0
    share = 1.0 / n
    for i in range(d):
        delta = y[i] - s.mean[i]
        s.deviation[i] = delta
        s.mean[i] += share * delta
        s.count[i] = n
        s.direction[i] = 0.0
        s.candidate[i] = 0.0
    # M += share δδ' and, for Sherman and Morrison, x = R⁻¹e with e the differences of δ to the reference's
    share *= before
    inner = 1.0 / share
    for b in range(d):
        step = share * s.deviation[b]
        e = s.deviation[b] - s.deviation[r]
        for i in range(d):
            s.scatter[b, i] += step * s.deviation[i]
            s.direction[i] += e * s.inverse[b, i]
    for i in range(d):
        inner += s.direction[i] * (s.deviation[i] - s.deviation[r])
    shrink = 1.0 / inner
    per = 0.5 * n / s.risk_aversion
    for b in range(d):
        if w[b] > 0.0:
            e = shrink * s.direction[b]
            side = _advantage(s, b, r, per)
            for i in range(d):
                entry = s.inverse[b, i] - e * s.direction[i]
                s.inverse[b, i] = entry
                s.candidate[i] += side * entry


@kernel()
def _advantage(s: TrackedState, b: int, r: int, per: float) -> float:
    """Return option b's entry of the right-hand side R x = side that the candidate solves; `per` is n / 2ρ."""
    side: float = (s.mean[b] - s.mean[r]) * per - (s.scatter[r, b] - s.scatter[r, r])
    return side


@kernel()
def _invert(s: TrackedState, w: F64) -> int:
    """Invert R on the support of w, by Gauss and Jordan; return the reference option, -1 if R is nearly singular."""
    d = w.size
    r = 0
    for i in range(d):
        if w[i] > w[r]:
            r = i
    for i in range(d):
        for j in range(d):
            inside = w[i] > 0.0 and w[j] > 0.0 and i != r and j != r
            s.inverse[i, j] = s.scatter[i, j] - s.scatter[i, r] - (s.scatter[r, j] - s.scatter[r, r]) if inside else 0.0
    for p in range(d):
        if w[p] > 0.0 and p != r:
            pivot = s.inverse[p, p]
            if not pivot > _SINGULAR * (s.scatter[p, p] + s.scatter[r, r]):
                return -1
            for i in range(d):
                if i != p and w[i] > 0.0 and i != r:
                    factor = s.inverse[i, p] / pivot
                    for j in range(d):
                        s.inverse[i, j] -= factor * s.inverse[p, j]
                    s.inverse[i, p] = -factor
            for j in range(d):
                s.inverse[p, j] /= pivot
            s.inverse[p, p] = 1.0 / pivot
    return r
