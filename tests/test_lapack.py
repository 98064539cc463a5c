"""LAPACK inside kernels, against NumPy; in many threads; found again in the cache by other processes."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from covbandit.kernels.algebra.lapack import DECOMPOSITION_SLABS
from covbandit.kernels.jit.compilation import compiled
from lapack_kernels import eigenvectors

SIZES = [*range(1, 41), 300]


def _symmetric(d: int, seed: int = 0) -> np.ndarray:
    X = np.random.default_rng([d, seed]).standard_normal((d, d))
    return X + X.T


def _decomposed(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    d = len(A)
    vectors, values = A.copy(), np.full(d, np.nan)
    assert compiled(eigenvectors)(vectors, values, np.full((DECOMPOSITION_SLABS, d, d), np.nan)) == 0
    return values, vectors


@pytest.mark.parametrize("d", SIZES)
def test_eigenvectors(d: int) -> None:
    A = _symmetric(d)
    values, vectors = _decomposed(A)
    size = np.abs(A).max() * d
    assert np.allclose(values, np.linalg.eigvalsh(A), rtol=0, atol=1e-14 * size)
    assert np.allclose(vectors @ vectors.T, np.eye(d), rtol=0, atol=1e-14 * d)
    assert np.allclose(vectors.T @ (values[:, None] * vectors), A, rtol=0, atol=1e-14 * size)


@pytest.mark.parametrize("d", [3, 30])
def test_only_the_lower_triangle_is_decomposed(d: int) -> None:
    A = _symmetric(d)
    assert np.array_equal(_decomposed(np.tril(A))[0], _decomposed(A)[0])


def test_many_threads() -> None:
    matrices = [_symmetric(d, seed) for seed in range(5) for d in (3, 17, 40, 60)]
    expected = [_decomposed(A) for A in matrices]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(_decomposed, matrices))
    for one, other in zip(expected, found, strict=True):
        assert np.allclose(one[0], other[0], rtol=1e-13, atol=1e-13)


def test_other_processes_find_the_code_in_the_cache(tmp_path: Path) -> None:
    """One process compiles for the others; each of them calls its own LAPACK, wherever that lies."""

    def run(code: str) -> list[str]:
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
        prelude = "import numpy as np; import lapack_kernels as k; from covbandit.kernels.jit import compilation as c;"
        command = [sys.executable, "-c", prelude + code]
        here = Path(__file__).parent
        return subprocess.run(
            command, capture_output=True, text=True, env=environment, cwd=here, check=True, timeout=300
        ).stdout.split()

    run("c.compile_for_cache('lapack_kernels.eigenvectors')")
    use = (
        "values = np.zeros(2);"
        "c.compiled(k.eigenvectors)(np.array([[2., 1.], [1., 2.]]), values, np.zeros((3, 2, 2)));"
        "print(len(k.eigenvectors.stats.cache_hits), len(k.eigenvectors.stats.cache_misses), *values.round(9))"
    )
    for _ in range(2):
        assert run(use) == ["1", "0", "1.0", "3.0"]
