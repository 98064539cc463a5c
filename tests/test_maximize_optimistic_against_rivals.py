"""The optimistic maximiser against maximisers of another kind: a grid, SCIP, and ascents from random weights."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings

from covbandit.maximization import maximize_optimistic
from optimistic_checks import assert_sound, certify, rounding, unit, value
from optimistic_programs import (
    OptimisticProgram,
    harvested,
    indefinite,
    played_program,
    positive,
    random_weights,
    seeded_program,
    seeded_programs,
)
from optimistic_rivals import ascend, grid_maximum, scip_maximum


@settings(max_examples=60)
@given(seeded_programs(1, 3))
def test_a_grid_finds_nothing_better(program):
    grid = grid_maximum(*program, steps={1: 2, 2: 60, 3: 16}[len(program.mean)])
    optimum = certify(program, node_limit=100_000)
    slack = rounding(program, optimum.weights) + rounding(program, grid.weights)
    assert optimum.certified
    assert optimum.utility >= grid.value - slack - optimum.tolerance
    assert optimum.utility <= grid.upper + slack
    assert optimum.upper_bound >= grid.value - slack
    fast = maximize_optimistic(*program)
    assert_sound(program, fast)
    if program.bonus.diagonal().min() >= 0:  # else the root may rise from zero between the points that the search sees
        assert fast.utility >= grid.value - slack - 1e-8 * unit(program)


KINDS = [
    ("psd", "psd"),
    ("psd", "indefinite"),
    ("indefinite", "indefinite"),
    ("positive", "indefinite"),
    ("crossed", "psd"),
    ("indefinite", "zero"),
    ("zero", "indefinite"),
    ("rank_one", "psd"),
    ("negative", "indefinite"),
    ("duplicated", "duplicated"),
    ("tied", "tied"),
]


def scip_programs():
    for (d, c), seed in itertools.product([(2, 0.3), (4, 0.1), (5, 0.2), (6, 0.3)], range(3)):
        yield played_program(np.random.default_rng([seed, d]), d, c, 5 * seed, (0.1, 1.0, 10.0)[seed])
    for number, (bonus, risk) in enumerate(KINDS):
        for d, c in ((3 + number % 2, (0.2, None, 0.1)[number % 3]), (5 + number % 2, (0.3, 0.4)[number % 2])):
            yield seeded_program(np.random.default_rng([number, d]), d, c, bonus, risk)


@pytest.mark.parametrize("program", list(scip_programs()), ids=lambda p: f"{len(p.mean)} options, c={p.c}")
def test_scip_agrees(program):
    scip = scip_maximum(*program, limit=0.7)
    optimum = certify(program)
    assert optimum.certified
    assert value(program, scip.weights) <= optimum.upper_bound + rounding(program, scip.weights)
    # Where the radicand is near zero, SCIP's tolerance of 1e-9 on it moves its bound by up to 3e-5.
    near_zero = optimum.weights @ program.bonus @ optimum.weights < 1e-4 * unit(program) ** 2
    slip = (5e-5 if near_zero else 1e-6) * unit(program)
    assert optimum.utility <= scip.bound + slip
    if scip.status in ("optimal", "gaplimit"):
        assert optimum.utility == pytest.approx(scip.value, abs=slip)


def fifty_options():
    yield from harvested(50, 0.1, rounds=41, every=40)[1::4]
    rng = np.random.default_rng(50)
    yield OptimisticProgram(rng.standard_normal(50), positive(rng, 50), indefinite(rng, 50), 1.0, 0.2)


def test_fifty_options_are_never_worse_than_two_hundred_random_ascents():
    rng = np.random.default_rng(7)
    for program in fifty_options():
        fast = maximize_optimistic(*program)
        assert_sound(program, fast)
        best = max(ascend(program, w) for w in random_weights(program, rng, 200))
        assert fast.utility >= best - 1e-9 * unit(program)


def clique_number(neighbours):
    """Return the size of the largest clique, given each vertex' neighbours as bits."""
    best = 0

    def extend(candidates, size):
        nonlocal best
        best = max(best, size)
        while candidates and size + candidates.bit_count() > best:
            vertex = candidates.bit_length() - 1
            candidates &= ~(1 << vertex)
            extend(candidates & neighbours[vertex], size + 1)

    extend((1 << len(neighbours)) - 1, 0)
    return best


@pytest.mark.parametrize("seed", range(20))
def test_the_search_finds_the_largest_clique_of_a_graph(seed):
    """Over the simplex w'Gw of a graph is at most 1 - 1/ω, at equal weights on a clique of its largest size ω.

    Cliques that cannot be extended are traps: from them no exchange of one option helps.
    """
    d = 30
    upper = np.triu(np.random.default_rng(seed).random((d, d)) < 0.6, 1)
    graph = upper | upper.T
    size = clique_number([sum(1 << int(j) for j in np.flatnonzero(row)) for row in graph])
    found = maximize_optimistic(np.zeros(d), np.zeros((d, d)), -graph.astype(float), 1.0, 1 / (size + 0.5))
    assert found.utility == pytest.approx(1 - 1 / size, abs=1e-12)
