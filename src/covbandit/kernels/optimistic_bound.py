r"""A proven upper bound on the optimistic utility over weights that are zero or at least c, by branch and bound.

The problem, A, C and c are those of `optimistic_search`. A node is a simplex of weights, given by its vertices v_i;
with barycentric coordinates λ it is ``w = Σ λ_i v_i``, and quadratic forms become k × k matrices in λ. There are two
kinds:

* *undecided*: some options are in (w_i ≥ c), some are out (w_i = 0), the others are free (w_i ≥ 0). That is the simplex
  with vertices "c on all that are in, the rest on one that is in or free". Its children decide one free option.
* *decided*: nothing is free, so all of it is feasible. If its bound is not tight, an edge is cut in the middle.

If F is proven convex along an edge v_i - v_j, everywhere on the node, its maximum lies where λ_i = 0 or λ_j = 0: the
children are then these two faces, and the node loses a dimension. (It is also feasible there: weight moves between two
options until one of them has what is left to it, nothing or c.)

Two majorants of the root make F a quadratic form λ'Bλ, which is bounded by its largest entry or, if it is concave on
the simplex (a Cholesky factor proves it), by its value plus the Frank-Wolfe gap at any point.

The tangent, for small nodes. Let w₀ be any point with s = √(w₀'Aw₀) > 0, ℓ(w) = w₀'Aw / s the tangent of the root
there, and P = A - Aw₀w₀'A/s², so that w'Aw = ℓ² + w'Pw. Then

.. math::
    \sqrt{w'Aw} = ℓ(w) + \frac{w'Pw}{\sqrt{w'Aw} + ℓ(w)}
        ≤ ℓ(w) + \frac{w'Pw}{2a} + τ |Πw|^2 \Big(\frac1{2a} - \frac1{2b}\Big)

where 2a ≤ √(w'Aw) + ℓ(w) ≤ 2b on the node, -τ ≤ 0 is below all eigenvalues of A, and Πw = w - w₀ℓ(w)/s, since
w'Pw = (Πw)'A(Πw) ≥ -τ|Πw|². It agrees with the root at w₀ in value, gradient and, as the node shrinks, curvature. So
where w₀ is a maximum and F is concave around it, the Frank-Wolfe gap vanishes: no node is cut into dust there.

The chord, for large nodes. If s_i s_j ≥ v_i'Av_j for all vertices (s_i = √(v_i'Av_i) if A is positive semi-definite),

.. math:: \sqrt{w'Aw} ≤ s'λ - \frac{λ'(ss' - VAV')λ}{2 \max s} ≤ s'λ.

It is exact at the vertices. As much of its second term is used as leaves it concave; where even without it F's majorant
is not concave, Σ_i z_i λ_i(1-λ_i) ≥ 0 is added to make it so.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covbandit.kernels.compilation import kernel, separate
from covbandit.kernels.decision_set import ROUNDING
from covbandit.kernels.optimistic_moves import MOVE_ROWS, call_climb

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

_NOISE = 4e-15  # what rounding may add to a bound, as a share of its terms
_CLIMB = 300  # transfers in one climb

# status of an option
OUT = 0  # w_i = 0
FREE = 1  # w_i ≥ 0, to be decided
IN = 2  # w_i ≥ c
FIXED = 3  # w_i = c

# how a node is divided
POINT = 0  # not at all
DECIDE = 1  # an option is in or out
CUT = 2  # an edge, in the middle
FACES = 3  # one or the other of two vertices is dropped

# what `work` holds, for the node at hand
_LINEAR = 0  # linear term in barycentric coordinates
_LAMBDA = 1
_TANGENT = 2  # ℓ at the vertices
_CAP = 3
_LIFT = 4  # z
_ROW = 5
_OTHER = 6
_CHORD = 7  # √q at the vertices, or a little more
_CLIMBING = 8
BOUND_ROWS = _CLIMBING + MOVE_ROWS
# and `slabs`
_A = 0  # A, C and the vertices' Gram matrix in barycentric coordinates
_C = 1
_G = 2
_B = 3  # a majorant of F: λ'Bλ
_T = 4
_L = 5
BOUND_SLABS = 6


@kernel()
def _weights(w: F64, lam: F64, V: F64, rows: int, option: I64, status: I64, least: float, rest: float, k: int) -> None:
    """Write the weights with barycentric coordinates λ in the node."""
    for i in range(w.size):
        w[i] = least if status[i] >= IN else 0.0
    for a in range(k):
        x = 0.0
        if rows > 0:
            for b in range(rows):
                x += lam[b] * V[b, a]
        else:
            x = lam[a]
        w[option[a]] += rest * x


@kernel()
def _lift(B: F64, L: F64, lift: F64, size: float, n: int, lam: F64) -> float:
    """Find z ≥ 0 that makes λ'Bλ + Σ z_i λ_i(1-λ_i) concave on the simplex; return the largest, 0 if none is needed.

    U'DU of minus B's differences to a reference vertex; pivots that are not positive are lifted.
    """
    ref = 0
    for a in range(n):
        if lam[a] > lam[ref]:
            ref = a
    largest = 0.0
    for a in range(n):
        lift[a] = 0.0
        for b in range(n):
            L[a, b] = -(B[a, b] - B[a, ref] - B[ref, b] + B[ref, ref])
        largest = max(largest, abs(L[a, a]))
    floor = 1e-13 * (largest + size)
    most = 0.0
    for p in range(n):
        if p == ref:
            continue
        if L[p, p] <= floor:
            wanted = floor
            for a in range(p + 1, n):  # enough to bound what the elimination takes from the others
                if a != ref:
                    wanted = max(wanted, 0.5 * abs(L[p, a]))
            lift[p] = wanted - L[p, p]
            most = max(most, lift[p])
            L[p, p] = wanted
        for a in range(p + 1, n):
            if a != ref:
                x = L[p, a] / L[p, p]
                for b in range(a, n):
                    if b != ref:
                        L[a, b] -= x * L[p, b]
    return most


@kernel(
    "float64(float64[::1], float64[:, ::1], float64[:, ::1], float64, float64, int64[::1], int64, float64[:, ::1], "
    "float64, float64[::1], float64[::1], int64[::1], float64[:, ::1], float64[:, :, ::1], int64[::1])"
)
def bound_node(
    theta: F64,
    A: F64,
    C: F64,
    least: float,
    tau: float,
    status: I64,
    rows: int,
    V: F64,
    good_enough: float,
    w: F64,
    found: F64,
    division: I64,
    work: F64,
    slabs: F64,
    order: I64,
) -> float:
    """Return an upper bound of F on a node.

    ===========  =============================================================================================
    status       OUT, FREE, IN or FIXED for each option; FREE becomes OUT where an option no longer fits
    rows, V      the vertices, in barycentric coordinates of the decided simplex; rows = 0: that simplex itself
    good_enough  a bound not above this need not be improved
    w, found     feasible weights in the node and ``found[0]`` their F, written
    division     written: how to divide the node, and the option or the two vertices that this concerns
    order        3 d workspace
    ===========  =============================================================================================
    """
    d = theta.size
    linear = work[_LINEAR]
    lam = work[_LAMBDA]
    tangent = work[_TANGENT]
    chord = work[_CHORD]
    cap = work[_CAP]
    AA = slabs[_A]
    CC = slabs[_C]
    GG = slabs[_G]
    B = slabs[_B]
    T = slabs[_T]
    L = slabs[_L]
    option = order[2 * d :]
    division[0] = POINT
    division[1] = 0
    division[2] = 0

    # The vertices: c on all that are in, the rest on one.
    inside = 0
    for i in range(d):
        inside += status[i] >= IN
    rest = max(1.0 - inside * least, 0.0)
    if rest < least - ROUNDING or rest <= ROUNDING:
        for i in range(d):
            if status[i] == FREE:
                status[i] = OUT
    k = 0
    free = 0
    for i in range(d):
        if status[i] == FREE or status[i] == IN:
            option[k] = i
            free += status[i] == FREE
            k += 1
    if k == 0:  # nobody may take the rest
        found[0] = -np.inf
        return -np.inf
    base_t = 0.0
    base_a = 0.0
    base_c = 0.0
    for i in range(d):
        if status[i] >= IN:
            base_t += least * theta[i]
            for j in range(d):
                if status[j] >= IN:
                    base_a += least * least * A[i, j]
                    base_c += least * least * C[i, j]
    for a in range(k):
        x = 0.0
        y = 0.0
        for j in range(d):
            if status[j] >= IN:
                x += A[option[a], j]
                y += C[option[a], j]
        work[_ROW, a] = x * least
        work[_OTHER, a] = y * least
    for a in range(k):
        i = option[a]
        linear[a] = base_t + rest * theta[i]
        for b in range(k):
            j = option[b]
            AA[a, b] = base_a + rest * (work[_ROW, a] + work[_ROW, b]) + rest * rest * A[i, j]
            CC[a, b] = base_c + rest * (work[_OTHER, a] + work[_OTHER, b]) + rest * rest * C[i, j]
            GG[a, b] = inside * least * least + rest * least * ((status[i] == IN) + (status[j] == IN))
        GG[a, a] += rest * rest
    n = k
    if rows > 0:
        # a ← Va, M ← VMV'
        n = rows
        for a in range(n):
            x = 0.0
            for b in range(k):
                x += V[a, b] * linear[b]
            work[_ROW, a] = x
        for a in range(n):
            linear[a] = work[_ROW, a]
        for which in range(3):
            M = slabs[which]
            for a in range(n):
                for b in range(k):
                    T[a, b] = 0.0
                for c in range(k):
                    x = V[a, c]
                    if x != 0.0:
                        for b in range(k):
                            T[a, b] += x * M[c, b]
            for a in range(n):
                for b in range(a + 1):
                    x = 0.0
                    for c in range(k):
                        x += T[a, c] * V[b, c]
                    L[a, b] = x
            for a in range(n):
                for b in range(a + 1):
                    M[a, b] = L[a, b]
                    M[b, a] = L[a, b]

    # Vertices are feasible: the best one is an answer.
    low = np.inf
    high = -np.inf
    size = 0.0
    best = -np.inf
    at = 0
    for a in range(n):
        value = linear[a] + np.sqrt(max(AA[a, a], 0.0)) - CC[a, a]
        size = max(size, abs(linear[a]) + np.sqrt(abs(AA[a, a])) + abs(CC[a, a]))
        if value > best:
            best = value
            at = a
        for b in range(a + 1):
            low = min(low, AA[a, b])
            high = max(high, AA[a, b])
    for a in range(d):
        lam[a] = 0.0
        cap[a] = 1.0 if a < n else 0.0
    lam[at] = 1.0
    found[0] = best
    _weights(w, lam, V, rows, option, status, least, rest, k)
    noise = _NOISE * n * size
    if n == 1 or rest <= ROUNDING:
        return best + noise

    # The chord's majorant, and its largest entry.
    rooted = high > 0.0
    top = 0.0
    if rooted:
        for a in range(n):
            chord[a] = np.sqrt(max(AA[a, a], 0.0))
        for a in range(n):
            for b in range(a):
                if AA[a, b] > chord[a] * chord[b]:
                    # Raise the lower one; or both, if that would lift it above √high, which bounds the root everywhere.
                    lower = a if chord[a] < chord[b] else b
                    upper = a + b - lower
                    if AA[a, b] < chord[upper] * np.sqrt(high):
                        chord[lower] = AA[a, b] / chord[upper]
                    else:
                        chord[lower] = max(chord[lower], np.sqrt(AA[a, b]))
                        chord[upper] = max(chord[upper], np.sqrt(AA[a, b]))
        for a in range(n):
            top = max(top, chord[a])
    else:
        for a in range(n):
            chord[a] = 0.0
    bound = -np.inf
    for a in range(n):
        for b in range(a + 1):
            x = 0.5 * (linear[a] + linear[b] + chord[a] + chord[b]) - CC[a, b]
            if low >= 0.0 and rooted:
                x -= (chord[a] * chord[b] - AA[a, b]) / (2.0 * top)
            bound = max(bound, x)
    bound += noise
    if bound <= good_enough:
        return bound

    # A local maximum on the node, from equal weights unless a vertex is better.
    total = 0.0
    square = 0.0
    penalty = 0.0
    for a in range(n):
        total += linear[a]
        for b in range(n):
            square += AA[a, b]
            penalty += CC[a, b]
    if (total + np.sqrt(max(square, 0.0)) - penalty / n) / n > best:
        for a in range(n):
            lam[a] = 1.0 / n
    value = call_climb(
        linear, AA, CC, 0.0, cap, lam, work[_CLIMBING : _CLIMBING + MOVE_ROWS], order[: 2 * d], _CLIMB, 1e-13, -np.inf
    )
    feasible = True
    for a in range(n):
        if free > 0 and status[option[a]] == FREE and lam[a] > 0.0 and lam[a] * rest < least:
            feasible = False
    if feasible and value > found[0]:
        found[0] = value
        _weights(w, lam, V, rows, option, status, least, rest, k)

    # The majorant that touches F there.
    square = 0.0
    for a in range(n):
        x = 0.0
        for b in range(n):
            x += AA[a, b] * lam[b]
        tangent[a] = x
        square += lam[a] * x
    touches = not rooted
    if rooted and square > 0.0 and low >= 0.0:  # where q < 0 the root is 0, which this majorant does not know
        s = np.sqrt(square)
        lowest = np.inf
        highest = -np.inf
        for a in range(n):
            tangent[a] /= s
            lowest = min(lowest, tangent[a])
            highest = max(highest, tangent[a])
        lo = 0.5 * (lowest + np.sqrt(low))
        if tau == 0.0:
            lo = max(lo, lowest)
        touches = lo > 0.0
        if touches:
            spare = tau * (0.5 / lo - 1.0 / (highest + np.sqrt(high)))
            own = 0.0
            for a in range(n):
                x = 0.0
                for b in range(n):
                    x += GG[a, b] * lam[b]
                work[_ROW, a] = x / s
                own += lam[a] * x
            own /= square
            largest = -np.inf
            for a in range(n):
                for b in range(a + 1):
                    x = 0.5 * (linear[a] + linear[b] + tangent[a] + tangent[b]) - CC[a, b]
                    x += (AA[a, b] - tangent[a] * tangent[b]) * (0.5 / lo)
                    if spare > 0.0:
                        gram = GG[a, b] - tangent[b] * work[_ROW, a] - tangent[a] * work[_ROW, b]
                        x += spare * (gram + tangent[a] * tangent[b] * own)
                    B[a, b] = x
                    B[b, a] = x
                    largest = max(largest, x)
            bound = min(bound, largest + noise)
            if bound <= good_enough:
                return bound
    if not rooted:
        for a in range(n):
            tangent[a] = 0.0
            for b in range(n):
                B[a, b] = 0.5 * (linear[a] + linear[b]) - CC[a, b]

    if touches and _lift(B, L, work[_LIFT], size, n, lam) == 0.0:
        # Concave, so F ≤ F(w₀) + max_i ∇F(w₀)'(v_i - w₀).
        level = 0.0
        highest = -np.inf
        for a in range(n):
            x = linear[a] + tangent[a]
            for b in range(n):
                x -= 2.0 * CC[a, b] * lam[b]
            level += lam[a] * x
            highest = max(highest, x)
        bound = min(bound, value + max(highest - level, 0.0) + noise)
    else:
        # The chord's majorant, with as much of its second term as keeps it concave, else lifted until it is.
        share = 1.0 if low >= 0.0 and rooted else 0.0
        while True:
            for a in range(n):
                for b in range(n):
                    x = 0.5 * (linear[a] + linear[b] + chord[a] + chord[b]) - CC[a, b]
                    if share > 0.0:
                        x -= share * (chord[a] * chord[b] - AA[a, b]) / (2.0 * top)
                    B[a, b] = x
            if _lift(B, L, work[_LIFT], size, n, lam) == 0.0 or share == 0.0:
                break
            share = share - 0.25
        for a in range(n):
            for b in range(n):
                L[a, b] = -B[a, b]
                T[a, b] = 0.0
            L[a, a] += work[_LIFT, a]
        value = call_climb(
            work[_LIFT],
            T,
            L,
            0.0,
            cap,
            lam,
            work[_CLIMBING : _CLIMBING + MOVE_ROWS],
            order[: 2 * d],
            _CLIMB,
            1e-13,
            -np.inf,
        )
        level = 0.0
        highest = -np.inf
        for a in range(n):
            x = work[_LIFT, a]
            for b in range(n):
                x -= 2.0 * L[a, b] * lam[b]
            level += lam[a] * x
            highest = max(highest, x)
        bound = min(bound, value + max(highest - level, 0.0) + noise)
    if bound <= good_enough:
        return bound

    # How to go on. Drop a dimension if F is convex along an edge: the root's second derivative along e, with
    # b = w'Ae, is (q e'Ae - b²)/q^(3/2), which over q is smallest at an end of its range.
    most = 0.0
    for a in range(n):
        for b in range(a):
            bend = CC[a, a] + CC[b, b] - 2.0 * CC[a, b]
            rise = 0.0
            if rooted:
                along = AA[a, a] + AA[b, b] - 2.0 * AA[a, b]
                rise = -np.inf
                if low > 0.0:
                    x = 0.0
                    for c in range(n):
                        x = max(x, abs(AA[a, c] - AA[b, c]))
                    rise = min(along - x * x / low, (along - x * x / high) * np.sqrt(low / high)) / np.sqrt(low)
                if tau == 0.0:
                    rise = max(rise, 0.0)
            if rise - 2.0 * bend > most:
                most = rise - 2.0 * bend
                division[0] = FACES
                division[1] = a
                division[2] = b
    if division[0] == FACES:
        return bound
    if free > 0:
        worst = -1.0
        for a in range(n):
            i = option[a]
            if status[i] == FREE:
                x = lam[a] * rest
                violation = min(x, least - x) + 2.0 if 0.0 < x < least else lam[a]
                if violation > worst:
                    worst = violation
                    division[0] = DECIDE
                    division[1] = i
        return bound
    # Cut the edge to which the bound owes most at its maximum (Σ_i z_i λ_i(1-λ_i) = Σ_{i<j} (z_i+z_j) λ_i λ_j), unless
    # it is much shorter than the longest one: nodes must shrink in all directions.
    division[0] = CUT
    worst = 0.0
    longest = 0.0
    for a in range(n):
        for b in range(a):
            length = GG[a, a] + GG[b, b] - 2.0 * GG[a, b]
            x = work[_LIFT, a] + work[_LIFT, b]
            if rooted:
                x += (chord[a] * chord[b] - AA[a, b]) / top
            x *= lam[a] * lam[b]
            if x > worst:
                worst = x
                division[1] = a
                division[2] = b
            longest = max(longest, length)
    a = division[1]
    b = division[2]
    if GG[a, a] + GG[b, b] - 2.0 * GG[a, b] < 0.5 * longest:
        for a in range(n):
            for b in range(a):
                if GG[a, a] + GG[b, b] - 2.0 * GG[a, b] == longest:
                    division[1] = a
                    division[2] = b
    return bound


call_bound_node = separate(bound_node)
