"""Array types that annotations all over the package use."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]
"""Array of floats."""

I64 = NDArray[np.int64]
"""Array of integers."""
