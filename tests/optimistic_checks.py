"""What must hold for every answer of the optimistic maximiser."""

from __future__ import annotations

import numpy as np

from covbandit.maximization import maximize_optimistic
from decision_set import assert_on_the_set
from optimistic_programs import optimistic_unit, optimistic_value


def value(program, weights):
    return float(optimistic_value(weights, *program[:4]))


def unit(program):
    return optimistic_unit(*program[:4])


def rounding(program, weights):
    """Return what F may lose by rounding: near a radicand of zero the root has half the digits."""
    q = max(float(weights @ program.bonus @ weights), 0.0)
    size = np.abs(program.bonus).max()
    root = 1e-14 * size / np.sqrt(q) if q > 1e-12 * size else 2e-7 * np.sqrt(size)
    return 1e-12 * unit(program) + 1e-15 * np.abs(program.mean).max() + root


def assert_sound(program, optimum):
    """Assert what holds for every answer, proven or not."""
    assert_on_the_set(optimum.weights, program.c)
    assert abs(optimum.utility - value(program, optimum.weights)) <= rounding(program, optimum.weights)
    assert optimum.certificate >= 0
    assert optimum.upper_bound >= optimum.utility


def certify(program, **more):
    optimum = maximize_optimistic(*program, certified=True, **more)
    assert optimum.method == "branch and bound"
    assert optimum.nodes >= 1
    assert_sound(program, optimum)
    return optimum
