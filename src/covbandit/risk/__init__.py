"""How to choose the risk aversion ρ: the optimal weights along ρ, and the ρ that fits what one knows.

ρ is the mean given up per unit of variance, so its unit is 1 / (unit of reward). Returns in percent have 100 times the
mean and 10,000 times the variance of the same returns as fractions: ρ = 0.05 there says what ρ = 5 says here.

=====================  =========================================================================================
file                   what it holds
=====================  =========================================================================================
``path.py``            `risk_path` and `RiskPath`: the optimal weights along ρ
``choice.py``          `choose_risk_aversion`: from a volatility, from weights held today, from a trade-off
``landmarks.py``       where the path begins, where it settles, between which ρ the weights change at all
``option_moments.py``  mean, covariance and names of the options, from returns or from a problem
``presentation.py``    a path as a table, in words and as a figure
=====================  =========================================================================================
"""

from covbandit.risk.choice import choose_risk_aversion
from covbandit.risk.path import RiskPath, risk_path

__all__ = ["RiskPath", "choose_risk_aversion", "risk_path"]
