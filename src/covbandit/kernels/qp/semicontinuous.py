r"""The exact maximiser of a concave quadratic over weights that are zero or at least c.

.. math:: \max_w\; θ'w - \tfrac12 s\, w'Mw \quad\text{s.t. } Σ_i w_i = 1,\; w_i = 0 \text{ or } w_i ≥ c

Branch and bound, depth first. In a node some options are in (w_i ≥ c), some are out (w_i = 0), the others are free
(w_i ≥ 0): with l = c on the options that are in and r = 1 - Σl, ``w = l + r x`` and x is on the simplex, where
`maximize_on_simplex` is exact. A solution that leaves no free option strictly between 0 and c is feasible, so the node
is done; else the option farthest from both is decided.

What must hold: no node is set aside unless its bound, the utility of its solution plus the Frank-Wolfe gap there, is at
most `tolerance` above the utility of the answer. The largest of these bounds is returned.

==========  ======================  =====================================================================
name        shape                   meaning
==========  ======================  =====================================================================
theta       d                       linear term θ
M           d × d                   symmetric positive semi-definite; only ever multiplied by `scale`
scale       scalar                  s ≥ 0
least       scalar                  c
cap         d                       0 forbids an option; any other value allows it
start       d                       warm start, also the first answer if feasible; zeros mean none
limit       scalar                  nodes at most
tolerance   scalar                  utility that may be forgone
w           d                       the answer
known       2                       utility of the answer and the proven upper bound, written
U, stack    d × d                   workspace
work        SEMICONTINUOUS_ROWS × d workspace
order       2 d                     workspace
==========  ======================  =====================================================================
"""

from __future__ import annotations

import numpy as np

from covbandit.core.typing import F64, I64
from covbandit.kernels.jit.compilation import kernel, out_of_line
from covbandit.kernels.qp.decision_set import ROUNDING, is_feasible
from covbandit.kernels.qp.simplex import call_simplex_maximizer, iteration_limit

_OUT = 0.0
_FREE = 1.0
_IN = 2.0

_X = 4  # rows of `work`, after the four of the simplex maximiser
_LINEAR = 5
_NOW = 6  # the node's status of every option
_ALLOWED = 7
_WAITING = 8  # bounds of the nodes on the stack
_HERE = 9
SEMICONTINUOUS_ROWS = 10


@kernel()
def _utility(theta: F64, M: F64, scale: float, w: F64) -> float:
    value = 0.0
    for i in range(w.size):
        if w[i] != 0.0:
            product = 0.0
            for j in range(w.size):
                product += M[i, j] * w[j]
            value += w[i] * ((theta[i] - theta[0]) - 0.5 * scale * product)
    return value


@kernel(
    "int64(float64[::1], float64[:, ::1], float64, float64, float64[::1], float64[::1], int64, float64, float64[::1], "
    "float64[::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], int64[::1])"
)
def maximize_semicontinuous(
    theta: F64,
    M: F64,
    scale: float,
    least: float,
    cap: F64,
    start: F64,
    limit: int,
    tolerance: float,
    w: F64,
    known: F64,
    U: F64,
    stack: F64,
    work: F64,
    order: I64,
) -> int:
    """Write the maximiser into `w`; return the number of nodes, negative if the limit ended it."""
    d = theta.size
    x = work[_X]
    linear = work[_LINEAR]
    now = work[_NOW]
    allowed = work[_ALLOWED]
    waiting = work[_WAITING]
    here = work[_HERE]
    best = -np.inf
    total = 0.0
    for i in range(d):
        w[i] = start[i]
        x[i] = start[i]
        total += start[i]
        now[i] = _FREE if cap[i] > 0.0 else _OUT
    if is_feasible(start, least, cap):
        for i in range(d):
            w[i] /= total
        best = _utility(theta, M, scale, w)
    ceiling = -np.inf
    depth = 0
    nodes = 0
    parent = np.inf
    while True:
        nodes += 1
        inside = 0
        for i in range(d):
            inside += now[i] == _IN
        rest = max(1.0 - inside * least, 0.0)
        for i in range(d):
            if now[i] == _FREE and (rest < least - ROUNDING or rest <= ROUNDING):
                now[i] = _OUT
            allowed[i] = 1.0 if now[i] != _OUT else 0.0
            x[i] *= allowed[i]
            gradient = theta[i] - theta[0]
            for j in range(d):
                if now[j] == _IN:
                    gradient -= scale * least * M[i, j]
            linear[i] = rest * gradient
        bound = -np.inf
        deciding = -1
        if rest <= ROUNDING:
            for i in range(d):
                here[i] = 1.0 / inside if now[i] == _IN else 0.0
            bound = _utility(theta, M, scale, here)
        elif inside > 0 or rest == 1.0:
            for i in range(d):
                here[i] = x[i]
            call_simplex_maximizer(
                linear, M, scale * rest * rest, allowed, here, x, U, work[:4], order, iteration_limit(d)
            )
            worst = 0.0
            for i in range(d):
                weight = rest * x[i]
                if now[i] == _FREE and 0.0 < weight < least:
                    if weight <= 1e-3 * ROUNDING:
                        weight = 0.0
                    elif min(weight, least - weight) > worst:
                        worst = min(weight, least - weight)
                        deciding = i
                here[i] = weight + (least if now[i] == _IN else 0.0)
            bound = _utility(theta, M, scale, here)
            highest = -np.inf
            level = 0.0
            for i in range(d):
                if allowed[i] > 0.0:
                    gradient = linear[i]
                    for j in range(d):
                        gradient -= scale * rest * rest * M[i, j] * x[j]
                    level += x[i] * gradient
                    highest = max(highest, gradient)
            gap = max(highest - level, 0.0)
            if deciding < 0 and bound > best:
                best = bound
                for i in range(d):
                    w[i] = here[i]
            bound = min(bound + gap, parent)
        if deciding < 0 and rest <= ROUNDING and bound > best:
            best = bound
            for i in range(d):
                w[i] = here[i]
        if deciding >= 0 and bound > best + tolerance and nodes < limit:
            # Try what is nearer first; the other one waits.
            first = _IN if rest * x[deciding] >= 0.5 * least else _OUT
            for i in range(d):
                stack[depth, i] = now[i]
            stack[depth, deciding] = _OUT + _IN - first
            waiting[depth] = bound
            depth += 1
            now[deciding] = first
            parent = bound
            continue
        ceiling = max(ceiling, bound)
        while depth > 0 and waiting[depth - 1] <= best + tolerance:
            depth -= 1
            ceiling = max(ceiling, waiting[depth])
        if depth == 0 or nodes >= limit:
            break
        depth -= 1
        parent = waiting[depth]
        for i in range(d):
            now[i] = stack[depth, i]
    proved = depth == 0 and ceiling <= best + tolerance
    for a in range(depth):
        ceiling = max(ceiling, waiting[a])
    total = 0.0
    for i in range(d):
        total += w[i]
    for i in range(d):
        w[i] /= total
    known[0] = best + theta[0]
    known[1] = max(ceiling, best) + theta[0]
    return nodes if proved else -nodes


call_semicontinuous_maximizer = out_of_line(maximize_semicontinuous)
