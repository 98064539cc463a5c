"""Means and covariance of options of which only the totals of known mixes were seen."""

from __future__ import annotations

from covbandit.aggregate.moments import AggregateMoments as AggregateMoments
from covbandit.aggregate.moments import UtilityEstimate as UtilityEstimate

__all__ = ["AggregateMoments", "UtilityEstimate"]
