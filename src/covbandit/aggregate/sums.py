r"""The sums over totals from which means and covariance are estimated, and how they are shifted, scaled and added.

With the symbols of `covbandit.kernels.random_coefficients`, an observation (w, y) of relevance a whose total has the
variance v adds

======  ==========  ======================  ==================================================
name    shape       adds                    serves
======  ==========  ======================  ==================================================
V       d × d       a ww'/v                 the means
V2      d × d       a² ww'/v                their errors
b       d           a wz/v                  the means
G       d̃ × d̃       a xx'/2v²               the covariance
G2      d̃ × d̃       a² xx'/2v²              its errors
K       d̃ × d̃       a² xx' w'V⁻¹w/2v³       what squared residuals lose to the estimated means
H       d̃ × d       a x z w'/2v²            the covariance
h       d̃           a x z²/2v²              the covariance
======  ==========  ======================  ==================================================

where :math:`z = (y - w'θ_0)/s` is the total measured from an origin θ₀ in units of s, so that neither the level nor the
unit of rewards costs digits, and v is in units of s².
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Self

import numpy as np

from covbandit.core.typing import F64, I64

_AT_ONCE = 2**17  # entries of the pairs of weights that are formed at a time: they fit a processor's cache


@lru_cache(maxsize=16)
def _pairs_of(d: int) -> tuple[I64, I64, F64]:
    """Return the first and the second option of every pair, row by row of the upper triangle, and its factor."""
    i, j = np.triu_indices(d)
    factor = np.where(i == j, 1.0, np.sqrt(2.0))
    for array in (i, j, factor):
        array.setflags(write=False)
    return i, j, factor


def expand(W: F64) -> F64:
    """Return the pairs x = svec(ww') of every row w."""
    i, j, factor = _pairs_of(W.shape[-1])
    return np.asarray(W[..., i] * W[..., j] * factor)


def pack(S: F64) -> F64:
    """Return svec(S) of a symmetric matrix."""
    i, j, factor = _pairs_of(len(S))
    return np.asarray(S[i, j] * factor)


def unpack(s: F64, d: int) -> F64:
    """Return the symmetric matrix S with svec(S) = s."""
    i, j, factor = _pairs_of(d)
    S = np.empty((d, d))
    S[i, j] = S[j, i] = s / factor
    return S


def congruence(A: F64) -> F64:
    """Return the d̃ × d̃ matrix that takes svec(S) to svec(ASA')."""
    i, j, factor = _pairs_of(len(A))
    k, m = i[:, None], j[:, None]
    both = A[k, i] * A[m, j] + A[k, j] * A[m, i]
    return np.asarray(both * (0.5 * factor[:, None] * factor))


def slices(n: int, d: int) -> list[slice]:
    """Return the parts in which n rows are gone through."""
    step = max(_AT_ONCE // (d * (d + 1) // 2), 16)
    return [slice(k, min(k + step, n)) for k in range(0, n, step)]


@dataclass(eq=False)
class Sums:
    """The sums over observations, the unit and the origin of their totals."""

    V: F64
    V2: F64
    b: F64
    G: F64
    G2: F64
    K: F64
    H: F64
    h: F64
    origin: F64
    """θ₀, in units of reward."""
    unit: float
    """s; 0 while nothing was added."""
    leverage: float
    """The sum of a² w'V⁻¹w/v, with the V⁻¹ of which K was made."""
    fourth: float
    """The sum of a ((z - w'θ̂)² - v)²/v², as far as it can be had."""
    freedom: float
    """Its degrees of freedom."""
    relevance: float
    """The sum of a."""
    relevance2: float
    """The sum of a²."""

    @classmethod
    def zero(cls, d: int) -> Self:
        """Return the sums over nothing."""
        V, V2, b, G, G2, K, H, h, origin = (np.zeros(shape) for shape in cls.shapes(d).values())
        return cls(V, V2, b, G, G2, K, H, h, origin, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)

    @staticmethod
    def shapes(d: int) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the arrays for d options, without making room for them."""
        n = d * (d + 1) // 2
        return {
            "V": (d, d), "V2": (d, d), "b": (d,), "G": (n, n), "G2": (n, n), "K": (n, n), "H": (n, d), "h": (n,),
            "origin": (d,),
        }  # fmt: skip

    @property
    def arrays(self) -> dict[str, F64]:
        """The arrays, by name."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.type == "F64"}

    @property
    def numbers(self) -> dict[str, float]:
        """The numbers, by name."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.type == "float"}

    def measured(self, W: F64, y: F64) -> F64:
        """Return totals from the origin, in our unit."""
        return np.asarray((y - W @ self.origin) / self.unit)

    def with_totals(self, W: F64, z: F64, a: F64, v: F64) -> Self:
        """Return the sums with observations added to V, b, G, H and h."""
        V, b, G, H, h = self.V.copy(), self.b.copy(), self.G.copy(), self.H.copy(), self.h.copy()
        for part in slices(len(z), b.size):
            w, x, t = W[part], expand(W[part]), z[part]
            p = a[part] / v[part]
            q = x * (0.5 * p / v[part])[:, None]
            V += (w * p[:, None]).T @ w
            b += w.T @ (p * t)
            G += q.T @ x
            q *= t[:, None]
            H += q.T @ w
            h += q.T @ t
        return replace(self, V=V, b=b, G=G, H=H, h=h)

    def with_errors(self, W: F64, a: F64, v: F64, theta_covariance: F64) -> Self:
        """Return the sums with the same observations added to V2, G2 and K, given V⁻¹ with all of them.

        K of earlier observations was made with the V of then: their leverages are taken to have shrunk all alike.
        """
        lost = pack(theta_covariance)
        shrunk = float(np.sum(theta_covariance * self.V2)) / self.leverage if self.leverage > 0 else 0.0
        V2, G2, K = self.V2.copy(), self.G2.copy(), self.K * shrunk
        for part in slices(a.size, len(V2)):
            w, x = W[part], expand(W[part])
            r = a[part] ** 2 / v[part]
            q = x * (0.5 * r / v[part])[:, None]
            V2 += (w * r[:, None]).T @ w
            G2 += q.T @ x
            K += (q * ((x @ lost) / v[part])[:, None]).T @ x
        return replace(
            self,
            V2=V2,
            G2=G2,
            K=K,
            leverage=float(np.sum(theta_covariance * V2)),
            relevance=self.relevance + float(a.sum()),
            relevance2=self.relevance2 + float(a @ a),
        )

    def rebased(self, origin: F64, unit: float) -> Self:
        """Return the sums of the same observations, measured from another origin in another unit."""
        r = self.unit / unit
        c = (self.origin - origin) / unit
        V, V2, G, G2, K = self.V / r**2, self.V2 / r**2, self.G / r**4, self.G2 / r**4, self.K / r**4
        b, H, h = self.b / r, self.H / r**3, self.h / r**2
        # z + w'c takes the place of z. G holds the sums of x w_i w_j, too.
        d = c.size
        triples = np.empty((len(G), d, d))
        i, j, factor = _pairs_of(d)
        triples[:, i, j] = triples[:, j, i] = G / factor
        h = h + 2 * (H @ c) + G @ pack(np.outer(c, c))
        return replace(
            self, V=V, V2=V2, b=b + V @ c, G=G, G2=G2, K=K, H=H + triples @ c, h=h, origin=origin.copy(), unit=unit
        )

    def merged(self, other: Self) -> Self:
        """Return the sums over both sets of observations."""
        if self.unit == 0:
            return other
        if other.unit == 0:
            return self
        other = other.rebased(self.origin, self.unit)
        sums = {k: value + getattr(other, k) for k, value in {**self.arrays, **self.numbers}.items()}
        return replace(self, **(sums | {"origin": self.origin, "unit": self.unit}))
