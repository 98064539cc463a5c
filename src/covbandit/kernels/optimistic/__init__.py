"""Maximisers of optimistic utilities, which are not concave: a fast search, and a proof by branch and bound.

================  ========================================
file              what it holds
================  ========================================
``search.py``     fast search from several starts
``moves.py``      the moves that the search makes
``shaking.py``    perturbations that leave a local maximum
``proof.py``      branch and bound over the decision set
``node.py``       one node of it
``bound.py``      the upper bound of a node
``majorants.py``  concave functions above the utility
``quadratic.py``  bounds where the utility is a quadratic
================  ========================================
"""
