"""Returns of options over periods: the history from which problems and environments are built."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from covbandit.core import validation
from covbandit.core.tables import Table, as_number, data_frame
from covbandit.core.typing import F64
from covbandit.data.periods import period_label, require_distinct, require_filled
from covbandit.data.selection import as_known, is_among
from covbandit.errors import InvalidInput
from covbandit.problems.problem import Problem

if TYPE_CHECKING:
    import pandas as pd

Unit = Literal["fraction", "percent"]

_NAMED = 6  # so many options are named in titles; of more, only the number


@dataclass(frozen=True, eq=False, repr=False)
class Returns:
    """What each option returned in each period.

    Parameters
    ----------
    values : array, n × d
        One row per period (round), one column per option. Every value is there: readers drop or refuse missing ones.
    options : sequence of str
        Names of the columns.
    index : sequence of str, optional
        Labels of the rows, for example dates; by default 1 to n.
    unit : {"fraction", "percent"}
        .05 or 5 for five percent. Risk aversion has the inverse unit: ρ = .1 for percent is ρ = 10 for fractions.
    source : str
        Where they come from, for titles.
    notes : sequence of str
        What the reader did to get here, for example how many rounds it dropped.

    Examples
    --------
    >>> import covbandit as cb
    >>> r = cb.data.Returns([[0.01, 0.03], [0.02, -0.01], [0.03, 0.01]], options=["bonds", "stocks"])
    >>> r
    Returns(3 rounds of bonds, stocks; fraction; 1 to 3)
    >>> r.to_percent().mean.round(6).tolist()
    [2.0, 1.0]
    >>> r.to_percent().problem(risk_aversion=0.1).optimum().weights.round(3).tolist()
    [1.0, 0.0]
    """

    values: F64
    options: tuple[str, ...]
    index: tuple[str, ...] = ()
    unit: Unit = "fraction"
    source: str = ""
    notes: tuple[str, ...] = ()

    if TYPE_CHECKING:

        def __init__(
            self,
            values: ArrayLike,
            options: Sequence[str],
            index: Sequence[str] = (),
            unit: str = "fraction",
            source: str = "",
            notes: Sequence[str] = (),
        ) -> None: ...

    def __post_init__(self) -> None:
        values = validation.as_array(self.values, "returns", 2, yes_no=False)
        n, d = values.shape
        if n < 2 or d < 1:
            raise InvalidInput(
                f"returns need at least two rows (periods) and one column (option), got {n} × {d}: a covariance "
                "cannot be had from less"
            )
        options = validation.as_options(_as_list(self.options, "options"), d) or ()
        labels = _as_list(self.index, "index") or [str(k + 1) for k in range(n)]
        index = tuple(period_label(label) for label in labels)
        if len(index) != n:
            raise InvalidInput(f"index must label {n} rows, got {len(index)} labels")
        require_filled(index, lambda k: f"index, row {k + 1}")
        require_distinct(index, lambda k: f"row {k + 1}")
        bad = ~(np.abs(values) <= validation.LARGEST)
        if bad.any():
            row, column = (int(k) for k in np.argwhere(bad)[0])
            raise InvalidInput(
                f"{validation.label(column, options)}: the return of {index[row]!r} is {values[row, column]}, which is "
                f"not finite or beyond ±{validation.LARGEST:g}; drop such rows"
            )
        values.setflags(write=False)
        for name, value in {
            "values": values,
            "options": options,
            "index": index,
            "unit": as_unit(self.unit),
            "source": str(self.source),
            "notes": tuple(str(note) for note in _as_list(self.notes, "notes")),
        }.items():
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        source = f"; {self.source}" if self.source else ""
        return f"Returns({len(self):,} rounds of {self._named()}; {self.unit}; {self._span()}{source})"

    def __str__(self) -> str:
        return "\n".join([repr(self), *(f"note: {note}" for note in self.notes)])

    def _named(self) -> str:
        return ", ".join(self.options) if len(self.options) <= _NAMED else f"{len(self.options):,} options"

    def _span(self) -> str:
        return f"{self.index[0]} to {self.index[-1]}"

    @property
    def n_options(self) -> int:
        """The number of options d."""
        return len(self.options)

    @cached_property
    def _moments(self) -> tuple[F64, F64]:
        moments = mean_and_covariance(self.values)
        for array in moments:
            array.setflags(write=False)
        return moments

    @property
    def mean(self) -> F64:
        """The mean of each option."""
        return self._moments[0]

    @property
    def covariance(self) -> F64:
        """The covariance of the options, dividing by n."""
        return self._moments[1]

    def summary(self) -> Table:
        """Return mean, standard deviation (dividing by n) and range of every option, and what the reader noted."""
        rows = [
            [name, float(mean), float(np.sqrt(variance)), float(column.min()), float(column.max())]
            for name, mean, variance, column in zip(
                self.options, self.mean, self.covariance.diagonal(), self.values.T, strict=True
            )
        ]
        lines = [
            f"{len(self):,} returns in {self.unit}, {self._span()}" + (f", {self.source}" if self.source else ""),
            f"largest variance (variance_bound): {as_number(float(self.covariance.diagonal().max()), 6)}",
            *self.notes,
        ]
        return Table(["option", "mean", "sd", "min", "max"], rows, "\n".join(lines))

    def select(self, options: Sequence[str]) -> Returns:
        """Return the columns of some options, in the order given."""
        names = as_known(options, self.options, "option", "these returns")
        return self._changed(values=self.values[:, [self.options.index(name) for name in names]], options=names)

    def to_percent(self) -> Returns:
        """Return the same in percent."""
        return self if self.unit == "percent" else self._changed(values=100 * self.values, unit="percent")

    def to_fraction(self) -> Returns:
        """Return the same as fractions."""
        return self if self.unit == "fraction" else self._changed(values=self.values / 100, unit="fraction")

    def _changed(self, **changes: Any) -> Returns:
        kept = {"options": self.options, "index": self.index, "unit": self.unit}
        return Returns(**{**kept, "source": self.source, "notes": self.notes, **changes})

    def problem(
        self,
        risk_aversion: float,
        min_weight: float | None = None,
        max_weight: ArrayLike | None = None,
        name: str | None = None,
    ) -> Problem:
        """Return the problem whose mean and covariance are those of this history, dividing by n.

        Parameters
        ----------
        risk_aversion : float
            ρ, per unit of these returns: the mean given up per unit of variance.
        min_weight, max_weight : optional
            See `Problem`.
        name : str, optional
            A title; by default one that says what the problem was fitted to.
        """
        source = f", {self.source}" if self.source else ""
        return Problem(
            mean=self.mean,
            covariance=self.covariance,
            risk_aversion=risk_aversion,
            min_weight=min_weight,
            max_weight=max_weight,
            options=self.options,
            name=name or f"fitted to {len(self):,} returns ({self.unit}, {self._span()}) of {self._named()}{source}",
        )

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame: periods as its index, options as its columns."""
        frame = data_frame({name: self.values[:, k] for k, name in enumerate(self.options)})
        frame.index = frame.index.map(dict(enumerate(self.index)))
        return frame

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers and strings; ``Returns(**d)`` undoes it."""
        return {
            "values": self.values.tolist(),
            "options": list(self.options),
            "index": list(self.index),
            "unit": self.unit,
            "source": self.source,
            "notes": list(self.notes),
        }

    @cached_property
    def sha256(self) -> str:
        """A digest of the values and the options' names: two histories with the same one give the same numbers."""
        digest = hashlib.sha256(repr((self.values.shape, self.options)).encode())
        digest.update(self.values.astype("<f8").tobytes())
        return digest.hexdigest()


def mean_and_covariance(values: F64) -> tuple[F64, F64]:
    """Return the mean and the covariance of rows, both dividing by n."""
    # Seen from the first row, so that an option that never changes has no variance at all instead of rounding.
    first = values[0].copy()
    away = values - first
    shift = away.mean(axis=0)
    away -= shift
    covariance = away.T @ away / len(values)
    return first + shift, np.ascontiguousarray((covariance + covariance.T) / 2)


def as_unit(value: object) -> Unit:
    """Return "fraction" or "percent"."""
    if not is_among(value, ("fraction", "percent")):
        raise InvalidInput(f'unit must be "fraction" (.05) or "percent" (5), got {value!r}')
    return "fraction" if value == "fraction" else "percent"


def _as_list(value: Any, name: str) -> list[Any]:
    # A string could be iterated over too, letter by letter.
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise InvalidInput(f"{name} must be a list of strings, got {value!r}")
    return list(value)
