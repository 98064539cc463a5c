"""Amounts sum exactly, and none is further than a step from its share."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covbandit.errors import InvalidInput
from covbandit.studies import allocate

WEIGHTS = st.lists(st.floats(0, 1), min_size=1, max_size=12).filter(lambda found: sum(found) > 0.01)


@given(
    WEIGHTS,
    st.integers(0, 10**9),
    st.sampled_from([1, 5, 100, 0.01, 0.25, Decimal("0.001"), np.int64(3), np.float64(0.5)]),
)
def test_amounts_sum_exactly(weights: list[float], units: int, step: Any) -> None:
    named = {f"option {k}": weight / sum(weights) for k, weight in enumerate(weights)}
    unit = Decimal(repr(float(step))) if isinstance(step, float) else Decimal(int(step) if step == int(step) else step)
    total = units * unit
    amounts = allocate(named, total, step)
    assert list(amounts) == list(named)
    assert sum(amounts.values()) == total
    whole = sum(map(Fraction, named.values()))
    for name, amount in amounts.items():
        assert amount % unit == 0
        assert abs(Fraction(amount) - Fraction(named[name]) / whole * Fraction(total)) < Fraction(unit)
        assert amount == 0 or named[name] > 0


def test_whole_steps_give_whole_numbers() -> None:
    amounts = allocate({"a": 0.3, "b": 0.3, "c": 0.4}, 10_000.0, 1.0)
    assert amounts == {"a": 3000, "b": 3000, "c": 4000}
    assert all(type(amount) is int for amount in amounts.values())
    cents = allocate({"a": 1 / 3, "b": 2 / 3}, 100, 0.01)
    assert cents == {"a": Decimal("33.33"), "b": Decimal("66.67")}


@pytest.mark.parametrize(
    ("total", "step", "said"),
    [
        (100, 30, "allocate 90 or 120, or take a finer step"),
        (-1, 1, "must not be negative"),
        (1, 0, "step must be positive"),
        (float("nan"), 1, "must be finite"),
        ("100", 1, "must be a number"),
        (True, 1, "must be a number"),
    ],
)
def test_what_cannot_be_split(total: Any, step: Any, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        allocate({"a": 0.5, "b": 0.5}, total, step)
