"""The classes and functions that a table names under `class` or `preset`, called with the table's values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from covbandit.errors import InvalidInput
from covbandit.specifications.catalogue import find
from covbandit.specifications.diagnostics import Mistakes
from covbandit.specifications.signatures import Parameter, parameters_of
from covbandit.specifications.sweep_tables import REFUSALS, Choice, blame, distinct, in_words
from covbandit.specifications.toml_positions import KeyPath


@dataclass(frozen=True)
class Maker:
    """A class or function that a table stands for.

    Attributes
    ----------
    make : callable
        The class or function.
    parameters : dict
        What it takes.
    wanted : type
        What it must make, or one of several.
    table : KeyPath
        Where the table stands.
    name : str
        What the file calls it; nothing if the table stands for it without naming it.
    where : KeyPath
        Where its name stands.
    """

    make: Callable[..., Any]
    parameters: dict[str, Parameter]
    wanted: type[Any] | tuple[type[Any], ...]
    table: KeyPath
    name: str = ""
    where: KeyPath = ()

    @property
    def refusals(self) -> tuple[type[Exception], ...]:
        """How it refuses values: what users wrote themselves may raise anything."""
        return (Exception,) if ":" in self.name else REFUSALS

    def built(self, choice: Choice, filled: Mapping[str, Any], mistakes: Mistakes) -> Any | None:
        """Return what it makes of the values; None, and a mistake is noted, if it refuses them or makes another thing.

        `filled` are values that come from elsewhere.
        """

        def build(values: Mapping[str, Any]) -> Any:
            return self.make(**{**filled, **values})

        try:
            made = build(choice.values)
        except self.refusals as error:
            cause = in_words(error)
            mistakes.add(blame(cause, choice, build, self.table, self.refusals), cause)
            return None
        if isinstance(made, self.wanted):
            return made
        wanted = self.wanted if isinstance(self.wanted, type) else self.wanted[0]
        mistakes.add(self.where, f"gives {type(made).__name__} instead of covbandit's {wanted.__name__}")
        return None


@dataclass(frozen=True)
class Registry:
    """What a table can name under one of its keys.

    Attributes
    ----------
    key : str
        The key under which it is named.
    what : str
        What to call one of them.
    known : dict
        Those of this package.
    wanted : type
        What they make, or one of several.
    fits : callable
        Returns True if something imported can be one.
    own : str
        What one of the user's own must be, for messages.
    """

    key: str
    what: str
    known: dict[str, Any]
    wanted: type[Any] | tuple[type[Any], ...]
    fits: Callable[[Any], bool]
    own: str

    def named(
        self, table: dict[str, Any], path: KeyPath, mistakes: Mistakes
    ) -> Iterator[tuple[Maker, dict[str, Any], dict[str, Any]]]:
        """Yield the one that a table names, or each of a list of them.

        Each comes with its name again, if there are several, to tell it apart, and with the rest of the table.
        """
        named, at = table[self.key], (*path, self.key)
        several = isinstance(named, list)
        if named == []:
            mistakes.add(at, f"names no {self.what}; name one, or several")
        rest = {other: value for other, value in table.items() if other != self.key}
        places = [(name, (*at, k)) for k, name in enumerate(named)] if several else [(named, at)]
        for name, where in distinct(places, mistakes):
            try:
                found = find(name, self.known, self.what)
                if not self.fits(found):
                    raise InvalidInput(f"is no {self.what}; one of your own {self.own}")
                maker = Maker(found, parameters_of(found), self.wanted, path, name, where)
            except InvalidInput as error:
                mistakes.add(where, str(error))
                continue
            yield maker, {self.key: name} if several else {}, rest
