"""Exact maximisers of concave quadratic utilities on the simplex.

=====================  ==================================================================
file                   what it holds
=====================  ==================================================================
``simplex.py``         active set on the simplex with caps
``active_set.py``      its steps
``semicontinuous.py``  branch and bound for weights that are zero or at least a threshold
``projection.py``      the nearest point of the simplex
``decision_set.py``    which weights are allowed
=====================  ==================================================================
"""
