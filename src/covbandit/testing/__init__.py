"""Conformance suites: inherit one to test a learner of your own the way ours are tested.

===============  ==============================================
file             what it holds
===============  ==============================================
``learners.py``  `LearnerConformance`, the suite for learners
===============  ==============================================

Examples
--------
In a pytest file::

    from covbandit.testing import LearnerConformance


    class TestMyLearner(LearnerConformance):
        def make(self):
            return MyLearner(n_options=4, risk_aversion=0.5)
"""

from covbandit.testing.learners import LearnerConformance

__all__ = ["LearnerConformance"]
