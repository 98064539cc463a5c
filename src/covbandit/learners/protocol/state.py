"""The one state type that all compiled learners share, and the names of its rows.

Numba finds the simulation driver again in its cache only if every learner has the same types. So each keeps its
statistics in the same four arrays; what a row means is a named constant.

====  ===================  =====================================================================
name  shape                holds
====  ===================  =====================================================================
i     int64, n             counters; scratch integers at the end
v     float64, rows × d    one number per option: books, scratch rows, the learner's rows
m     float64, slabs × d²  one number per pair of options: scratch slabs, the learner's slabs
p     float64, n           the learner's parameters; never changed by a kernel
====  ===================  =====================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numba
import numpy as np
from numba import types

from covbandit.core.typing import F64, I64


class State(NamedTuple):
    """What a compiled learner knows."""

    i: I64
    v: F64
    m: F64
    p: F64


# Books that the base class keeps for every learner. Entries of State.i:
TOLD = 0  # rounds told so far
HOLD_ROUNDS = 1  # rounds at the start in which the held weights are played
SEED = 2  # of a randomised learner
IN_USE = 3  # how many options are in use
FIRST_INT = 4
# Rows of State.v:
COUNT = 0  # observations of each option (with forgetting: their effective number)
ACTIVE = 1  # 1 for an option in use, 0 for a retired one
LAST = 2  # the weights told last, from which maximisers start
HOLD = 3  # the held weights
CAP = 4  # the largest weight allowed: max_weight, 1 without one, 0 for a retired option or one not to be chosen yet
START = 5  # what to play while nothing is known: equal weights, as far as the caps allow
FIRST_ROW = 6

SAVED_BOOKS = ("count", "active", "last")  # the other rows follow from these and the constructor's arguments

_STATE = types.NamedTuple(  # type: ignore[no-untyped-call]
    (
        types.Array(types.int64, 1, "C"),
        types.Array(types.float64, 2, "C"),
        types.Array(types.float64, 3, "C"),
        types.Array(types.float64, 1, "C"),
    ),
    State,
)
_VECTOR = types.Array(types.float64, 1, "C")

DECIDE = numba.void(_STATE, types.int64, _VECTOR)
"""Signature of a *decide* kernel: (state, t, weights to be written)."""

ABSORB = numba.void(_STATE, _VECTOR, _VECTOR)
"""Signature of an *absorb* kernel: (state, weights played, observation)."""

STATE_TYPE = _STATE


Block = tuple[str, Callable[[int], int]]
"""The name of several slabs that belong together, and their number for d options."""


@dataclass(frozen=True)
class Layout:
    """The names of a learner's own rows and slabs, in the order of their constants, and its scratch space.

    Parameters
    ----------
    rows, slabs : tuple of str
        Statistics, saved by name.
    scratch_rows, scratch_slabs : int
        Workspace of the kernels, before the statistics; carries nothing from call to call.
    scratch_ints : int
        Integer workspace, in multiples of d.
    blocks : tuple of (name, slabs)
        Statistics that are neither one number per option nor one per pair: for d options each takes ``slabs(d)`` slabs,
        after those with constants. `first_slab` says where.
    scratch_blocks : tuple of (name, slabs)
        Workspace likewise, after the blocks.
    """

    rows: tuple[str, ...] = ()
    slabs: tuple[str, ...] = ()
    scratch_rows: int = 0
    scratch_slabs: int = 0
    scratch_ints: int = 0
    blocks: tuple[Block, ...] = ()
    scratch_blocks: tuple[Block, ...] = ()

    def allocate(self, d: int, parameters: F64) -> State:
        """Return an empty state for d options."""
        return State(
            np.zeros(FIRST_INT + self.scratch_ints * d, dtype=np.int64),
            np.zeros((FIRST_ROW + len(self.rows) + self.scratch_rows, d)),
            np.zeros((self._first_block + sum(self._sizes(d).values()), d, d)),
            np.ascontiguousarray(parameters, dtype=np.float64),
        )

    def shapes(self, d: int) -> dict[str, tuple[int, ...]]:
        """Return the shapes of what `named` returns for d options, without making room for it."""
        shapes: dict[str, tuple[int, ...]] = dict.fromkeys((*SAVED_BOOKS, *self.rows), (d,))
        shapes |= dict.fromkeys(self.slabs, (d, d))
        return shapes | {name: (slabs(d), d, d) for name, slabs in self.blocks}

    def first_slab(self, block: str, d: int) -> int:
        """Return the first of the slabs of a block."""
        first = self._first_block
        for name, size in self._sizes(d).items():
            if name == block:
                return first
            first += size
        raise KeyError(block)

    def named(self, state: State) -> dict[str, F64]:
        """Return views of everything that must be saved, by name."""
        views = {name: state.v[row] for row, name in zip((COUNT, ACTIVE, LAST), SAVED_BOOKS, strict=True)}
        rows = FIRST_ROW + self.scratch_rows
        views |= {name: state.v[rows + k] for k, name in enumerate(self.rows)}
        views |= {name: state.m[self.scratch_slabs + k] for k, name in enumerate(self.slabs)}
        d = state.v.shape[1]
        for name, slabs in self.blocks:
            first = self.first_slab(name, d)
            views[name] = state.m[first : first + slabs(d)]
        return views

    @property
    def _first_block(self) -> int:
        return self.scratch_slabs + len(self.slabs)

    def _sizes(self, d: int) -> dict[str, int]:
        return {name: slabs(d) for name, slabs in (*self.blocks, *self.scratch_blocks)}
