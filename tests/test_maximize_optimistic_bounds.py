"""The upper bounds of the optimistic maximiser hold, and come down to what was found."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from covbandit.maximization import maximize_optimistic
from optimistic_checks import certify, rounding, unit, value
from optimistic_programs import MATRICES, optimistic_value, random_weights, seeded_program, seeded_programs


@settings(max_examples=150)
@given(seeded_programs(1, 8), st.integers(0, 2**32 - 1))
def test_no_feasible_weights_exceed_the_bound(program, seed):
    optimum = certify(program, node_limit=4_000)
    rows = random_weights(program, np.random.default_rng(seed), 200)
    values = optimistic_value(rows, *program[:4])
    best = rows[values.argmax()]
    assert values.max() <= optimum.upper_bound + rounding(program, best)
    # Nor do weights around the best ones.
    near = 0.999 * optimum.weights + 0.001 * rows
    near = near[((near == 0) | (near >= (program.c or 0.0))).all(axis=1)]
    if len(near):
        top = near[optimistic_value(near, *program[:4]).argmax()]
        assert value(program, top) <= optimum.upper_bound + rounding(program, top)


@settings(max_examples=60)
@given(seeded_programs(2, 7), st.sampled_from([1, 2, 3, 10, 60]))
def test_a_node_limit_ends_with_the_best_found_and_an_honest_bound(program, limit):
    full = certify(program, node_limit=50_000)
    short = certify(program, node_limit=limit)
    assert short.nodes <= limit
    slack = rounding(program, full.weights)
    assert short.upper_bound >= full.utility - slack
    assert short.upper_bound >= full.upper_bound - full.tolerance - slack
    assert short.utility >= maximize_optimistic(*program).utility - slack
    assert short.certified == (short.certificate <= short.tolerance)
    if short.nodes < limit - 1:
        assert short.certified


def test_a_node_limit_can_bind():
    program = seeded_program(np.random.default_rng(3), 10, 0.1, "crossed", "indefinite")
    short, full = certify(program, node_limit=20), certify(program)
    assert full.certified
    assert full.nodes > 20 >= short.nodes
    assert not short.certified
    assert short.upper_bound > full.upper_bound
    wide = certify(program, tolerance=2 * short.certificate / abs(short.utility), node_limit=20)
    assert wide.certified
    assert wide.nodes <= short.nodes


@pytest.mark.parametrize("kind", sorted(MATRICES))
def test_bounds_are_never_worse_than_the_largest_terms(kind):
    # max θ + √max A - min C needs no tree at all: whatever the node limit, nothing above it is worth returning.
    for seed in range(10):
        program = seeded_program(np.random.default_rng([seed, 99]), 6, 0.1, kind, "indefinite")
        trivial = program.mean.max() + np.sqrt(max(program.bonus.max(), 0)) - program.rho * program.risk.min()
        for limit in (1, 30):
            assert certify(program, node_limit=limit).upper_bound <= trivial + 1e-9 * unit(program)


@pytest.mark.parametrize("c", [None, 0.05, 0.1, 0.2, 0.3])
@pytest.mark.parametrize("bonus", ["indefinite", "tied", "crossed", "duplicated", "negative"])
def test_indefinite_matrices_of_few_options_are_certified(c, bonus):
    # Radicands of both signs, and pairs far less known than single options: nodes must not be cut into slivers.
    for seed, risk in enumerate(["psd", "indefinite", "crossed", "zero", "negative", "positive"]):
        program = seeded_program(np.random.default_rng([seed, 5]), 4, c, bonus, risk)
        optimum = certify(program, node_limit=20_000)
        assert optimum.certified, (seed, risk)
