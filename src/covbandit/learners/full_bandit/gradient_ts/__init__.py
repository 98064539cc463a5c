"""GradientTS: Thompson sampling of the utility's gradient, from totals.

=================  ====================================================================
file               what it holds
=================  ====================================================================
``learner.py``     `GradientTS`: the class, decide and absorb
``statistics.py``  what it keeps of the totals
``belief.py``      estimates, the best weights for them, and the gradient's uncertainty
=================  ====================================================================
"""
