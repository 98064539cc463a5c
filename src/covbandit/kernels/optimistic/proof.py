"""Branch and bound on the optimistic utility: the tree of nodes that `optimistic_bound` bounds, best bound first."""

from __future__ import annotations

import numpy as np

from covbandit.core.typing import F64, I64
from covbandit.kernels.jit.compilation import kernel
from covbandit.kernels.optimistic.bound import call_bound_node
from covbandit.kernels.optimistic.node import BOUND_ROWS, FREE, IN, OUT, POINT, write_child


@kernel()
def _push(heap: I64, bounds: F64, count: int, slot: int) -> None:
    """Add a slot to a heap with the largest bound on top."""
    at = count
    while at > 0:
        parent = (at - 1) // 2
        if bounds[heap[parent]] >= bounds[slot]:
            break
        heap[at] = heap[parent]
        at = parent
    heap[at] = slot


@kernel()
def _pop(heap: I64, bounds: F64, count: int) -> int:
    """Take the slot with the largest bound from a heap of `count`."""
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
    return int(top)


OPEN = 0  # counters: nodes waiting
SPARE = 1  # slots free for reuse
VISITED = 2  # nodes bounded
N_COUNTERS = 3

BEST = 0  # numbers: F of the best weights
CEILING = 1  # the largest bound of a node that was set aside
FOUND = 2  # F of the best weights in the node at hand
N_NUMBERS = 3

PROVED = 0
OUT_OF_NODES = 1
OUT_OF_ROOM = 2


@kernel(
    "int64(float64[::1], float64[:, ::1], float64[:, ::1], float64, float64[::1], float64, float64, int64, "
    "float64[::1], float64[::1], int64[::1], int64[:, ::1], int64[::1], float64[:, :, ::1], float64[::1], "
    "int64[:, ::1], int64[::1], int64[::1], float64[:, ::1], float64[:, :, ::1], int64[::1])",
    on_demand=True,
)
def prove_optimistic(
    theta: F64,
    A: F64,
    C: F64,
    least: float,
    cap: F64,
    tau: float,
    tolerance: float,
    limit: int,
    w: F64,
    numbers: F64,
    counters: I64,
    status: I64,
    rows: I64,
    vertices: F64,
    bounds: F64,
    divisions: I64,
    heap: I64,
    spare: I64,
    work: F64,
    slabs: F64,
    order: I64,
) -> int:
    """Go on with branch and bound until no node promises more than the tolerance beyond the best weights.

    ====================  ==================================================================================
    tau                   below -tau no eigenvalue of A; 0 if none is negative
    tolerance             what F may have above the best weights
    limit                 nodes at most, in all calls together
    w, numbers            the best weights so far and what is known of them; improved
    counters .. spare     the waiting nodes, one per slot; enlarged by the caller when OUT_OF_ROOM, then called again
    work, slabs, order    (BOUND_ROWS + 1) × d, BOUND_SLABS × d × d, 3 d
    ====================  ==================================================================================
    """
    d = theta.size
    here = work[BOUND_ROWS]
    children = 2
    if counters[VISITED] == 0:
        # The root waits to be visited as the only child of nothing.
        children = 1
        numbers[CEILING] = -np.inf
    while True:
        accept = numbers[BEST] + tolerance
        parent = -1
        if children == 2:
            if counters[OPEN] == 0:
                return PROVED
            if bounds[heap[0]] <= accept:
                numbers[CEILING] = max(numbers[CEILING], bounds[heap[0]])
                return PROVED
            if counters[VISITED] + 2 > limit:
                return OUT_OF_NODES
            if counters[SPARE] < 2:
                return OUT_OF_ROOM
            parent = _pop(heap, bounds, counters[OPEN])
            counters[OPEN] -= 1
            if divisions[parent, 0] == POINT:  # its bound exceeds its value by rounding only
                numbers[CEILING] = max(numbers[CEILING], bounds[parent])
                spare[counters[SPARE]] = parent
                counters[SPARE] += 1
                continue
        for child in range(children):
            counters[SPARE] -= 1
            slot = spare[counters[SPARE]]
            if parent < 0:
                rows[slot] = 0
                for i in range(d):
                    status[slot, i] = OUT if cap[i] <= 0.0 else (FREE if least > 0.0 else IN)
            else:
                write_child(status, rows, vertices, divisions, parent, slot, child)
            accept = numbers[BEST] + tolerance
            bound = call_bound_node(
                theta,
                A,
                C,
                least,
                tau,
                status[slot],
                rows[slot],
                vertices[slot],
                accept,
                here,
                numbers[FOUND:],
                divisions[slot],
                work,
                slabs,
                order,
            )
            bounds[slot] = bound if parent < 0 else min(bound, bounds[parent])
            counters[VISITED] += 1
            if numbers[FOUND] > numbers[BEST]:
                numbers[BEST] = numbers[FOUND]
                for i in range(d):
                    w[i] = here[i]
                accept = numbers[BEST] + tolerance
            if bounds[slot] <= accept:
                numbers[CEILING] = max(numbers[CEILING], bounds[slot])
                spare[counters[SPARE]] = slot
                counters[SPARE] += 1
            else:
                _push(heap, bounds, counters[OPEN], slot)
                counters[OPEN] += 1
        if parent >= 0:
            spare[counters[SPARE]] = parent
            counters[SPARE] += 1
        children = 2
