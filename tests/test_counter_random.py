"""Random numbers keyed by (seed, t): the same for the same key, and as random as numbers must be for different ones."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from covbandit.kernels.jit.compilation import compiled
from covbandit.kernels.random.counter_random import draw


def numbers(seed: int, t: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    uniforms, normals = np.empty(count), np.empty(count)
    compiled(draw)(seed, t, uniforms, normals)
    return uniforms, normals


def test_the_same_key_gives_the_same_numbers() -> None:
    first, second = numbers(5, 17, 9), numbers(5, 17, 9)
    assert np.array_equal(first, second)
    assert np.array_equal(numbers(5, 17, 4)[0], first[0][:4])  # however many are asked for


@pytest.mark.parametrize(("seed", "t"), [(0, 0), (0, 1), (2**62, 3), (2**63 - 1, 2**40)])
def test_uniform_numbers_lie_strictly_inside(seed: int, t: int) -> None:
    uniforms, normals = numbers(seed, t, 1_000)
    assert uniforms.min() > 0
    assert uniforms.max() < 1
    assert np.isfinite(normals).all()


@pytest.mark.parametrize("along", ["k", "t", "seed"])
def test_distribution_along_each_part_of_the_key(along: str) -> None:
    n = 20_000
    if along == "k":
        uniforms, normals = numbers(3, 8, n)
    else:
        pairs = [numbers(3, t, 3) if along == "t" else numbers(t, 3, 3) for t in range(n)]
        uniforms, normals = np.array([p[0][0] for p in pairs]), np.array([p[1][1] for p in pairs])
    assert stats.kstest(uniforms, "uniform").pvalue > 1e-3
    assert stats.kstest(normals, "norm").pvalue > 1e-3
    for values in (uniforms, normals):
        for lag in (1, 2, 5):
            assert abs(np.corrcoef(values[:-lag], values[lag:])[0, 1]) < 4 / np.sqrt(n)


def test_numbers_of_one_round_are_uncorrelated() -> None:
    table = np.array([numbers(11, t, 6)[1] for t in range(20_000)])
    correlation = np.corrcoef(table.T) - np.eye(6)
    assert np.abs(correlation).max() < 4.5 / np.sqrt(len(table))
