"""Means and covariance of options of which only the totals of known mixes were seen.

================  ============================================================================================
file              what it holds
================  ============================================================================================
``estimator.py``  `AggregateMoments`: what users call, and its files
``sums.py``       the sums over totals from which everything is estimated
``weighting.py``  how much each total counts: by the variance that it is expected to have
``estimates.py``  means, covariance and their errors from the sums; the nearest semi-definite covariance
================  ============================================================================================
"""

from __future__ import annotations

from covbandit.aggregate.estimator import AggregateMoments as AggregateMoments
from covbandit.aggregate.estimator import UtilityEstimate as UtilityEstimate

__all__ = ["AggregateMoments", "UtilityEstimate"]
