"""The paper's statements and our own, each decided by the results and nothing else.

================  ==============================================================================================
file              what it holds
================  ==============================================================================================
``claim.py``      a statement, the cases in which it was put to the test, the verdict that follows from them
``rules.py``      how results decide a case
``section_6.py``  what the paper's experiments section says
``theorems.py``   what the theorems say: rates of upper and lower bounds
``remarks.py``    what the remarks say: correlation, the number of options, no risk aversion
``judge.py``      `judge`: all of them together, and our own statements
================  ==============================================================================================
"""

from covbandit.reproduction.claims.claim import ELSEWHERE, IN_THE_FIGURE, Claim

__all__ = ["ELSEWHERE", "IN_THE_FIGURE", "Claim"]
