"""From weights to amounts that sum exactly."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from math import floor

import numpy as np

from covbandit.errors import InvalidInput

Amount = int | Decimal


def allocate(
    weights: Mapping[str, float], total: int | float | Decimal, step: int | float | Decimal
) -> dict[str, Amount]:
    """Split a total by weights into whole multiples of a step, by largest remainders; ties go to the first option.

    Every amount is within one step of its share, options without weight get nothing, and the sum is exact: whole
    numbers if the step is one, else decimals.

    Raises
    ------
    InvalidInput
        If the total is negative or no multiple of the step.
    """
    whole, unit = _exact(total, "total"), _exact(step, "step")
    if unit <= 0:
        raise InvalidInput(f"step must be positive, got {step}: the smallest amount that can be moved")
    if whole < 0:
        raise InvalidInput(f"total must not be negative, got {total}")
    units, rest = divmod(whole, unit)
    if rest:
        raise InvalidInput(
            f"total {total} is no multiple of step {step}, so amounts cannot sum to it; "
            f"allocate {_amount(units, step)} or {_amount(units + 1, step)}, or take a finer step"
        )
    sum_of_weights = sum(Fraction(weight) for weight in weights.values())
    shares = {name: Fraction(weight) / sum_of_weights * units for name, weight in weights.items()}
    counts = {name: floor(share) for name, share in shares.items()}
    left = int(units) - sum(counts.values())
    for name in sorted(shares, key=lambda name: counts[name] - shares[name])[:left]:  # a stable sort: ties by order
        counts[name] += 1
    return {name: _amount(count, step) for name, count in counts.items()}


def _exact(value: object, name: str) -> Fraction:
    number = _decimal(value, name)
    if not number.is_finite():
        raise InvalidInput(f"{name} must be finite, got {value}")
    return Fraction(number)


def _decimal(value: object, name: str) -> Decimal:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise InvalidInput(f"{name} must be a number, got {value!r}")
    return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)  # 0.01 means a hundredth


def _amount(count: int, step: object) -> Amount:
    unit = _decimal(step, "step")
    return count * int(unit) if unit == unit.to_integral_value() else count * unit
