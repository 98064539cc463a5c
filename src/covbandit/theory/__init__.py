"""The paper's theory as functions of an instance: bounds, confidence radii, how wide they are, and hard instances.

Every bound is O(·) in the paper; here its constant is 1, and its label says so.
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
