"""Cholesky factors inside kernels, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from covbandit.kernels.algebra.cholesky import cholesky, invert_cholesky, solve_cholesky
from covbandit.kernels.jit.compilation import compiled, kernel


@kernel("int64(float64[:, ::1])")
def factor(A: Any) -> int:
    return cholesky(A)


@kernel("void(float64[:, ::1])")
def invert(A: Any) -> None:
    invert_cholesky(A)


@kernel("void(float64[:, ::1], float64[::1])")
def solve(A: Any, b: Any) -> None:
    solve_cholesky(A, b)


def definite(d: int) -> np.ndarray:
    X = np.random.default_rng(d).standard_normal((d, d))
    return X @ X.T + np.eye(d)


@pytest.mark.parametrize("d", [*range(1, 13), 40, 210])
def test_factor_solve_invert(d: int) -> None:
    A = definite(d)
    L = np.tril(A)  # only the lower triangle is read
    assert compiled(factor)(L) == 0
    assert np.allclose(np.tril(L), np.linalg.cholesky(A), rtol=1e-11, atol=1e-13)
    assert np.array_equal(L, L.T)
    side = np.random.default_rng(d).standard_normal(d)
    solution = side.copy()
    compiled(solve)(L, solution)
    assert np.allclose(A @ solution, side, atol=1e-9)
    compiled(invert)(L)
    assert np.array_equal(L, L.T)
    assert np.allclose(L @ A, np.eye(d), atol=1e-9)


@pytest.mark.parametrize(("diagonal", "fails_at"), [([1.0, 2.0, -1.0, 3.0], 3), ([0.0, 1.0], 1), ([1.0, np.nan], 2)])
def test_a_matrix_that_is_not_definite_is_reported(diagonal: list[float], fails_at: int) -> None:
    assert compiled(factor)(np.diag(diagonal)) == fails_at
