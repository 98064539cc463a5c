"""The best-fitting semi-definite matrix in a metric: its optimality conditions, checked from outside."""

from __future__ import annotations

import numpy as np
import pytest

from covbandit.kernels.algebra.lapack import DECOMPOSITION_SLABS
from covbandit.kernels.algebra.semidefinite_metric import METRIC_ROWS, project_in_metric
from covbandit.kernels.jit.compilation import compiled

ROOT_2 = np.sqrt(2.0)


def pack(S: np.ndarray) -> np.ndarray:
    d = len(S)
    return np.array([S[i, j] * (1.0 if i == j else ROOT_2) for i in range(d) for j in range(i, d)])


def unpack(s: np.ndarray, d: int) -> np.ndarray:
    S = np.zeros((d, d))
    S[np.triu_indices(d)] = s
    off = ~np.eye(d, dtype=bool)
    S = np.triu(S) + np.triu(S, 1).T
    S[off] /= ROOT_2
    return S


def project(sigma: np.ndarray, G: np.ndarray, extra: np.ndarray, d: int) -> np.ndarray:
    n = len(sigma)
    S = np.empty((d, d))
    compiled(project_in_metric)(
        sigma,
        np.tril(G),
        extra,
        S,
        np.empty((n, n)),
        np.empty((METRIC_ROWS, n)),
        np.empty((d, d)),
        np.empty(d),
        np.empty(DECOMPOSITION_SLABS * d * d),
        1e-9,
        100_000,
    )
    return S


@pytest.mark.parametrize("d", [2, 3, 5, 8])
@pytest.mark.parametrize("seed", range(6))
def test_optimality(d: int, seed: int) -> None:
    """With Z the matrix of G(s - σ̂): S ⪰ 0, Z ⪰ 0 and ⟨S, Z⟩ = 0 hold at the minimum and nowhere else."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(d, d))
    sigma = pack(A + A.T)
    n = len(sigma)
    scale = np.exp(rng.normal(size=n))
    B = rng.normal(size=(2 * n, n)) * scale
    G, extra = B.T @ B, rng.random(n)
    S = project(sigma, G, extra, d)
    assert np.linalg.eigvalsh(S)[0] >= -1e-12 * np.abs(S).max()
    metric = G + np.diag(extra)
    away = pack(S) - sigma
    Z = unpack(metric @ away, d)
    largest = np.abs(metric).max()
    slack = 1e-5 * np.sqrt(largest * (away @ metric @ away)) + 1e-12 * largest * np.abs(sigma).max()
    assert np.linalg.eigvalsh(Z)[0] >= -slack
    assert abs(np.sum(S * Z)) <= slack * np.abs(S).max()
    values, vectors = np.linalg.eigh(unpack(sigma, d))
    nearest = pack((vectors * np.maximum(values, 0)) @ vectors.T) - sigma
    assert away @ metric @ away <= nearest @ metric @ nearest * (1 + 1e-9) + slack**2


def test_well_known_entries_are_kept() -> None:
    """Known variances stay; the correlation of more than one, hardly known, gives way."""
    sigma = pack(np.array([[1.0, 3.0], [3.0, 4.0]]))
    S = project(sigma, np.diag([1e4, 1.0, 1e4]), np.zeros(3), 2)
    assert pytest.approx(np.array([[1.0, 2.0], [2.0, 4.0]]), abs=1e-3) == S


def test_a_semi_definite_matrix_stays() -> None:
    S = np.array([[2.0, 0.5], [0.5, 1.0]])
    assert project(pack(S), np.eye(3), np.zeros(3), 2) == pytest.approx(S, abs=1e-3)
