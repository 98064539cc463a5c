"""Why these weights: what a learner believes of each option, and what each contributes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from covbandit.core import validation
from covbandit.core.tables import Table, as_text, data_frame
from covbandit.core.typing import F64
from covbandit.errors import InvalidInput

if TYPE_CHECKING:
    import pandas as pd

Known = tuple[float | None, ...]

STANDARD_ERROR = "standard error of the mean"

_ROUNDING = 1e-12  # a variance no further below zero than this share of its terms is zero


@dataclass(frozen=True, eq=False)
class Estimates:
    """What a learner believes: the answer of its hook ``_estimates``.

    None stands for what it does not know at all; an entry that is not finite for what it does not know of one option,
    or of one pair.

    Attributes
    ----------
    mean : array of d floats or None
        θ̂.
    covariance : array, d × d, or None
        Σ̂, as the learner itself uses it.
    width : array of d floats or None
        How far off each option's mean may be.
    width_kind : str
        What the width is, in words.
    """

    mean: ArrayLike | None = None
    covariance: ArrayLike | None = None
    width: ArrayLike | None = None
    width_kind: str = "unknown"

    @classmethod
    def from_moments(
        cls, mean: F64, scatter: F64, n: float, squares: float | None = None, width_kind: str = STANDARD_ERROR
    ) -> Self:
        """Return empirical moments, Σ̂ = scatter / n, with standard errors from variances divided by n - 1.

        Risk and standard errors are unknown before the second observation: a Σ̂ of zero is not an estimate.

        Parameters
        ----------
        mean, scatter : ndarray
            As in `covbandit.kernels.moments`.
        n : float
            The number of observations; if they have weights, the sum of these.
        squares : float, optional
            The sum of the squared weights, if observations have weights.
        width_kind : str
            What the standard errors are, in words.
        """
        if squares is None:
            squares = n
        if n == 0:
            return cls(width_kind=width_kind)
        if not n * n > squares:
            return cls(mean, width_kind=width_kind)
        # The scatter is expected to be n - squares/n times the variance, and the mean's variance is the share
        # squares/n² of it. Without weights these are the usual n - 1 and 1/n.
        width = np.sqrt(scatter.diagonal() * (squares / (n * (n * n - squares))))
        return cls(mean, scatter / n, width, width_kind)


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    r"""Why a learner proposes its weights, made by `Learner.explain`.

    ``print(explanation)`` shows a table, one row per option. Whatever is unknown is None, printed as a dash. An unknown
    option without weight does not make the totals unknown.

    Attributes
    ----------
    learner : str
        The kind of learner.
    rounds : int
        Rounds told so far.
    options : tuple
        The options' names, or their indices if they have none.
    weights : ndarray
        What `Learner.ask` proposes now.
    mean : float or None
        The estimated mean of these weights, :math:`w'\hat θ`.
    variance : float or None
        Their estimated risk, :math:`w'\hat Σw`.
    mean_contributions : tuple of float or None
        :math:`w_i \hat θ_i` of each option; they sum to the mean.
    risk_contributions : tuple of float or None
        :math:`w_i (\hat Σw)_i` of each option; they sum to the variance. A negative one hedges the others.
    counts : tuple of numbers
        How often each option has been observed (with forgetting: the effective number).
    widths : tuple of float or None
        How far off each option's estimated mean may be.
    width_kind : str
        What these widths are, in words.
    """

    learner: str
    rounds: int
    options: tuple[str | int, ...]
    weights: F64
    mean: float | None
    variance: float | None
    mean_contributions: Known
    risk_contributions: Known
    counts: tuple[float, ...]
    widths: Known
    width_kind: str

    @property
    def standard_deviation(self) -> float | None:
        """The root of the variance; None if that is unknown, or negative as a patchwork of estimates can be."""
        return None if self.variance is None or self.variance < 0 else float(np.sqrt(self.variance))

    def table(self) -> Table:
        """Return the table that is printed."""
        columns = self._columns()
        told = f"{self.rounds:,} round{'' if self.rounds == 1 else 's'} told"
        return Table(
            [name.replace("_", " ") for name in columns],
            list(zip(*columns.values(), strict=True)),
            f"{self.learner}, {told}\n"
            f"estimated mean {as_text(self.mean)}, variance {as_text(self.variance)}, "
            f"standard deviation {as_text(self.standard_deviation)}\n"
            f"width: {self.width_kind}",
        )

    def __str__(self) -> str:
        return str(self.table())

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, strings, None and lists; the table's columns are in ``"by_option"``."""
        return {
            "learner": self.learner,
            "rounds": self.rounds,
            "mean": self.mean,
            "variance": self.variance,
            "standard_deviation": self.standard_deviation,
            "width_kind": self.width_kind,
            "by_option": self._columns(),
        }

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame, one row per option; what is unknown is NaN.

        Raises
        ------
        MissingExtra
            If pandas is not installed.
        """
        return data_frame(
            {name: [np.nan if v is None else v for v in values] for name, values in self._columns().items()}
        )

    def to_markdown(self) -> str:
        """Return the table in Markdown."""
        return self.table().to_markdown()

    def to_latex(self) -> str:
        """Return the table as a LaTeX tabular, with booktabs rules."""
        return self.table().to_latex()

    def _columns(self) -> dict[str, list[Any]]:
        return {
            "option": list(self.options),
            "weight": self.weights.tolist(),
            "mean_contribution": list(self.mean_contributions),
            "risk_contribution": list(self.risk_contributions),
            "count": list(self.counts),
            "width": list(self.widths),
        }


def explain(
    learner: str, rounds: int, options: tuple[str, ...] | None, weights: F64, counts: F64, estimates: Estimates
) -> Explanation:
    """Work out what each option contributes to the mean and the risk of the weights."""
    d = weights.size
    theta = _of_shape(estimates.mean, "estimated mean", (d,))
    sigma = _of_shape(estimates.covariance, "estimated covariance", (d, d))
    width = _of_shape(estimates.width, "width", (d,))
    held = weights > 0
    means = weights * theta + 0.0  # no negative zeros
    risks = np.where(np.isnan(sigma.diagonal()), np.nan, 0.0)
    terms = np.outer(weights[held], weights[held]) * sigma[np.ix_(held, held)]
    risks[held] = terms.sum(axis=1)
    variance = float(risks[held].sum())
    if -_ROUNDING * np.abs(terms).sum() <= variance < 0:
        variance = 0.0
    weights.flags.writeable = False
    whole = bool((counts == np.floor(counts)).all())
    return Explanation(
        learner=learner,
        rounds=rounds,
        options=tuple(range(d)) if options is None else options,
        weights=weights,
        mean=_known(means[held].sum()),
        variance=_known(variance),
        mean_contributions=tuple(map(_known, means)),
        risk_contributions=tuple(map(_known, risks)),
        counts=tuple(counts.astype(int).tolist() if whole else counts.tolist()),
        widths=tuple(map(_known, width)),
        width_kind=estimates.width_kind,
    )


def _of_shape(value: ArrayLike | None, name: str, shape: tuple[int, ...]) -> F64:
    """Return an array of the learner's estimates, with NaN for what is unknown."""
    if value is None:
        return np.full(shape, np.nan)
    array = validation.as_array(value, name, len(shape))
    if array.shape != shape:
        raise InvalidInput(f"{name} must be of shape {shape}, got {array.shape}")
    array[~np.isfinite(array)] = np.nan
    return array


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
