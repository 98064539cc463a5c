r"""A node of the branch and bound on the optimistic utility: a simplex of weights, and the utility's terms on it.

A, C and c are those of `search`. A node is given by its vertices v_i; with barycentric coordinates λ it is
``w = Σ λ_i v_i``, and quadratic forms become k × k matrices in λ. There are two kinds:

* *undecided*: some options are in (w_i ≥ c), some are out (w_i = 0), the others are free (w_i ≥ 0). That is the simplex
  with vertices "c on all that are in, the rest on one that is in or free". Its children decide one free option.
* *decided*: nothing is free, so all of it is feasible. If its bound is not tight, an edge is cut in the middle; or, if
  the root is zero on it, some option that is in has c exactly in one child and must have more in the other
  (`quadratic`).

If F is proven convex along an edge v_i - v_j, everywhere on the node, its maximum lies where λ_i = 0 or λ_j = 0: the
children are then these two faces, and the node loses a dimension. (It is also feasible there: weight moves between two
options until one of them has what is left to it, nothing or c.)
"""

from __future__ import annotations

from typing import NamedTuple

from numba import types

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

# rows of the workspace, for the node at hand
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
# and its slabs
BONUS = 0  # A, C and the vertices' Gram matrix in barycentric coordinates
PENALTY = 1
GRAM = 2
MAJORANT = 3  # of F: λ'Bλ
TRANSFORMED = 4
FACTOR = 5
BOUND_SLABS = 6

# Records that kernels take. Compiled code finds a field by its place. A kernel that takes a record must therefore
# contain a function of the record's file, or call by symbol a kernel that does: only then does its hash cover the
# places, so that it is compiled anew when they change (see `jit.compilation`).


class Program(NamedTuple):
    """What is maximised: F(w) = θ'w + √(w'Aw)_+ - w'Cw over weights that are zero or at least c.

    Attributes
    ----------
    theta : array of d
        θ.
    A, C : array of d × d
        Symmetric.
    least : float
        c; 0 means the simplex.
    cap : array of d
        0 forbids an option; any other value allows it.
    tau : float
        No eigenvalue of A is below -tau; 0 if none is negative.
    """

    theta: F64
    A: F64
    C: F64
    least: float
    cap: F64
    tau: float


class Node(NamedTuple):
    """One node: views of what the tree holds of it.

    Attributes
    ----------
    status : array of d
        OUT, FREE, IN, MUST or FIXED for each option.
    rows : int
        The number of vertices; 0 if they follow from the status: the decided simplex itself.
    vertices : array of m × m
        The first `rows` rows are the vertices, in barycentric coordinates of the decided simplex.
    division : array of 3
        How to divide the node, and the option or the two vertices that this concerns.
    """

    status: I64
    rows: int
    vertices: F64
    division: I64


class Candidate(NamedTuple):
    """Feasible weights and what they are worth.

    Attributes
    ----------
    weights : array of d
        The weights.
    value : array of 1
        F there; -∞ if there are no such weights.
    """

    weights: F64
    value: F64


class Workspace(NamedTuple):
    """What is known of the node at hand while it is bounded; nothing in it outlives the node.

    Attributes
    ----------
    rows : array of BOUND_ROWS × d
        Vectors, of which LINEAR, LAMBDA, ... are the places.
    slabs : array of BOUND_SLABS × d × d
        Matrices, of which BONUS, PENALTY, ... are the places.
    option : array of d
        The options that may take the rest, as many as `Extent.k`.
    order : array of 2 d
        Scratch of climbs and of the active set.
    """

    rows: F64
    slabs: F64
    option: I64
    order: I64


class Extent(NamedTuple):
    """How large a node is.

    Attributes
    ----------
    k : int
        The number of options that may take the rest.
    n : int
        The number of vertices.
    free : int
        The number of free options.
    rest : float
        What is left when all options that are in have c.
    """

    k: int
    n: int
    free: int
    rest: float


