"""The optimistic maximiser on the problems that MC-UCB meets in real runs."""

from __future__ import annotations

import pytest

from covbandit.maximization import maximize_optimistic
from optimistic_checks import assert_sound, certify, unit
from optimistic_programs import harvested

REAL = [(2, 0.3), (3, 0.1), (5, 0.1), (5, 0.2), (8, 0.1), (10, 0.1), (10, 0.3)]


@pytest.mark.parametrize(("d", "c"), REAL)
@pytest.mark.parametrize("rho", [0.1, 10.0])
def test_real_instances_are_certified_to_1e_9(d, c, rho):
    for program in harvested(d, c, rounds=200, every=40, rho=rho):
        optimum = certify(program)
        assert optimum.certified
        assert optimum.certificate <= 1e-9 * abs(optimum.utility)
        fast = maximize_optimistic(*program)
        assert_sound(program, fast)
        assert fast.utility <= optimum.upper_bound


def test_real_instances_of_twenty_options_are_certified_to_1e_6():
    for program in harvested(20, 0.2, rounds=60, every=30):
        optimum = certify(program, tolerance=1e-6)
        assert optimum.certified
        assert optimum.certificate <= 1e-6 * abs(optimum.utility)


def test_the_search_finds_the_best_weights_of_real_instances():
    programs = [p for seed in (1, 2, 3) for p in harvested(5, 0.1, rounds=300, every=5, seed=seed)]
    programs += harvested(5, 0.2, rounds=300, every=5, seed=4, rho=10.0)
    assert len(programs) >= 900
    missed = [
        program
        for program in programs
        if maximize_optimistic(*program).utility < certify(program).utility - 1e-8 * unit(program)
    ]
    assert len(missed) <= 0.005 * len(programs)
