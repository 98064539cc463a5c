"""Certified maximisation of the utility when its parameters are known, and of the optimistic utility."""

from covbandit.maximization.optimistic import maximize_optimistic
from covbandit.maximization.optimum import Optimum
from covbandit.maximization.utility import CERTIFICATE_TOLERANCE, frank_wolfe_gap, maximize_utility, solve

__all__ = [
    "CERTIFICATE_TOLERANCE",
    "Optimum",
    "frank_wolfe_gap",
    "maximize_optimistic",
    "maximize_utility",
    "solve",
]
