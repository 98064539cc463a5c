"""Branch and bound on the optimistic utility: divide the node with the largest bound until none promises more."""

from __future__ import annotations

import numpy as np
from numba import types

from covbandit.kernels.jit.compilation import kernel
from covbandit.kernels.optimistic.bound import call_bound_node
from covbandit.kernels.optimistic.node import (
    CANDIDATE_TYPE,
    POINT,
    PROGRAM_TYPE,
    WORKSPACE_TYPE,
    Candidate,
    Program,
    Workspace,
)
from covbandit.kernels.optimistic.tree import (
    OPEN,
    SPARE,
    TREE_TYPE,
    VISITED,
    Tree,
    node_in,
    pop,
    push,
    release_slot,
    set_aside,
    take_slot,
    write_child,
    write_root,
)

PROVED = 0
OUT_OF_NODES = 1
OUT_OF_ROOM = 2


@kernel()
def _visit(
    program: Program,
    tree: Tree,
    slot: int,
    known: float,
    best: Candidate,
    found: Candidate,
    work: Workspace,
    tolerance: float,
) -> None:
    """Bound a new node, and keep the best weights found in it if they are the best so far.

    `known` is the parent's bound, which holds here, too; ∞ for the root. The node waits in the tree if it may hold
    better weights still.
    """
    bound = call_bound_node(program, node_in(tree, slot), best.value[0] + tolerance, found, work)
    tree.bounds[slot] = min(bound, known)
    tree.counters[VISITED] += 1
    if found.value[0] > best.value[0]:
        best.value[0] = found.value[0]
        for i in range(best.weights.size):
            best.weights[i] = found.weights[i]
    if tree.bounds[slot] <= best.value[0] + tolerance:
        set_aside(tree, slot)
    else:
        push(tree, slot)


@kernel(
    types.int64(PROGRAM_TYPE, TREE_TYPE, CANDIDATE_TYPE, CANDIDATE_TYPE, WORKSPACE_TYPE, types.float64, types.int64),
    on_demand=True,
)
def prove_optimistic(
    program: Program,
    tree: Tree,
    best: Candidate,
    found: Candidate,
    work: Workspace,
    tolerance: float,
    limit: int,
) -> int:
    """Go on with branch and bound until no node promises more than the tolerance beyond the best weights.

    =========  ===================================================================================
    tree       empty at first; enlarged by the caller when OUT_OF_ROOM, then called again
    best       the best weights so far, improved
    found      scratch: the best weights in the node at hand
    tolerance  what F may have above the best weights
    limit      nodes at most, in all calls together
    =========  ===================================================================================
    """
    counters = tree.counters
    if counters[VISITED] == 0:
        root = take_slot(tree)
        write_root(tree, root, program)
        _visit(program, tree, root, np.inf, best, found, work, tolerance)
    while counters[OPEN] > 0:
        largest = tree.bounds[tree.heap[0]]
        if largest <= best.value[0] + tolerance:
            tree.ceiling[0] = max(tree.ceiling[0], largest)
            return PROVED
        if counters[VISITED] + 2 > limit:
            return OUT_OF_NODES
        if counters[SPARE] < 2:
            return OUT_OF_ROOM
        parent = pop(tree)
        if tree.divisions[parent, 0] == POINT:  # its bound exceeds its value by rounding only
            set_aside(tree, parent)
            continue
        for child in range(2):
            slot = take_slot(tree)
            write_child(tree, parent, slot, child)
            _visit(program, tree, slot, tree.bounds[parent], best, found, work, tolerance)
        release_slot(tree, parent)
    return PROVED
