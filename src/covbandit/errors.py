"""The exceptions that covbandit raises, and nothing else.

Every error a user can cause derives from `CovbanditError`. Its message gives the offending value, the cause and the way
out. Where a built-in class says the same (`ValueError`, `ImportError`), our class derives from it as well, so callers
may catch either.
"""

from __future__ import annotations


class CovbanditError(Exception):
    """Base of every exception raised on purpose by covbandit.

    Attributes
    ----------
    hint : str
        The way out, where the message itself does not say it.
    """

    hint: str = ""


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


class NotFound(CovbanditError, LookupError):
    """No study, round or token of that name; the message says what there is."""


class Conflict(CovbanditError, ValueError):
    """What is asked for contradicts what is already there: a name taken, an outcome told otherwise. Nothing changed."""


class StoreUnavailable(CovbanditError, ConnectionError):
    """The store of studies cannot be used now: locked, gone away, full, read-only. Nothing already told is lost.

    Attributes
    ----------
    retryable : bool
        Whether the same call may succeed later without anybody's doing. Repeating it is safe: what was told already is
        not counted twice.
    """

    def __init__(self, message: str, retryable: bool = True) -> None:
        super().__init__(message)
        self.retryable = retryable


class StoreSchemaError(CovbanditError):
    """A store of studies written by an older or a newer version of covbandit; the message says how to go on."""


class Unauthorized(CovbanditError, PermissionError):
    """The service wants a token, and there is none, or it is not valid."""


class Forbidden(CovbanditError, PermissionError):
    """The token is valid, but its scope does not cover what was asked."""


class RateLimited(CovbanditError):
    """Too many requests in a short time; wait and repeat.

    Attributes
    ----------
    retry_after : float
        Seconds to wait.
    """

    def __init__(self, message: str, retry_after: float = 1.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class AssumptionWarning(UserWarning):
    """What was observed contradicts what a learner assumes; it goes on, without its guarantees."""


class SetupWarning(UserWarning):
    """Arguments that are allowed, with a consequence that may not be meant; the message says which."""


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
