"""What environments made of a history have in common."""

from __future__ import annotations

from covbandit.core.validation import same_names
from covbandit.data import Returns
from covbandit.errors import InvalidInput
from covbandit.problems.problem import Problem


def as_history(returns: object) -> Returns:
    """Return what a user handed in, if it is `Returns`."""
    if not isinstance(returns, Returns):
        raise InvalidInput(
            f"a history must be covbandit.data.Returns, got {type(returns).__name__}; read one with "
            "covbandit.data.read_returns, or build Returns(values, options)"
        )
    return returns


def require_options(returns: Returns, problem: Problem) -> None:
    """Raise unless a problem has the options of a history."""
    if problem.n_options != returns.n_options:
        raise InvalidInput(
            f"the problem has {problem.n_options} options, the history {returns.n_options}; make the problem with "
            "returns.problem(risk_aversion)"
        )
    if problem.options is not None and not same_names(problem.options, returns.options):
        raise InvalidInput(
            f"the problem's options {list(problem.options)} are not the history's {list(returns.options)}; make the "
            "problem with returns.problem(risk_aversion)"
        )
