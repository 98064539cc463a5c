"""How measured regret is compared with a reference figure of the specification."""

from __future__ import annotations

import numpy as np


def assert_agrees(ours: np.ndarray, mean: float, interval: float) -> None:
    """Fail unless the means agree within three combined standard errors; `interval` is half a 95 % interval."""
    combined = np.hypot(ours.std(ddof=1) / np.sqrt(len(ours)), interval / 1.96)
    assert abs(ours.mean() - mean) <= 3 * combined
