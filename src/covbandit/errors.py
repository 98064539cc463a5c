"""The exceptions that covbandit raises, and nothing else.

Every error a user can cause derives from `CovbanditError`. Its message gives the offending value, the cause and the way
out. Where a built-in class says the same (`ValueError`, `ImportError`), our class derives from it as well, so callers
may catch either.
"""

from __future__ import annotations


class CovbanditError(Exception):
    """Base of every exception raised on purpose by covbandit."""


class InvalidInput(CovbanditError, ValueError):
    """A value that cannot be used: wrong shape, NaN, not on the simplex, unknown option, ..."""


class InvalidSpecification(InvalidInput):
    """A specification file with mistakes.

    Attributes
    ----------
    mistakes : tuple of str
        One message each, with file, line, key, value, cause and the way out.
    """

    def __init__(self, message: str, mistakes: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.mistakes = mistakes


class Infeasible(CovbanditError, ValueError):
    """No weights satisfy the constraints, for example caps that sum to less than one."""


class NotPositiveSemidefinite(InvalidInput):
    """A covariance with a negative eigenvalue where a positive semi-definite one is needed."""


class Unsupported(CovbanditError, ValueError):
    """A combination of arguments that is meaningful but not available."""


class NumericalFailure(CovbanditError, ArithmeticError):
    """A computation did not reach the accuracy it promises."""


class NotIdentified(CovbanditError, ValueError):
    """What was observed does not determine what is asked for; the message says what is missing."""


class StateFileError(CovbanditError, ValueError):
    """A learner, estimator or result that cannot be written, or read: truncated, foreign, damaged, of newer format."""


class MissingExtra(CovbanditError, ImportError):
    """An optional dependency is needed; the message names the extra to install."""


class Unreachable(CovbanditError, ConnectionError):
    """A cluster or server that does not answer; the message says how to start one."""


class AssumptionWarning(UserWarning):
    """What was observed contradicts what a learner assumes; it goes on, without its guarantees."""


class Interrupted(CovbanditError, KeyboardInterrupt):
    """Ctrl-C during a simulation. Carries what was finished.

    Attributes
    ----------
    partial : SimulationResult or None
        The finished replications, or None if there are none. Pass it to ``simulate(..., resume=partial)``; with a
        journal that is not needed.
    """

    def __init__(self, message: str, partial: object = None) -> None:
        super().__init__(message)
        self.partial = partial
