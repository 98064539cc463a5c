r"""A node of the branch and bound on the optimistic utility: a simplex of weights, and the utility's terms on it.

A, C and c are those of `search`. A node is given by its vertices v_i; with barycentric coordinates λ it is
``w = Σ λ_i v_i``, and quadratic forms become k × k matrices in λ. There are two kinds:

* *undecided*: some options are in (w_i ≥ c), some are out (w_i = 0), the others are free (w_i ≥ 0). That is the simplex
  with vertices "c on all that are in, the rest on one that is in or free". Its children decide one free option.
* *decided*: nothing is free, so all of it is feasible. If its bound is not tight, an edge is cut in the middle; or, if
  the root is zero on it, some option that is in has c exactly in one child and must have more in the other
  (`optimistic_quadratic`).

If F is proven convex along an edge v_i - v_j, everywhere on the node, its maximum lies where λ_i = 0 or λ_j = 0: the
children are then these two faces, and the node loses a dimension. (It is also feasible there: weight moves between two
options until one of them has what is left to it, nothing or c.)
"""

from __future__ import annotations

from covbandit.core.typing import F64, I64
from covbandit.kernels.jit.compilation import kernel
from covbandit.kernels.optimistic.moves import MOVE_ROWS
from covbandit.kernels.qp.decision_set import ROUNDING

# status of an option
OUT = 0  # w_i = 0
FREE = 1  # w_i ≥ 0, to be decided
IN = 2  # w_i ≥ c
MUST = 3  # w_i > c
FIXED = 4  # w_i = c

# how a node is divided
POINT = 0  # not at all
DECIDE = 1  # an option is in or out
CUT = 2  # an edge, in the middle
FACES = 3  # one or the other of two vertices is dropped
SPLIT = 4  # an option that is in has c, or more

# what `work` holds, for the node at hand
LINEAR = 0  # linear term in barycentric coordinates
LAMBDA = 1
TANGENT = 2  # ℓ at the vertices
CHORD = 3  # √q at the vertices, or a little more
LIFT = 4  # z
CAP = 5
ROW = 6  # scratch
OTHER = 7  # scratch
CLIMBING = 8
ACTIVE = CLIMBING + MOVE_ROWS  # four rows of the active set
BOUND_ROWS = ACTIVE + 4
# and `slabs`
BONUS = 0  # A, C and the vertices' Gram matrix in barycentric coordinates
PENALTY = 1
GRAM = 2
MAJORANT = 3  # of F: λ'Bλ
TRANSFORMED = 4
FACTOR = 5
BOUND_SLABS = 6


@kernel()
def describe_node(
    theta: F64, A: F64, C: F64, least: float, status: I64, rows: int, V: F64, work: F64, slabs: F64, option: I64
) -> tuple[int, int, int, float]:
    """Write the terms of F in barycentric coordinates of the node; FREE becomes OUT where an option no longer fits.

    Returns the numbers of options that may take the rest, of vertices and of free options, and the rest: what is left
    when all that are in have c.
    """
    d = theta.size
    linear = work[LINEAR]
    AA = slabs[BONUS]
    CC = slabs[PENALTY]
    GG = slabs[GRAM]
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
        if FREE <= status[i] < FIXED:
            option[k] = i
            free += status[i] == FREE
            k += 1
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
        work[ROW, a] = x * least
        work[OTHER, a] = y * least
    for a in range(k):
        i = option[a]
        linear[a] = base_t + rest * theta[i]
        for b in range(k):
            j = option[b]
            AA[a, b] = base_a + rest * (work[ROW, a] + work[ROW, b]) + rest * rest * A[i, j]
            CC[a, b] = base_c + rest * (work[OTHER, a] + work[OTHER, b]) + rest * rest * C[i, j]
            GG[a, b] = inside * least * least + rest * least * ((status[i] >= IN) + (status[j] >= IN))
        GG[a, a] += rest * rest
    if rows > 0:
        _transform(linear, work[ROW], slabs, V, rows, k)
        return k, rows, free, rest
    return k, k, free, rest


@kernel()
def _transform(linear: F64, row: F64, slabs: F64, V: F64, n: int, k: int) -> None:
    """Go over to coordinates in a smaller simplex, whose vertices V are given in the present ones: a ← Va, M ← VMV'."""
    for a in range(n):
        x = 0.0
        for b in range(k):
            x += V[a, b] * linear[b]
        row[a] = x
    for a in range(n):
        linear[a] = row[a]
    T = slabs[TRANSFORMED]
    L = slabs[FACTOR]
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


@kernel()
def node_weights(
    w: F64, lam: F64, V: F64, rows: int, option: I64, status: I64, least: float, rest: float, k: int
) -> None:
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
def write_child(status: I64, rows: I64, vertices: F64, divisions: I64, parent: int, slot: int, child: int) -> None:
    """Write one of the two children of a node into a slot."""
    d = status.shape[1]
    how = divisions[parent, 0]
    one = divisions[parent, 1]
    other = divisions[parent, 2]
    rows[slot] = rows[parent]
    for i in range(d):
        status[slot, i] = status[parent, i]
    if how == DECIDE:
        status[slot, one] = IN if child == 0 else OUT
        return
    if how == SPLIT:
        status[slot, one] = MUST if child == 0 else FIXED
        return
    k = 0
    for i in range(d):
        if FREE <= status[parent, i] < FIXED:
            if how == FACES and rows[parent] == 0 and k == (one if child == 0 else other):
                status[slot, i] = OUT if status[parent, i] == FREE else FIXED
            k += 1
    if how == FACES and rows[parent] == 0:
        return
    n = rows[parent] if rows[parent] > 0 else k
    to = 0
    for a in range(n):
        if how == FACES and a == (one if child == 0 else other):
            continue
        for b in range(k):
            vertices[slot, to, b] = vertices[parent, a, b] if rows[parent] > 0 else (1.0 if a == b else 0.0)
        to += 1
    rows[slot] = to
    if how == CUT:
        moved = one if child == 0 else other
        kept = other if child == 0 else one
        for b in range(k):
            vertices[slot, moved, b] = 0.5 * (vertices[slot, moved, b] + vertices[slot, kept, b])
