"""Random instances as a study lists them: by the arguments that make them."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import covbandit as cb
from covbandit.problems import Correlation


@dataclass(frozen=True)
class RandomInstance:
    """Arguments of `covbandit.problems.random`; without a correlation, the paper's synthetic instance.

    A study adds the other arguments that it varies, by their names, and says how an instance is called.
    """

    n_options: int
    correlation: Correlation | None
    seed: int
    risk_aversion: float

    def problem(self) -> cb.Problem:
        """Return the problem."""
        arguments = asdict(self)
        if self.correlation is None:
            return cb.problems.synthetic(self.risk_aversion, min_weight=arguments.get("min_weight"))
        return cb.problems.random(**arguments)
