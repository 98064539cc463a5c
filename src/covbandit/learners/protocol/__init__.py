"""What every learner shares.

======================  =================================================================
file                    what it holds
======================  =================================================================
``base.py``             `Learner`: ask, tell, save, merge, retire; checks of what is told
``state.py``            the arrays that kernels read and write, and their declaration
``retired_options.py``  weights that keep to the options in use
``observations.py``     checks of what is told
``certification.py``    proofs of decisions by branch and bound
``explanation.py``      why a learner proposes its weights
``serialization.py``    learners as text files
``setup_warnings.py``   warnings about arguments that may not be meant
======================  =================================================================
"""
