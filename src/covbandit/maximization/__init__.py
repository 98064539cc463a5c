"""Certified maximisation of the utility when its parameters are known, and of the optimistic utility.

=================  ===========================================================================================
file               what it holds
=================  ===========================================================================================
``utility.py``     `maximize_utility`: the utility, exactly; the nearest positive semi-definite covariance
``optimistic.py``  `maximize_optimistic`: the utility with a bonus for what is not known well
``optimum.py``     `Optimum`: weights with the proof, or the admission that there is none
=================  ===========================================================================================
"""

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
