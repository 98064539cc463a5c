"""The paper's theory as functions of an instance: bounds, confidence radii, how wide they are, and hard instances.

Every bound is O(·) in the paper; here its constant is 1, and its label says so.

=======================  ======================================================================================
file                     what it holds
=======================  ======================================================================================
``bound.py``             what upper bounds share: `UpperBound`, named quantities and conditions
``full_information.py``  Theorem 1, MC-Empirical
``semi_bandit.py``       Theorem 3, MC-UCB
``full_bandit.py``       Theorem 5, MC-ETE
``overview.py``          all bounds that apply to a problem, in one table
``hard_instances.py``    the instance distributions of the lower bounds, Theorems 2 and 4
``radii.py``             the confidence radii of the lemmas
``radius_forms.py``      the formulas that radii are made of
``radius_coverage.py``   `coverage`: how often a radius fails and how wide it is, by simulation
``coverage_result.py``   what that simulation gave, as a table
=======================  ======================================================================================
"""

from covbandit.theory.bound import Condition, Quantity, UpperBound
from covbandit.theory.coverage_result import Coverage, RadiusCoverage
from covbandit.theory.full_bandit import FullBanditBound, full_bandit_bound
from covbandit.theory.full_information import FullInformationBound, full_information_bound
from covbandit.theory.hard_instances import FullInformationLowerBound, SemiBanditLowerBound
from covbandit.theory.overview import bounds_table, upper_bounds
from covbandit.theory.radii import (
    confidence_term,
    full_bandit_radii,
    full_information_radii,
    semi_bandit_radii,
)
from covbandit.theory.radius_coverage import coverage
from covbandit.theory.radius_forms import Radii
from covbandit.theory.semi_bandit import SemiBanditBound, semi_bandit_bound

__all__ = [
    "Condition",
    "Coverage",
    "FullBanditBound",
    "FullInformationBound",
    "FullInformationLowerBound",
    "Quantity",
    "Radii",
    "RadiusCoverage",
    "SemiBanditBound",
    "SemiBanditLowerBound",
    "UpperBound",
    "bounds_table",
    "confidence_term",
    "coverage",
    "full_bandit_bound",
    "full_bandit_radii",
    "full_information_bound",
    "full_information_radii",
    "semi_bandit_bound",
    "semi_bandit_radii",
    "upper_bounds",
]
