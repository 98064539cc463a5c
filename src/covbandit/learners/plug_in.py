"""The decision that empirical learners share: the exact maximiser for estimated moments."""

from __future__ import annotations

from covbandit.kernels.compilation import kernel
from covbandit.kernels.simplex_qp import iteration_limit, maximize_on_simplex
from covbandit.learners.state import CAP, COUNT, DECIDE, FIRST_INT, FIRST_ROW, LAST, START, F64, State

N_WORK_ROWS = 5
DELTA = FIRST_ROW + 4  # scratch row: the last of them, which the maximiser does not use
MEAN = FIRST_ROW + N_WORK_ROWS  # row: the means to believe in
WORK_SLAB = 0
SCATTER = 1  # slab: n times the covariance to believe in

RISK_AVERSION = 0  # parameter


@kernel(DECIDE)
def decide_plug_in(s: State, t: int, w: F64) -> None:
    """Play argmax w'θ̂ - ρ w'Σ̂w, starting the search from the weights told last; at first, equal weights."""
    n = s.v[COUNT, 0]
    if n == 0.0:
        for i in range(w.size):
            w[i] = s.v[START, i]
        return
    maximize_on_simplex(
        s.v[MEAN],
        s.m[SCATTER],
        2.0 * s.p[RISK_AVERSION] / n,
        s.v[CAP],
        s.v[LAST],
        w,
        s.m[WORK_SLAB],
        s.v[FIRST_ROW : FIRST_ROW + 4],
        s.i[FIRST_INT:],
        iteration_limit(w.size),
    )
