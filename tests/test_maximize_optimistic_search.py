"""The optimistic maximiser's search: it claims no proof, uses a warm start, repeats itself and needs little memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from covbandit.maximization import maximize_optimistic
from optimistic_checks import assert_sound, certify, rounding, value
from optimistic_programs import OptimisticProgram, indefinite, random_weights, seeded_program, seeded_programs


@settings(max_examples=150)
@given(seeded_programs(1, 12), st.integers(0, 2**32 - 1))
def test_the_search_proves_nothing_and_says_so(program, seed):
    fast = maximize_optimistic(*program)
    assert_sound(program, fast)
    assert not fast.certified
    assert fast.certificate == fast.upper_bound == np.inf
    assert fast.method == "search"
    assert fast.nodes == 0
    # Single options and equal weights of pairs are among the points that it has seen.
    assert fast.utility >= max(value(program, e) for e in np.eye(len(program.mean))) - rounding(program, fast.weights)
    rows = random_weights(program, np.random.default_rng(seed), 20)
    for row in rows:
        row /= row.sum()
        warm = maximize_optimistic(*program, start=row)
        assert_sound(program, warm)
        if (row[row > 0] >= (program.c or 0.0)).all():
            assert warm.utility >= value(program, row) - rounding(program, row)


@settings(max_examples=80)
@given(seeded_programs(1, 9))
def test_a_warm_start_never_hurts(program):
    cold = maximize_optimistic(*program)
    warm = maximize_optimistic(*program, start=cold.weights)
    assert warm.utility >= cold.utility - rounding(program, cold.weights)
    proven = certify(program, node_limit=2_000, start=cold.weights)
    assert proven.utility >= cold.utility - rounding(program, cold.weights)


def test_a_start_off_the_set_is_ignored():
    program = seeded_program(np.random.default_rng(8), 5, 0.3, "psd", "indefinite")
    cold = maximize_optimistic(*program)
    warm = maximize_optimistic(*program, start=np.full(5, 0.2))
    assert_array_equal(warm.weights, cold.weights)


@settings(max_examples=60)
@given(seeded_programs(1, 9), st.booleans())
def test_the_same_input_gives_the_same_answer_and_is_left_alone(program, certified):
    arrays = [np.array(a) for a in program[:3]]
    for array in arrays:
        array.setflags(write=False)
    first, again = (
        maximize_optimistic(*arrays, program.rho, program.c, certified=certified, node_limit=500) for _ in range(2)
    )
    assert_array_equal(first.weights, again.weights)
    assert (first.utility, first.certificate, first.nodes) == (again.utility, again.certificate, again.nodes)
    for array, before in zip(arrays, program[:3], strict=True):
        assert_array_equal(array, before)


@pytest.mark.parametrize("c", [None, 0.02, 0.1, 0.6])
def test_a_hundred_options_need_little_memory(c):
    rng = np.random.default_rng(100)
    program = OptimisticProgram(rng.standard_normal(100), indefinite(rng, 100), indefinite(rng, 100), 1.0, c)
    tracemalloc.start()
    try:
        for optimum in (maximize_optimistic(*program), certify(program, node_limit=100)):
            assert_sound(program, optimum)
        assert tracemalloc.get_traced_memory()[1] < 50e6
    finally:
        tracemalloc.stop()
