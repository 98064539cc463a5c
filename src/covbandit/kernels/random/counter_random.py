"""Random numbers keyed by (seed, t, k): no state, so asking again gives the same, and nothing needs saving.

SplitMix64: what it returns as its k-th number after starting from a state is a hash of state + k × constant, so the
k-th number can be had at once. A state per (seed, t) comes from the same hash. Machine integers wrap around, and their
shifts keep the sign: hence the masks.
"""

from __future__ import annotations

import numpy as np

from covbandit.core.typing import F64
from covbandit.kernels.jit.compilation import kernel

_STEP = -7046029254386353131  # 0x9E3779B97F4A7C15
_FIRST = -4658895280553007687  # 0xBF58476D1CE4E5B9
_SECOND = -7723592293110705685  # 0x94D049BB133111EB
_UNIT = 1.0 / 9007199254740992.0  # 2⁻⁵³
_TURN = 6.283185307179586


@kernel()
def _hash(z: int) -> int:
    z = (z ^ ((z >> 30) & 0x3FFFFFFFF)) * _FIRST
    z = (z ^ ((z >> 27) & 0x1FFFFFFFFF)) * _SECOND
    return z ^ ((z >> 31) & 0x1FFFFFFFF)


@kernel()
def stream(seed: int, t: int) -> int:
    """Return the key of round t."""
    return _hash(_hash(seed + _STEP) + t * _STEP)


@kernel()
def uniform(key: int, k: int) -> float:
    """Return the k-th number of a key, strictly between 0 and 1."""
    return (((_hash(key + (k + 1) * _STEP) >> 11) & 0x1FFFFFFFFFFFFF) + 0.5) * _UNIT


@kernel()
def fill_normal(key: int, first: int, z: F64) -> None:
    """Write independent standard normal numbers, made (by Box and Muller) of the numbers from `first` on."""
    for k in range(0, z.size, 2):
        radius = np.sqrt(-2.0 * np.log(uniform(key, first + k)))
        angle = _TURN * uniform(key, first + k + 1)
        z[k] = radius * np.cos(angle)
        if k + 1 < z.size:
            z[k + 1] = radius * np.sin(angle)


@kernel("void(int64, int64, float64[::1], float64[::1])", on_demand=True)
def draw(seed: int, t: int, uniforms: F64, normals: F64) -> None:
    """Write the first numbers of round t, uniform and (from the same ones) normal, for checks from outside."""
    key = stream(seed, t)
    for k in range(uniforms.size):
        uniforms[k] = uniform(key, k)
    fill_normal(key, 0, normals)
