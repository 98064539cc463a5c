"""How to choose the risk aversion ρ: the optimal weights along ρ, and the ρ that fits what one knows.

ρ is the mean given up per unit of variance, so its unit is 1 / (unit of reward). Returns in percent have 100 times the
mean and 10,000 times the variance of the same returns as fractions: ρ = 0.05 there says what ρ = 5 says here.
"""

from covbandit.risk.choice import choose_risk_aversion
from covbandit.risk.path import RiskPath, risk_path

__all__ = ["RiskPath", "choose_risk_aversion", "risk_path"]
