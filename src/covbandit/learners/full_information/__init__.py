"""Learners that see every option's reward (feedback "all").

=======================  =================================================================
file                     what it holds
=======================  =================================================================
``mc_empirical.py``      MC-Empirical (Algorithm 1)
``shrunk_empirical.py``  MC-Empirical on shrunk moments
``ogd.py``               online gradient descent
``linear_fi.py``         the best mean, without risk
``fixed_weights.py``     weights that never change
``base.py``              `FullInformationLearner`: how they go on when options come and go
``statistics.py``        mean and scatter of all rewards
``missing_rewards.py``   statistics of pairs, once a reward was missing
``decision.py``          the exact maximiser for estimated moments, with a tracked inverse
=======================  =================================================================
"""
