"""Maximisers of optimistic utilities, which are not concave: a fast search, and a proof by branch and bound.

================  ========================================
file              what it holds
================  ========================================
``search.py``     fast search from several starts
``moves.py``      the moves that the search makes
``shaking.py``    perturbations that leave a local maximum
``proof.py``      branch and bound over the decision set
``tree.py``       the nodes that wait in it
``node.py``       one node, and the records that kernels take
``bound.py``      the upper bound of a node
``division.py``   how to divide a node
``majorants.py``  concave functions above the utility
``quadratic.py``  bounds where the utility is a quadratic
================  ========================================
"""
