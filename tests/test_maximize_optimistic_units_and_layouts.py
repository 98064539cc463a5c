"""Units, a common offset of the rewards, types and memory layouts do not change what the optimistic maximiser finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from covbandit.maximization import maximize_optimistic
from optimistic_checks import certify, rounding, unit, value
from optimistic_programs import OptimisticProgram, seeded_programs

SCALES = st.sampled_from([1e-8, 1e-4, 1.0, 1e4, 1e8])


@settings(max_examples=80)
@given(seeded_programs(1, 6), SCALES)
def test_units_do_not_matter(program, scale):
    mean, bonus, risk, rho, c = program
    plain = certify(program, node_limit=5_000)
    scaled = certify(OptimisticProgram(scale * mean, scale**2 * bonus, scale * risk, rho, c), node_limit=5_000)
    slack = rounding(program, plain.weights) + plain.tolerance
    if plain.certified and scaled.certified:
        assert scaled.utility / scale == pytest.approx(plain.utility, abs=slack)
    assert scaled.certified == plain.certified or plain.nodes > 2_000
    fast, same = (maximize_optimistic(*p) for p in (program, (scale * mean, scale**2 * bonus, scale * risk, rho, c)))
    assert same.utility / scale == pytest.approx(fast.utility, abs=1e-8 * unit(program) + slack)


@settings(max_examples=80)
@given(seeded_programs(2, 6), st.sampled_from([-(2.0**27), 2.0**27]))
def test_a_common_offset_of_rewards_costs_no_digits(program, offset):
    mean = np.round(program.mean * 2**20) / 2**20  # so that adding the offset does not round
    near = program._replace(mean=mean)
    far = program._replace(mean=mean + offset)
    for certified in (False, True):
        a, b = (maximize_optimistic(*p, certified=certified, node_limit=5_000) for p in (near, far))
        assert value(near, b.weights) == pytest.approx(
            value(near, a.weights), abs=2 * a.tolerance + 1e-11 * unit(near) + rounding(near, a.weights)
        )
        assert b.utility == pytest.approx(offset + a.utility, abs=1e-7 + a.tolerance)
    if a.certified:
        assert b.certificate <= 2e-9 * unit(near) + rounding(near, a.weights)


def test_other_types_and_layouts():
    mean, bonus, risk = [1, 2, 3], [[4, 1, 0], [1, 3, -1], [0, -1, 5]], [[1, 0, 2], [0, -2, 1], [2, 1, 3]]
    expected = maximize_optimistic(np.array(mean, float), np.array(bonus, float), np.array(risk, float), 1.0, 0.2)
    for kind in (np.int64, np.float32):
        for order in "CF":
            again = maximize_optimistic(
                np.array(mean, kind), np.array(bonus, kind, order=order), np.array(risk, kind, order=order), 1, 0.2
            )
            assert_array_equal(again.weights, expected.weights)
    slightly = np.array(bonus, float)
    slightly[0, 1] += 1e-15
    assert_allclose(maximize_optimistic(mean, slightly, risk, 1, 0.2).weights, expected.weights, atol=1e-9)
