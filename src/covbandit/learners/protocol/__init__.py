"""What every learner shares.

======================  =================================================================
file                    what it holds
======================  =================================================================
``base.py``             `Learner`: ask, tell, save, merge, retire
``state.py``            the arrays that kernels read and write, and their declaration
``retired_options.py``  weights that keep to the options in use
``observations.py``     checks of what is told
``certification.py``    proofs of decisions by branch and bound
``explanation.py``      why a learner proposes its weights
``serialization.py``    learners as text files
``setup_warnings.py``   warnings about arguments that may not be meant
======================  =================================================================

What kernels and states are made of is found in this package itself, so that whoever writes a compiled learner need not
know the files: ``from covbandit.learners.protocol import ABSORB, DECIDE, LearnerState, kernel, row``.
"""

from covbandit.kernels.jit.compilation import kernel
from covbandit.learners.protocol.state import (
    ABSORB,
    DECIDE,
    UPDATE,
    LearnerState,
    State,
    block,
    counter,
    derived_row,
    matrix,
    number,
    parameter,
    parameters,
    row,
    work_block,
    work_integers,
    work_matrices,
    work_matrix,
    work_row,
    work_rows,
)

__all__ = [
    "ABSORB",
    "DECIDE",
    "UPDATE",
    "LearnerState",
    "State",
    "block",
    "counter",
    "derived_row",
    "kernel",
    "matrix",
    "number",
    "parameter",
    "parameters",
    "row",
    "work_block",
    "work_integers",
    "work_matrices",
    "work_matrix",
    "work_row",
    "work_rows",
]
