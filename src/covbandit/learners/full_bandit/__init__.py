"""Learners that see one total per round (feedback "total").

======================  ====================================================
file                    what it holds
======================  ====================================================
``mc_ete.py``           MC-ETE (Algorithm 3)
``ogd_ete.py``          OGD-ETE
``linear_fb.py``        LinearFB, which ignores risk
``gradient_ts/``        GradientTS: samples the gradient of the utility
``base.py``             `ExploreThenExploit` and `MergingExploreThenExploit`
``design_actions.py``   the actions of the paper's design, and those without retired options
``design_schedule.py``  when to explore, and the statistics of each action
``estimates.py``        means and covariances from the totals of the actions
======================  ====================================================
"""
