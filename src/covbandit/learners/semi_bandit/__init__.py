"""Learners that see the rewards of the chosen options (feedback "chosen").

===================  ==================================================
file                 what it holds
===================  ==================================================
``mc_ucb.py``        MC-UCB (Algorithm 2)
``mc_ucb_gamma.py``  MC-UCB-Γ
``ols_ucb_c.py``     OLS-UCB-C, which ignores risk
``pair_ucb.py``      PairUCB: optimism pair by pair on shrunk moments
``base.py``          `SemiBanditLearner` and `UpperConfidenceLearner`
``statistics.py``    counts, means and scatter of every pair
``start_up.py``      which options to play until every pair was seen
``radii.py``         the confidence radii g (covariance) and E (reward)
``decision.py``      the weights with the largest optimistic utility
===================  ==================================================
"""
