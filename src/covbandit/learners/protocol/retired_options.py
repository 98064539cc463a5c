"""Which options are in use, and weights that keep to them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from covbandit.core import validation
from covbandit.core.typing import F64
from covbandit.errors import Infeasible, InvalidInput
from covbandit.kernels.jit.compilation import kernel, out_of_line, uncompiled
from covbandit.kernels.qp.decision_set import largest_support


def as_in_use(retired: Sequence[str | int], size: int, options: Sequence[str] | None, max_weight: F64 | None) -> F64:
    """Return 1 for each option in use and 0 for each retired one, given by name or index.

    Raises
    ------
    InvalidInput
        If an option is not known, or none is left.
    Infeasible
        If the caps of those left do not allow weights that sum to one.
    """
    if isinstance(retired, str):
        raise InvalidInput(f"retired must be a list of options, got the single string {retired!r}")
    try:
        given = list(retired)
    except TypeError:
        raise InvalidInput(f"retired must be a list of options, got {retired!r}") from None
    in_use = np.ones(size)
    for option in given:
        in_use[_index(option, size, options)] = 0.0
    if not in_use.any():
        raise InvalidInput(f"all {size} options would be retired; at least one must stay in use")
    if max_weight is not None:
        total = float(max_weight[in_use > 0].sum())
        if total < 1 - 1e-12:
            raise Infeasible(
                f"max_weight sums to {total:.12g} over the {int(in_use.sum())} options left in use, so their weights "
                "cannot sum to one; raise some caps, or retire fewer options"
            )
    return in_use


def _index(option: object, size: int, options: Sequence[str] | None) -> int:
    if isinstance(option, str):
        if options is None:
            raise InvalidInput(f"option {option!r} is given by name, but the options have no names here; give an index")
        name = validation.known_name(option, options)
        if name is None:
            raise InvalidInput(f"unknown option {option!r}; known are {', '.join(map(repr, options))}")
        return list(options).index(name)
    index = validation.as_count(option, "the index of a retired option")
    if index >= size:
        raise InvalidInput(f"there is no option {index}: indices go from 0 to {size - 1}")
    return index


@kernel()
def first_in_use(caps: F64) -> int:
    """Return the first option with a cap above zero."""
    first = 0
    while caps[first] <= 0.0:
        first += 1
    return first


@kernel()
def put_all_on_largest(mean: F64, caps: F64, w: F64) -> None:
    """Write all weight on the option with the largest mean (the first, if tied) of those with a cap above zero."""
    best = -1
    for i in range(w.size):
        w[i] = 0.0
        if caps[i] > 0.0 and (best < 0 or mean[i] > mean[best]):
            best = i
    w[best] = 1.0


def level(caps: F64, least: float | None = None) -> F64:
    """Return equal weights on the options with a cap above zero, or as equal as possible.

    Small caps are filled and the rest is shared equally. If weights that are not zero must be at least `least`, and not
    all options fit, the first ones are taken.
    """
    open_ = caps > 0
    if least is not None:
        fit = uncompiled(largest_support)(least, int(open_.sum()))
        return np.where(open_ & (np.cumsum(open_) <= fit), 1 / fit, 0.0)
    weights = np.zeros(caps.size)
    left = 1.0
    while open_.any():
        share = left / open_.sum()
        full = open_ & (caps <= share)
        if not full.any():
            weights[open_] = share
            break
        weights[full] = caps[full]
        left -= float(caps[full].sum())
        open_ &= ~full
    return np.asarray(weights / weights.sum())


def confine(weights: F64, caps: F64, otherwise: F64) -> F64:
    """Return weights kept to the options with a cap above zero, in the same proportions.

    If these had no weight, or would get more than their caps, `otherwise` is returned. Weights that are
    confined already are returned as they are, to the last bit.
    """
    if not (weights[caps <= 0] > 0).any():
        return weights.copy()
    kept = np.where(caps > 0, weights, 0.0)
    total = float(kept.sum())
    if not total > 0:
        return otherwise.copy()
    kept /= total
    return otherwise.copy() if (kept > caps + 1e-12).any() else kept


@kernel("void(float64[::1], float64[::1], float64[::1])")
def confine_in_place(weights: F64, caps: F64, otherwise: F64) -> None:
    """Do what `confine` does, in place, to weights that a kernel decided: options with a cap of 0 then have none."""
    outside = False
    total = 0.0
    for i in range(weights.size):
        if caps[i] > 0.0:
            total += weights[i]
        elif weights[i] != 0.0:
            outside = True
    if not outside:
        return
    fit = total > 0.0
    if fit:
        for i in range(weights.size):
            weights[i] = weights[i] / total if caps[i] > 0.0 else 0.0
            fit = fit and weights[i] <= caps[i] + 1e-12
    if not fit:
        for i in range(weights.size):
            weights[i] = otherwise[i]


call_confine_in_place = out_of_line(confine_in_place)
