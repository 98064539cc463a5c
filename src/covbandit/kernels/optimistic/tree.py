"""The tree of branch and bound: nodes that wait to be divided, in slots, the one with the largest bound first."""

from __future__ import annotations

from typing import NamedTuple

from numba import types

from covbandit.core.typing import F64, I64
from covbandit.kernels.jit.compilation import kernel
from covbandit.kernels.optimistic.node import CUT, DECIDE, FACES, FIXED, FREE, IN, MUST, OUT, SPLIT, Node, Program

# counters of the tree
OPEN = 0  # nodes waiting
SPARE = 1  # slots free for use
VISITED = 2  # nodes bounded so far
N_COUNTERS = 3


class Tree(NamedTuple):
    """The nodes, one per slot, and which slots wait or are free.

    Attributes
    ----------
    status : array of slots × d
        OUT, FREE, IN, MUST or FIXED for each option.
    rows : array of slots
        The number of vertices; 0 if they follow from the status.
    vertices : array of slots × m × m
        The vertices, in barycentric coordinates of the decided simplex; m is the largest number of them.
    bounds : array of slots
        Upper bounds of F.
    divisions : array of slots × 3
        How to divide a node, and the option or the two vertices that this concerns.
    heap : array of slots
        The first ``counters[OPEN]`` are the slots of the nodes that wait, a heap with the largest bound on top.
    spare : array of slots
        The first ``counters[SPARE]`` are the free slots, the last of which is used next.
    counters : array of N_COUNTERS
        OPEN, SPARE and VISITED are the places.
    ceiling : array of 1
        The largest bound of a node that was set aside; -∞ if none was.
    """

    status: I64
    rows: I64
    vertices: F64
    bounds: F64
    divisions: I64
    heap: I64
    spare: I64
    counters: I64
    ceiling: F64


_FLOATS = types.Array(types.float64, 1, "C")
_INTEGERS = types.Array(types.int64, 1, "C")
_PER_SLOT = types.Array(types.int64, 2, "C")
_VERTICES = types.Array(types.float64, 3, "C")

TREE_TYPE = types.NamedTuple(  # type: ignore[no-untyped-call]
    (_PER_SLOT, _INTEGERS, _VERTICES, _FLOATS, _PER_SLOT, _INTEGERS, _INTEGERS, _INTEGERS, _FLOATS), Tree
)


# Slots ----------------------------------------------------------------------------------------------------------------


@kernel()
def take_slot(tree: Tree) -> int:
    """Return a free slot, which is free no longer."""
    tree.counters[SPARE] -= 1
    return int(tree.spare[tree.counters[SPARE]])


@kernel()
def release_slot(tree: Tree, slot: int) -> None:
    """Make a slot free."""
    tree.spare[tree.counters[SPARE]] = slot
    tree.counters[SPARE] += 1


@kernel()
def set_aside(tree: Tree, slot: int) -> None:
    """Give up a node that need not, or cannot, be divided, and remember its bound."""
    tree.ceiling[0] = max(tree.ceiling[0], tree.bounds[slot])
    release_slot(tree, slot)


# Heap -----------------------------------------------------------------------------------------------------------------


@kernel()
def push(tree: Tree, slot: int) -> None:
    """Let a node wait."""
    heap, bounds = tree.heap, tree.bounds
    at = tree.counters[OPEN]
    while at > 0:
        parent = (at - 1) // 2
        if bounds[heap[parent]] >= bounds[slot]:
            break
        heap[at] = heap[parent]
        at = parent
    heap[at] = slot
    tree.counters[OPEN] += 1


@kernel()
def pop(tree: Tree) -> int:
    """Return the node with the largest bound, which no longer waits."""
    heap, bounds = tree.heap, tree.bounds
    count = tree.counters[OPEN]
    top = heap[0]
    slot = heap[count - 1]
    at = 0
    while True:
        child = 2 * at + 1
        if child >= count - 1:
            break
        if child + 1 < count - 1 and bounds[heap[child + 1]] > bounds[heap[child]]:
            child += 1
        if bounds[slot] >= bounds[heap[child]]:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = slot
    tree.counters[OPEN] = count - 1
    return int(top)


# Nodes ----------------------------------------------------------------------------------------------------------------


@kernel()
def node_in(tree: Tree, slot: int) -> Node:
    """Return the node in a slot."""
    return Node(tree.status[slot], tree.rows[slot], tree.vertices[slot], tree.divisions[slot])


@kernel()
def write_root(tree: Tree, slot: int, program: Program) -> None:
    """Write the node that holds all feasible weights into a slot."""
    tree.rows[slot] = 0
    for i in range(program.theta.size):
        tree.status[slot, i] = OUT if program.cap[i] <= 0.0 else (FREE if program.least > 0.0 else IN)


@kernel()
def write_child(tree: Tree, parent: int, slot: int, child: int) -> None:
    """Write one of the two children of a node into a slot."""
    status, rows, vertices, divisions = tree.status, tree.rows, tree.vertices, tree.divisions
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
