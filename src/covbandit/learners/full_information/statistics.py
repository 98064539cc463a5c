"""The moments of everything seen, kept by learners that hardly need them, so that these too can be explained."""

from __future__ import annotations

from covbandit.core.typing import F64
from covbandit.kernels.jit.compilation import kernel
from covbandit.kernels.moments import update_mean, update_moments
from covbandit.learners.protocol.state import ABSORB, COUNT, FIRST_ROW, Layout, State

DELTA = FIRST_ROW  # scratch
BEFORE = FIRST_ROW + 1  # scratch
MEAN = FIRST_ROW + 2
SCATTER = 0

MOMENTS = Layout(rows=("mean",), slabs=("scatter",), scratch_rows=2)


@kernel(ABSORB)
def absorb_moments(s: State, w: F64, y: F64) -> None:
    """Update mean and scatter with the rewards of all options."""
    for i in range(w.size):
        s.v[BEFORE, i] = s.v[MEAN, i]
    n = update_moments(s.v[BEFORE], s.m[SCATTER], s.v[COUNT, 0], 1.0, y, s.v[DELTA])
    # The mean by division, not by the rounded 1/n: which of two equal means LinearFI sees ahead hangs on the last bit.
    update_mean(s.v[MEAN], n, y)
    for i in range(w.size):
        s.v[COUNT, i] = n
