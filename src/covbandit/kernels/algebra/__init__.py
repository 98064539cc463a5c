"""Linear algebra for kernels.

==========================  =========================================
file                        what it holds
==========================  =========================================
``cholesky.py``             Cholesky factor and solves
``lapack.py``               LAPACK routines that kernels call
``semidefinite.py``         the nearest positive semi-definite matrix
``semidefinite_metric.py``  the same in a given metric
==========================  =========================================
"""
