"""Numbers that cannot be meant: prices given as returns, returns as prices, percent as fractions and the reverse.

A wrong kind or unit gives wrong weights without a word, so what no investment ever did is refused. The rules look at
magnitudes alone, with r a return as a fraction (.05 for five percent):

1. *A return of -100 % or less.* Nothing is left to lose after it. Percent read as fractions break this as soon as some
   round lost one percent.
2. *More money than there is.* One unit, reinvested, would have become more than 10^15; the best of real histories
   reached some 10^8. Prices read as returns break this within a few hundred rounds.
3. *Gains only, and huge.* Every return of an option is positive, and they are above 100 % on average; or they hardly
   change from round to round, as the level of a price does, and are above 20 % a round, or threefold a year. Or no
   option of the table loses in any of fifteen rounds or more, at gains above 10 % a round on average.
4. *Wilder than anything.* The options' typical (median) standard deviation is above 1,000 % a year; wild single stocks
   have 100 %. Where the labels do not tell how long a round is: above 300 % a round. Returns read as prices break this.
5. *Calmer than cash.* Returns said to be in percent lose and win by turns (at least a tenth of them are losses), but
   the options' typical standard deviation is below .6 % a year (.35 % if there is one option only), or .05 % a round
   where its length is not known. Shares have 10 to 60 % a year, bonds 3 to 10 %: fractions read as percent have a
   hundredth of it. Of the funds in the paper's file, the calmest that ever lost has .44 %. A table of nothing but
   overnight deposits may break this rule rightly.

Rules 4 and 5 take the median over options, so that neither a single cash account nor a single wild share decides, and
ask for three rounds. Rounds shorter than a minute count as minutes. No rule refuses daily, weekly, monthly, quarterly
or yearly returns of the histories that skfolio carries, nor those of any fund in the paper's file.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log, log1p, sqrt
from typing import Literal

import numpy as np

from covbandit.core.typing import F64
from covbandit.core.validation import LARGEST
from covbandit.errors import InvalidInput

_MOST_GROWTH = 15.0  # decimal digits
_HUGE = 1.0
_LEVEL = 0.2
_SURE = log(3)  # a year
_MANY, _GAINS = 15, 0.1
_SMOOTH = 0.1  # median relative change from round to round
_WILD_YEAR, _WILD_ROUND = 10.0, 3.0
_CALM_YEAR, _CALM_ALONE, _CALM_ROUND = 0.006, 0.0035, 0.0005
_LOSSES = 0.1
_MINUTES = 525_960  # of a year
_FEW = 3  # rounds below which a standard deviation says nothing


def require_plausible(
    values: F64,
    names: Sequence[str],
    labels: Sequence[str],
    kind: Literal["returns", "prices"],
    unit: str,
    per_year: float | None,
    source: str,
    unchecked: str = "check=False",
) -> None:
    """Raise, with the way out, if returns cannot be meant as they are read.

    Parameters
    ----------
    values : array, n × d
        Returns as fractions.
    names, labels : sequence of str
        Of the options and of the rounds.
    kind, unit : str
        As what they were read; prices have been turned into returns.
    per_year : float or None
        How many rounds a year has, if it is known.
    source : str
        Where they come from.
    unchecked : str
        How the user says that they are right as they are.
    """
    if not (np.abs(values) <= LARGEST).all():
        return  # refused, by its name, when it becomes Returns
    end = f"; if they are right as they are, say {unchecked}"
    if kind == "prices":
        _require_tame(values, per_year, f"{source}, read as prices", f'if these are returns, say kind="returns"{end}')
        return
    other = 'unit="percent"' if unit == "fraction" else 'unit="fraction"'
    given = f"{source}, read as returns in {unit}"
    for k, name in enumerate(names):
        _require_no_price(values[:, k], per_year, f"{given}: {name!r}", other if unit == "fraction" else "", end)
    if len(values) >= _MANY and (values > 0).all() and values.mean() > _GAINS:
        raise InvalidInput(
            f"{given}: no option loses in any of {len(values):,} rounds, and they gain {100 * values.mean():,.4g} % a "
            f'round on average; if these are prices, say kind="prices"{end}'
        )
    lost = values <= -1
    if lost.any():
        row, column = (int(k) for k in np.argwhere(lost)[0])
        way = f"; if it is in percent, say {other}" if unit == "fraction" else ""
        raise InvalidInput(
            f"{given}: the return of {names[column]!r} in {labels[row]!r} is {100 * values[row, column]:,.4g} %, and "
            f"nobody can lose more than everything{way}{end}"
        )
    growth = np.log10(1 + values).sum(axis=0)
    if growth.max() > _MOST_GROWTH:
        column = int(np.argmax(growth))
        raise InvalidInput(
            f"{given}: one unit of {names[column]!r} would have become 10^{growth[column]:,.0f}, more than there is; "
            f'if these are prices, say kind="prices"{f", if percent, {other}" if unit == "fraction" else ""}{end}'
        )
    _require_tame(
        values, per_year, given, f"if they are in percent, say {other}{end}" if unit == "fraction" else end[2:]
    )
    if unit == "percent":
        _require_movement(values, per_year, given, f"if these are fractions, say {other}{end}")


def _require_no_price(values: F64, per_year: float | None, given: str, other: str, end: str) -> None:
    if not (values > 0).all():
        return
    smooth = np.median(np.abs(np.diff(values)) / values[:-1]) < _SMOOTH
    level = float(np.median(values))
    sure = level > _LEVEL or log1p(level) * (per_year or 0.0) > _SURE
    if values.mean() > _HUGE or (smooth and sure):
        raise InvalidInput(
            f"{given} gains {100 * values.mean():,.4g} % a round on average and never loses; if these are prices, say "
            f'kind="prices"{f", if they are in percent, {other}" if other else ""}{end}'
        )


def _deviation(values: F64, per_year: float | None) -> float:
    """Return the options' median standard deviation, a year if its length is known, else a round."""
    return float(np.median(values.std(axis=0))) * (1.0 if per_year is None else sqrt(min(per_year, _MINUTES)))


def _require_tame(values: F64, per_year: float | None, given: str, end: str) -> None:
    found = _deviation(values, per_year)
    if len(values) >= _FEW and found > (_WILD_ROUND if per_year is None else _WILD_YEAR):
        raise InvalidInput(
            f"{given}: the options' typical standard deviation is {100 * found:,.0f} % a "
            f"{'round' if per_year is None else 'year'}, wilder than anything that is traded; {end}"
        )


def _require_movement(values: F64, per_year: float | None, given: str, end: str) -> None:
    n, d = values.shape
    found = _deviation(values, per_year)
    calm = found < (_CALM_ROUND if per_year is None else _CALM_YEAR if d > 1 else _CALM_ALONE)
    if n >= _FEW and calm and (values < 0).mean() >= _LOSSES:
        raise InvalidInput(
            f"{given}: the options' typical standard deviation is {100 * found:.2g} % a "
            f"{'round' if per_year is None else 'year'}, calmer than cash, though they win and lose by turns; {end}"
        )
