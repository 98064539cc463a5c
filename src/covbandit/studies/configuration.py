"""What a study is set up with: the learner and its arguments, the options ever known, and those retired.

A study's state follows from its configuration and its log: what was told, and which options were retired and restored
in between. Another risk aversion or a new option takes effect by telling everything again to a fresh learner.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any, Self

import numpy as np

from covbandit.allocation import Allocator, allocator
from covbandit.core import validation
from covbandit.core.validation import in_one_spelling, same_names
from covbandit.errors import InvalidInput, NotFound, StateFileError, Unsupported
from covbandit.learners import Learner, learner_classes
from covbandit.learners.protocol.serialization import class_name, from_plain, known_classes, to_plain
from covbandit.learners.protocol.setup_warnings import said_before

LONGEST_NAME = 200


@dataclass(frozen=True)
class Configuration:
    """The learner's class and arguments, all options in order of entry, and the retired ones."""

    learner: str
    arguments: dict[str, Any]
    options: tuple[str, ...]
    retired: tuple[str, ...] = ()

    @classmethod
    def of(cls, options: Sequence[str], learner: object) -> Self:
        """Return the configuration of a fresh learner over named options.

        Raises
        ------
        InvalidInput
            If the learner does not fit the options, or has been told something already.
        """
        names = as_option_names(options)
        found = _as_learner(names, learner)
        if found.n_options != len(names):
            raise InvalidInput(f"the learner has {found.n_options} options, but {len(names)} are named: {list(names)}")
        if found.options is not None and not same_names(found.options, names):
            raise InvalidInput(
                f"the learner's options are {list(found.options)}, the study's {list(names)}; name them once, or alike"
            )
        if found.rounds_told:
            raise InvalidInput(
                f"the learner was told {found.rounds_told} rounds already, which the study's log would lack; give a "
                "fresh one, and tell its history by tell_outside"
            )
        arguments = {key: value for key, value in found.config().items() if key not in ("options", "n_options")}
        made = cls(class_name(type(found)), to_plain(arguments), names)
        made.build()  # what cannot be built again must not be stored
        return made

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Undo `to_text`.

        Raises
        ------
        StateFileError
            If the text is damaged.
        """
        try:
            read = json.loads(text)
            return cls(read["learner"], read["arguments"], tuple(read["options"]), tuple(read["retired"]))
        except (TypeError, ValueError, KeyError, RecursionError) as error:
            raise StateFileError(
                f"the study's configuration is damaged; restore the store from a copy ({error})"
            ) from None

    def to_text(self) -> str:
        """Return everything as JSON, with every digit."""
        return json.dumps(
            {
                "learner": self.learner,
                "arguments": self.arguments,
                "options": list(self.options),
                "retired": list(self.retired),
            }
        )

    @property
    def learner_class(self) -> type[Learner]:
        """The learner's class; what it says of every learner, such as ``feedback``, needs no learner to be built.

        Raises
        ------
        StateFileError
            If it is not known here.
        """
        known = known_classes()
        if self.learner not in known:
            module = self.learner.partition(":")[0]
            raise StateFileError(
                f"the study's learner is of class {self.learner!r}, which is not known here; "
                f"import {module} before opening the study"
            )
        return known[self.learner]

    def build(self) -> Learner:
        """Return a fresh learner with all options in use.

        Raises
        ------
        StateFileError
            If its class is not known here.
        """
        made = self.learner_class
        arguments = from_plain(self.arguments)
        with said_before():
            return made(**arguments, n_options=len(self.options), options=self.options)

    # Options ---------------------------------------------------------------------------------------------------------

    @property
    def in_use(self) -> tuple[str, ...]:
        """The options that are not retired."""
        return tuple(name for name in self.options if name not in self.retired)

    def with_risk_aversion(self, risk_aversion: float) -> Self:
        """Return the same with another ρ."""
        if self.arguments.get("risk_aversion") is None:
            raise Unsupported(f"{self.learner} has no risk_aversion; fork the study with a learner that has one")
        rho = validation.as_risk_aversion(risk_aversion)
        return replace(self, arguments={**self.arguments, "risk_aversion": rho})

    def without(self, option: object) -> Self:
        """Return the same with an option retired."""
        name = self.known(option)
        if name in self.retired:
            raise InvalidInput(f"option {name!r} is retired already")
        if len(self.in_use) == 1:
            raise InvalidInput(f"option {name!r} is the only one in use; add another before retiring it")
        return replace(self, retired=(*self.retired, name))

    def again_with(self, option: object) -> Self:
        """Return the same with a retired option back in use."""
        name = self.known(option)
        if name not in self.retired:
            raise InvalidInput(f"option {name!r} is in use; retired are: {_listed(self.retired)}")
        return replace(self, retired=tuple(other for other in self.retired if other != name))

    def and_also(self, option: object) -> Self:
        """Return the same with a new option, the last in order; arguments given per option are extended."""
        (name,) = as_option_names([option])
        alike = [each for each in self.options if in_one_spelling(each) == in_one_spelling(name)]
        if set(alike) & set(self.retired):
            raise InvalidInput(f"option {name!r} is there, but retired; restore it")
        if alike:
            raise InvalidInput(f"there is an option {name!r} already")
        size = len(self.options)
        arguments = {key: _extended(key, value, size) for key, value in from_plain(self.arguments).items()}
        return replace(self, arguments=to_plain(arguments), options=(*self.options, name))

    def known(self, option: object) -> str:
        """Return the option that a user names, as this study spells it."""
        name = validation.known_name(option, self.options)
        if name is None:
            raise NotFound(f"no option {option!r}; in use are {_listed(self.in_use)}; retired: {_listed(self.retired)}")
        return name


def _extended(key: str, value: Any, size: int) -> Any:
    """Return an argument for one more option: as the others where all are alike, else uncapped or without weight."""
    if key == "hold" and value is not None:
        weights, rounds = value
        return [*np.asarray(weights).tolist(), 0.0], rounds
    if not isinstance(value, np.ndarray) or size not in value.shape:
        return value
    if value.shape != (size,):
        raise Unsupported(
            f"an option cannot be added while {key} is given option by option; "
            "fork the study with a learner for all options"
        )
    if key == "max_weight":
        return np.append(value, value[0] if (value == value[0]).all() else 1.0)
    return np.append(value, 0.0)


def _as_learner(names: tuple[str, ...], learner: object) -> Learner:
    if isinstance(learner, Learner):
        return learner
    if isinstance(learner, Allocator):
        return learner.learner
    if isinstance(learner, Mapping):
        return described_learner(names, learner)
    raise InvalidInput(
        "learner must be a covbandit learner, an allocator, or a mapping such as "
        f"{{'feedback': 'all', 'risk_aversion': 0.4}}, got {type(learner).__name__}"
    )


def described_learner(names: tuple[str, ...], description: Mapping[str, Any]) -> Learner:
    """Return the learner that plain data describes, as it comes from the command line or over HTTP.

    Either ``{"class": "PairUCB", **arguments}`` or, for the default one, ``{"feedback": "chosen", **arguments}``
    with the arguments of `covbandit.allocator`. Only learners of this package can be named.

    Raises
    ------
    InvalidInput
        If class or arguments are not known, or refused by the learner.
    """
    given = {str(key): value for key, value in description.items()}
    if ("class" in given) == ("feedback" in given):
        raise InvalidInput(
            'learner needs either "class" (a learner\'s name) or "feedback" ("all", "chosen" or "total", '
            f"for the default learner), got {sorted(given)}"
        )
    for key in ("options", "n_options"):
        if key in given:
            raise InvalidInput(f"learner: leave {key} out, the study names its options")
    if "feedback" in given:
        _require_known(allocator, "the default learner", given)
        return allocator(list(names), **given).learner
    name = given.pop("class")
    known = learner_classes()
    if not isinstance(name, str) or name not in known:
        raise InvalidInput(f"unknown learner class {name!r}; known are {', '.join(known)}")
    _require_known(known[name], name, given)
    return known[name](n_options=len(names), options=names, **given)


def _require_known(make: Callable[..., Any], name: str, given: Mapping[str, Any]) -> None:
    """Refuse arguments that are not known, and say which are missing."""
    parameters = {key: each for key, each in signature(make).parameters.items() if key not in ("options", "n_options")}
    unknown = [key for key in given if key not in parameters]
    if unknown:
        raise InvalidInput(
            f"learner: {name} has no argument {_listed(unknown)}; it takes {', '.join(sorted(parameters))}"
        )
    missing = [key for key, each in parameters.items() if each.default is each.empty and key not in given]
    if missing:
        raise InvalidInput(f"learner: {name} needs {_listed(missing)}")


def as_option_names(options: object) -> tuple[str, ...]:
    """Return distinct names of options, each printable and not too long."""
    names = validation.as_options(options, None)  # type: ignore[arg-type]
    if not names:
        raise InvalidInput(f"options must name at least one option, got {options!r}")
    for name in names:
        as_name(name, "option name")
    return names


def as_name(value: object, what: str, in_address: bool = False) -> str:
    """Return a name that a user gave, fit to be shown, stored and, if need be, part of an address.

    What is part of an address comes back in one spelling, so that no two of them look the same.
    """
    if in_address and isinstance(value, str):
        value = in_one_spelling(value)
    if not isinstance(value, str) or not value:
        raise InvalidInput(f"{what} must be text, got {value!r}")
    if len(value) > LONGEST_NAME:
        raise InvalidInput(f"{what} must have at most {LONGEST_NAME} characters, got {len(value)}: {value[:40]!r}...")
    if not value.isprintable() or value != value.strip():
        raise InvalidInput(f"{what} must be printable, without blanks at its ends, got {value!r}")
    if in_address and ("/" in value or "\\" in value or value in (".", "..")):
        raise InvalidInput(f"{what} must not contain / or \\, nor be . or .., since it is part of addresses: {value!r}")
    return value


def _listed(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names) or "none"
