"""What keeps numerical libraries on one thread, if it is in the environment before they are imported."""

from __future__ import annotations

ONE_THREAD = dict.fromkeys(
    (
        "OPENBLAS_NUM_THREADS",
        "OMP_NUM_THREADS",
        "MKL_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "NUMBA_NUM_THREADS",
        "RAYON_NUM_THREADS",
    ),
    "1",
)
