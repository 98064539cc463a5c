"""Compiled numerics: arrays in, arrays out. Of the other rooms this one imports `core` alone.

==========================  =============================================================================
file                        what it holds
==========================  =============================================================================
``jit/``                    how kernels are compiled, cached and linked
``qp/``                     exact quadratic programs on the simplex, with caps and thresholds
``optimistic/``             search and proof for utilities with a confidence bonus, which are not concave
``algebra/``                Cholesky factors, LAPACK, nearest positive semi-definite matrices
``random/``                 counter-based random numbers, correlated draws
``confidence.py``           the formulas of the paper's confidence radii
``moments.py``              running means and scatter matrices
``random_coefficients.py``  regression of totals on weights and on their products
``compilation.py``          deprecated: where ``jit/compilation.py`` was in 0.1
==========================  =============================================================================
"""
