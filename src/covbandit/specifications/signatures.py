"""What a constructor or function can be given, read off its signature."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Union, get_args, get_origin

from covbandit.errors import InvalidInput

_SCALARS = (bool, int, float, str, types.NoneType)


@dataclass(frozen=True)
class Parameter:
    """One keyword.

    Attributes
    ----------
    name : str
        The keyword.
    kind
        The type of a single value; Any where lists are values too, or nothing is known.
    required : bool
        Whether it has no default.
    """

    name: str
    kind: Any
    required: bool

    @property
    def single(self) -> bool:
        """Whether it takes single values only, so that a list of them means one after the other."""
        return self.kind is not Any


def parameters_of(build: Callable[..., Any]) -> dict[str, Parameter]:
    """Return what a class or function takes, by name.

    Raises
    ------
    InvalidInput
        If it does not say, as some that are written in C.

    Examples
    --------
    >>> import covbandit as cb
    >>> found = parameters_of(cb.PairUCB)
    >>> found["bonus"].single, found["hold"].single, found["risk_aversion"].required
    (True, False, True)
    """
    function = build.__init__ if inspect.isclass(build) else build
    scope = getattr(function, "__globals__", {})
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        raise InvalidInput("does not say what it takes; write a function around it that does") from None
    found = {}
    for name, parameter in signature.parameters.items():
        if name != "self" and parameter.kind in kinds:
            required = parameter.default is inspect.Parameter.empty
            found[name] = Parameter(name, _kind(parameter, scope), required)
    return found


def _kind(parameter: inspect.Parameter, scope: dict[str, Any]) -> Any:
    annotation = parameter.annotation
    if annotation is inspect.Parameter.empty:  # a default tells as much
        default = parameter.default
        return type(default) if isinstance(default, _SCALARS) and default is not None else Any
    if isinstance(annotation, str):
        try:
            annotation = eval(annotation, scope)
        except Exception:  # names that are there for type checkers only, and whatever else users write
            return Any
    return annotation if _is_scalar(annotation) else Any


def _is_scalar(annotation: Any) -> bool:
    if get_origin(annotation) in (Union, types.UnionType):
        return all(_is_scalar(part) for part in get_args(annotation))
    return get_origin(annotation) is Literal or annotation in (*_SCALARS, None)
