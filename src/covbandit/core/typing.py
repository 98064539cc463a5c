"""Types that annotations all over the package use."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]
"""Array of floats."""

I64 = NDArray[np.int64]
"""Array of integers."""

Feedback = Literal["all", "chosen", "total"]
"""What is seen of a round: the rewards of all options, those of the chosen options, or only their weighted total."""
