"""Decision problems: the model itself, problems drawn at random, and ready-made instances.

====================  =====================================================================
file                  what it holds
====================  =====================================================================
``problem.py``        `Problem`: means, covariance, risk aversion, utility, optimum, gap
``distribution.py``   `ProblemDistribution`: a new problem for each replication
``designs.py``        the mixes whose totals identify all means and covariances
``presets.py``        ready-made problems: synthetic, etf, random, hard
====================  =====================================================================

The names of ``presets.py`` are available here, as in ``covbandit.problems.synthetic()``. They are imported at first
use: the presets need rooms above this one (``theory``, ``data``), which themselves need `Problem`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from covbandit.problems.presets import Correlation as Correlation
    from covbandit.problems.presets import etf as etf
    from covbandit.problems.presets import full_information_lower_bound as full_information_lower_bound
    from covbandit.problems.presets import random as random
    from covbandit.problems.presets import semi_bandit_lower_bound as semi_bandit_lower_bound
    from covbandit.problems.presets import synthetic as synthetic

__all__ = ["etf", "full_information_lower_bound", "random", "semi_bandit_lower_bound", "synthetic"]


def __getattr__(name: str) -> Any:
    if name != "Correlation" and name not in __all__:
        raise AttributeError(f"module 'covbandit.problems' has no attribute {name!r}")
    from covbandit.problems import presets

    return getattr(presets, name)