class Spread(NamedTuple):
    """Between which numbers the terms of F lie on a node.

    Attributes
    ----------
    low, high : float
        The least and the largest entry of A in barycentric coordinates; the root is zero unless `high` is positive.
    size : float
        What the terms of F reach: rounding is a share of it.
    """

    low: float
    high: float
    size: float


_VECTOR = types.Array(types.float64, 1, "C")
_MATRIX = types.Array(types.float64, 2, "C")
_SLABS = types.Array(types.float64, 3, "C")
_INTEGERS = types.Array(types.int64, 1, "C")

PROGRAM_TYPE = types.NamedTuple(  # type: ignore[no-untyped-call]
    (_VECTOR, _MATRIX, _MATRIX, types.float64, _VECTOR, types.float64), Program
)
NODE_TYPE = types.NamedTuple((_INTEGERS, types.int64, _MATRIX, _INTEGERS), Node)  # type: ignore[no-untyped-call]
CANDIDATE_TYPE = types.NamedUniTuple(_VECTOR, 2, Candidate)  # type: ignore[no-untyped-call]
WORKSPACE_TYPE = types.NamedTuple((_MATRIX, _SLABS, _INTEGERS, _INTEGERS), Workspace)  # type: ignore[no-untyped-call]


@kernel()
def describe_node(program: Program, node: Node, work: Workspace) -> Extent:
    """Write the terms of F in barycentric coordinates of the decided simplex; return how large the node is.

    FREE becomes OUT where an option no longer fits. If the node has vertices of its own, `transform_terms` goes on.
    """
    theta, A, C, least = program.theta, program.A, program.C, program.least
    status = node.status
    option = work.option
    d = theta.size
    linear = work.rows[LINEAR]
    row = work.rows[ROW]
    other = work.rows[OTHER]
    AA = work.slabs[BONUS]
    CC = work.slabs[PENALTY]
    GG = work.slabs[GRAM]
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
    for a in range(k):
        row[a] = 0.0
        other[a] = 0.0
    if least > 0.0:  # else options that are in have nothing yet: all these terms are zero
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
            row[a] = x * least
            other[a] = y * least
    for a in range(k):
        i = option[a]
        linear[a] = base_t + rest * theta[i]
        row_a = row[a]
        other_a = other[a]
        in_a = status[i] >= IN
        for b in range(k):
            j = option[b]
            AA[a, b] = base_a + rest * (row_a + row[b]) + rest * rest * A[i, j]
            CC[a, b] = base_c + rest * (other_a + other[b]) + rest * rest * C[i, j]
            GG[a, b] = inside * least * least + rest * least * (in_a + (status[j] >= IN))
        GG[a, a] += rest * rest
    return Extent(k, node.rows if node.rows > 0 else k, free, rest)


@kernel()
def transform_terms(node: Node, k: int, work: Workspace) -> None:
    """Go over to coordinates in a smaller simplex, whose vertices V are given in the present ones: a ← Va, M ← VMV'.

    k options may take the rest.
    """
    V = node.vertices
    n = node.rows
    linear = work.rows[LINEAR]
    row = work.rows[ROW]
    for a in range(n):
        x = 0.0
        for b in range(k):
            x += V[a, b] * linear[b]
        row[a] = x
    for a in range(n):
        linear[a] = row[a]
    T = work.slabs[TRANSFORMED]
    L = work.slabs[FACTOR]
    # A, C and the Gram matrix, counted by a shape: by a constant, the compiler would write this loop three times, 14 kB
    # of code that push the rest out of the processor's cache.
    forms = work.slabs[: GRAM + 1]
    for which in range(forms.shape[0]):
        M = forms[which]
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
def write_weights(w: F64, program: Program, node: Node, extent: Extent, work: Workspace) -> None:
    """Write the weights with barycentric coordinates λ in the node."""
    lam = work.rows[LAMBDA]
    for i in range(w.size):
        w[i] = program.least if node.status[i] >= IN else 0.0
    for a in range(extent.k):
        x = 0.0
        if node.rows > 0:
            for b in range(node.rows):
                x += lam[b] * node.vertices[b, a]
        else:
            x = lam[a]
        w[work.option[a]] += extent.rest * x
