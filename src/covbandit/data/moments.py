"""Mean and covariance of a history."""

from __future__ import annotations

import numpy as np

from covbandit.core.typing import F64


def mean_and_covariance(values: F64) -> tuple[F64, F64]:
    """Return the mean and the covariance of rows, both dividing by n."""
    # Seen from the first row, so that an option that never changes has no variance at all instead of rounding.
    first = values[0].copy()
    away = values - first
    shift = away.mean(axis=0)
    away -= shift
    covariance = away.T @ away / len(values)
    return first + shift, np.ascontiguousarray((covariance + covariance.T) / 2)
