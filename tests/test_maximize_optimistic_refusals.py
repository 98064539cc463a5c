"""What the optimistic maximiser refuses, and how it names it."""

from __future__ import annotations

import numpy as np
import pytest

from covbandit.errors import CovbanditError, InvalidInput
from covbandit.maximization import maximize_optimistic

NAN, INF = float("nan"), float("inf")
REFUSALS = [
    ({"mean": [1, NAN]}, r"option 1: mean is nan, which is not finite"),
    ({"mean": []}, r"mean must have at least one entry"),
    ({"mean": 3.0}, r"mean must have 1 dimension\(s\), got an array of shape \(\)"),
    ({"mean": ["a", "b"]}, r"mean must be numeric"),
    ({"bonus": np.eye(3)}, r"bonus must be 2 × 2, one row per option, got \(3, 3\)"),
    ({"bonus": [[1, 0]]}, r"bonus must be square, got shape \(1, 2\)"),
    ({"bonus": [1, 0]}, r"bonus must have 2 dimension\(s\)"),
    ({"bonus": [[1, INF], [INF, 1]]}, r"bonus of option 0 and option 1 is inf, which is not finite"),
    ({"bonus": [[1, 0.5], [0.25, 1]]}, r"bonus is not symmetric: entry \(0, 1\) is 0\.5 but \(1, 0\) is 0\.25"),
    ({"risk": [[NAN, 0], [0, 1]]}, r"risk of option 0 and option 0 is nan, which is not finite"),
    ({"risk": [[1, 2], [3, 1]]}, r"risk is not symmetric: entry \(0, 1\) is 2\.0 but \(1, 0\) is 3\.0"),
    ({"risk": "low"}, r"risk must be numeric"),
    ({"risk_aversion": -1}, r"risk_aversion must not be negative, got -1\.0"),
    ({"risk_aversion": NAN}, r"risk_aversion must be finite, got nan"),
    ({"min_weight": 0}, r"min_weight must be above 0 and at most 1, got 0\.0"),
    ({"min_weight": -0.1}, r"min_weight must be above 0 and at most 1, got -0\.1"),
    ({"min_weight": 1.5}, r"min_weight must be above 0 and at most 1, got 1\.5"),
    ({"min_weight": NAN}, r"min_weight must be finite, got nan"),
    ({"min_weight": "x"}, r"min_weight must be a number, got 'x'"),
    ({"start": [0.5, 0.6]}, r"start weights sum to 1\.1, not to one"),
    ({"start": [1.5, -0.5]}, r"option 1: start weight -0\.5 is negative"),
    ({"start": [1.0]}, r"start weight must have 2 entries, one per option, got 1"),
    ({"tolerance": 0}, r"tolerance must be positive, got 0\.0"),
    ({"tolerance": -1e-9}, r"tolerance must be positive, got -1e-09"),
    ({"tolerance": NAN}, r"tolerance must be finite, got nan"),
    ({"node_limit": 0}, r"node_limit must be at least 1, got 0"),
    ({"node_limit": 1.5}, r"node_limit must be a whole number, got 1\.5"),
    ({"bonus": 1e300 * np.eye(2), "risk": 1e300 * np.eye(2)}, r"1e\+300 overflow when squared; use larger units"),
]


@pytest.mark.parametrize(("change", "message"), REFUSALS, ids=[str(next(iter(r[0].items()))) for r in REFUSALS])
@pytest.mark.parametrize("certified", [False, True])
def test_refusals_name_the_offender(change, message, certified):
    good = {"mean": [1.0, 2.0], "bonus": np.eye(2), "risk": np.eye(2), "risk_aversion": 1.0, "min_weight": 0.1}
    with pytest.raises(InvalidInput, match=message) as caught:
        maximize_optimistic(**good | {"certified": certified} | change)
    assert isinstance(caught.value, CovbanditError)
