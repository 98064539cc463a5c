r"""The two formulas behind the paper's confidence radii, for learners and for the theory.

.. math::
    \frac{g_{ij}(t)}{b} &= 16 \Big( \tfrac{3 \ln t}{N_{ij}} ∨ \sqrt{\tfrac{3 \ln t}{N_{ij}}} \Big)
        + \sqrt{\tfrac{48 \ln^2 t}{N_{ij} N_{ii}}} + \sqrt{\tfrac{36 \ln^2 t}{N_{ij} N_{jj}}} \\
    β_t &= \ln(t \ln^2 t) + u \ln\ln t + \tfrac k2 \ln(1 + e/λ)

Python may give arrays, through `uncompiled`.
"""

from __future__ import annotations

import numpy as np

from covbandit.kernels.jit.compilation import kernel

_ROOTS = 0.5 * (np.sqrt(48.0) + np.sqrt(36.0))


@kernel()
def unit_covariance_radius(together: float, alone_i: float, alone_j: float, log_t: float) -> float:
    """Return g_ij(t) for b = 1, made symmetric by averaging with its transpose, which changes no quadratic form.

    The pair was seen `together` times, the two options `alone_i` and `alone_j` times.
    """
    ratio = 3.0 * log_t / together
    centring = 1.0 / np.sqrt(together * alone_i) + 1.0 / np.sqrt(together * alone_j)
    radius: float = 16.0 * np.maximum(ratio, np.sqrt(ratio)) + _ROOTS * log_t * centring
    return radius


@kernel()
def confidence_term(log_t: float, unions: int, dimension: int, regularization: float) -> float:
    """Return β_t: `unions` is u, how often ln ln t is added, and `dimension` is k, that of the regression."""
    log_log = np.log(log_t)
    return float(log_t + 2.0 * log_log + unions * log_log + 0.5 * dimension * np.log(1.0 + np.e / regularization))
