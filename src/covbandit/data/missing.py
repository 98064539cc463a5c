"""The rule for missing values: rounds without them are kept whole, the others dropped or refused. Never zeros."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from covbandit.data.names import is_among
from covbandit.errors import InvalidInput

Missing = Literal["drop", "raise"]


def keep_complete(
    values: NDArray[np.float64],
    missing: Missing,
    describe: Callable[[int, int], str],
    labels: Sequence[str],
    what: str,
    way_out: str,
) -> tuple[NDArray[np.bool_], tuple[str, ...]]:
    """Return which rows have every value, and a note if some do not.

    Parameters
    ----------
    values : array, n × d
        NaN where a value is missing.
    missing : {"drop", "raise"}
        Whether rows with a missing value are dropped or refused.
    describe : callable
        Says which value is missing, given its row and column.
    labels : sequence of str
        Names of the columns.
    what, way_out : str
        What rows are called, and what the user may do, for messages.
    """
    if not is_among(missing, ("drop", "raise")):
        raise InvalidInput(f'missing must be "drop" or "raise", got {missing!r}')
    gaps = np.isnan(values)
    complete = np.asarray(~gaps.any(axis=1))
    if complete.all():
        return complete, ()
    row, column = (int(k) for k in np.argwhere(gaps)[0])
    if missing == "raise":
        raise InvalidInput(f"{describe(row, column)}; {way_out}")
    worst = int(gaps.sum(axis=0).argmax())
    note = (
        f"{int((~complete).sum()):,} of {len(values):,} {what} dropped, because a value is missing: first, "
        f"{describe(row, column)}; most often of {labels[worst]!r} ({int(gaps[:, worst].sum()):,})"
    )
    return complete, (note,)
