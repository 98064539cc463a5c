"""ShrunkEmpirical: MC-Empirical on shrunk moments."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from covbandit import validation
from covbandit.kernels.compilation import kernel
from covbandit.kernels.moments import update_moments
from covbandit.learners.base import Hold, Learner
from covbandit.learners.plug_in import CANDIDATE, DELTA, INVERSE, MEAN, N_WORK_ROWS, SCATTER, WORK_SLAB, decide_plug_in
from covbandit.learners.state import ABSORB, COUNT, F64, FIRST_ROW, Layout, State

RAW_MEAN = CANDIDATE + 1
RAW_SCATTER = INVERSE + 1


@kernel(ABSORB)
def _absorb(s: State, w: F64, y: F64) -> None:
    d = w.size
    raw = s.v[RAW_MEAN]
    M = s.m[RAW_SCATTER]
    C = s.m[SCATTER]  # n times the shrunk covariance
    believed = s.v[MEAN]
    deviation = s.v[DELTA]
    n = update_moments(raw, M, s.v[COUNT, 0], 1.0, y, deviation)
    for i in range(d):
        s.v[COUNT, i] = n

    # Target: the mean variance on the diagonal, the mean correlation off it.
    variance = 0.0
    for i in range(d):
        variance += M[i, i] / d
        deviation[i] = 1.0 / np.sqrt(M[i, i]) if M[i, i] > 0.0 else 0.0
    correlation = 0.0
    for i in range(d):
        row = 0.0
        for j in range(d):
            row += M[i, j] * deviation[j]
        correlation += row * deviation[i]
        if M[i, i] > 0.0:
            correlation -= 1.0
    if d > 1:
        correlation /= d * (d - 1)
    if variance == 0.0:
        # Rewards without any variance: after one round nothing is known of risk, so equal weights; later the best mean.
        for i in range(d):
            believed[i] = raw[i] if n > 1.0 else 0.0
            for j in range(d):
                C[i, j] = 1.0 if i == j and n == 1.0 else 0.0
        return
    share = (d + 2.0) / (n + d + 2.0)
    for i in range(d):
        for j in range(d):
            C[i, j] = (1.0 - share) * M[i, j] + share * variance * correlation
        C[i, i] = (1.0 - share) * M[i, i] + share * variance

    # Means: towards their generalised-least-squares average, by as much as their spread is noise (James-Stein).
    # C = U'DU with a unit upper U; x = C⁻¹(θ̂ - θ̂_1), z = C⁻¹1, both up to the factor n.
    U = s.m[WORK_SLAB]
    x = s.v[FIRST_ROW]
    z = s.v[FIRST_ROW + 1]
    inverse = s.v[FIRST_ROW + 2]
    for i in range(d):
        for j in range(i, d):
            U[i, j] = C[i, j]
        x[i] = raw[i] - raw[0]
        z[i] = 1.0
    for a in range(d):
        inverse[a] = 1.0 / max(U[a, a], 1e-13 * C[a, a])
        for i in range(a + 1, d):
            factor = U[a, i] * inverse[a]
            for j in range(i, d):
                U[i, j] -= factor * U[a, j]
        for i in range(a + 1, d):
            U[a, i] *= inverse[a]
            x[i] -= U[a, i] * x[a]
            z[i] -= U[a, i] * z[a]
        x[a] *= inverse[a]
        z[a] *= inverse[a]
    level = 0.0
    weight = 0.0
    for a in range(d - 1, -1, -1):
        for b in range(a + 1, d):
            x[a] -= U[a, b] * x[b]
            z[a] -= U[a, b] * z[b]
        level += x[a]
        weight += z[a]
    level /= weight
    spread = 0.0
    for i in range(d):
        spread += (raw[i] - raw[0] - level) * x[i]
    spread *= n * n  # n (θ̂-m1)' Σ̃⁻¹ (θ̂-m1)
    trust = max(0.0, 1.0 - (d - 1.0) / spread) if spread > 0.0 else 0.0
    for i in range(d):
        believed[i] = raw[0] + level + trust * (raw[i] - raw[0] - level)


class ShrunkEmpirical(Learner):
    r"""MC-Empirical on shrunk moments, for full information: the recommended learner.

    Early estimates are mostly noise, and acting on noise costs more than equal weights. So before maximising

    * the covariance is drawn towards a target F with the mean variance on its diagonal and the mean correlation off it:
      :math:`C = (1-α)\hat Σ + αF`, :math:`α = (d+2)/(t+d+2)`;
    * the means are drawn towards their generalised-least-squares average :math:`m = 1'C^{-1}\hat θ / 1'C^{-1}1`:
      :math:`\tilde θ = m1 + \max(0, 1 - (d-1)/S)(\hat θ - m1)`, :math:`S = t(\hat θ-m1)'C^{-1}(\hat θ-m1)`.

    Both effects vanish as rounds accumulate. Scale-free.

    Parameters
    ----------
    n_options : int
        d.
    risk_aversion : float
        ρ.
    options, seed, hold
        See `Learner`.

    Examples
    --------
    >>> import covbandit as cb
    >>> learner = cb.ShrunkEmpirical(n_options=2, risk_aversion=0.5)
    >>> learner.tell([0.5, 0.5], [1.0, 0.0])
    >>> learner.ask().tolist()
    [0.5, 0.5]
    """

    feedback = "all"
    invariances = frozenset({"scale", "permutation"})
    _layout = Layout(
        rows=("mean", "reference", "candidate", "raw_mean"),
        slabs=("scatter", "inverse", "raw_scatter"),
        scratch_rows=N_WORK_ROWS,
        scratch_slabs=1,
        scratch_ints=2,
    )
    _decide_kernel = decide_plug_in
    _absorb_kernel = _absorb

    def __init__(
        self,
        *,
        n_options: int,
        risk_aversion: float,
        options: Sequence[str] | None = None,
        seed: int | None = None,
        hold: Hold | None = None,
    ) -> None:
        self.risk_aversion = validation.as_risk_aversion(risk_aversion)
        super().__init__(n_options=n_options, options=options, seed=seed, hold=hold)

    def _parameters(self) -> Sequence[float]:
        assert self.risk_aversion is not None
        return (self.risk_aversion,)
