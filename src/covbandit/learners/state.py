"""Deprecated: how learners of covbandit 0.1 laid out their state, by numbered rows. This module goes away in 0.3.

Declare a state instead (``covbandit.learners.protocol.state``): kernels then read ``s.mean[i]`` where they read
``s.v[MEAN, i]``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import Any

import numpy as np
from numba.core import types
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, lower_getattr

from covbandit.core.typing import F64, I64
from covbandit.learners.protocol.state import (
    ABSORB,
    DECIDE,
    STATE_TYPE,
    LearnerState,
    State,
    block,
    matrix,
    row,
    work_block,
    work_integers,
    work_matrices,
    work_rows,
)

__all__ = [
    "ABSORB",
    "ACTIVE",
    "CAP",
    "COUNT",
    "DECIDE",
    "F64",
    "FIRST_INT",
    "FIRST_ROW",
    "HOLD",
    "HOLD_ROUNDS",
    "I64",
    "IN_USE",
    "LAST",
    "SEED",
    "START",
    "STATE_TYPE",
    "TOLD",
    "Layout",
    "State",
]

warnings.warn(
    "covbandit.learners.state is deprecated and goes away in 0.3; declare a state by "
    "covbandit.learners.protocol.LearnerState, as docs/add-a-learner.md shows",
    DeprecationWarning,
    stacklevel=2,
)

_PLACES = {name: place.place for name, place in LearnerState.places.items()}
TOLD, HOLD_ROUNDS, SEED, IN_USE = (_PLACES[name] for name in ("told", "hold_rounds", "seed", "n_in_use"))
COUNT, ACTIVE, LAST = (_PLACES[name] for name in ("count", "active", "last_weights"))
HOLD, CAP, START = (_PLACES[name] for name in ("held_weights", "cap", "start_weights"))
FIRST_INT, FIRST_ROW = IN_USE + 1, START + 1


class _NumberedState(LearnerState):
    """A state whose parameters have no names: kernels read them by their places."""

    @classmethod
    def _ordered(cls, given: Any) -> F64:
        """Return parameters in the order in which the learner gives them."""
        return np.ascontiguousarray(() if isinstance(given, dict) else given, dtype=np.float64)  # {} if there are none


@dataclass(frozen=True)
class Layout:
    """The names of a learner's own rows and slabs, in the order of their constants, and its scratch space."""

    rows: tuple[str, ...] = ()
    slabs: tuple[str, ...] = ()
    scratch_rows: int = 0
    scratch_slabs: int = 0
    scratch_ints: int = 0
    blocks: tuple[tuple[str, Callable[[int], int]], ...] = ()
    scratch_blocks: tuple[tuple[str, Callable[[int], int]], ...] = ()

    @cached_property
    def state_class(self) -> type[LearnerState]:
        """The declaration that puts everything where it was."""
        fields: dict[str, Any] = {
            "scratch_rows": work_rows("scratch", self.scratch_rows),
            "scratch_slabs": work_matrices("scratch", self.scratch_slabs),
            "scratch_ints": work_integers("scratch", self.scratch_ints),
        }
        fields |= {f"row_{name}": row(name, saved_as=name) for name in self.rows}
        fields |= {f"slab_{name}": matrix(name, saved_as=name) for name in self.slabs}
        fields |= {f"block_{name}": block(name, size, saved_as=name) for name, size in self.blocks}
        fields |= {f"scratch_{name}": work_block(name, size) for name, size in self.scratch_blocks}
        return type("DeprecatedState", (_NumberedState,), fields)

    def allocate(self, d: int, parameters: F64) -> State:
        """Return an empty state for d options."""
        return self.state_class.allocate(d, parameters)  # type: ignore[arg-type]

    def named(self, state: State) -> dict[str, F64]:
        """Return views of everything that must be saved, by name."""
        return self.state_class(state).saved()


# Kernels of 0.1 read s.i, s.v, s.m and s.p ---------------------------------------------------------------------------

_OLD_NAMES = {"i": "counters", "v": "rows", "m": "matrices", "p": "parameters"}

for _old, _new in _OLD_NAMES.items():
    setattr(State, _old, property(attrgetter(_new)))


class _OldNames(AttributeTemplate):
    key = types.NamedTuple

    def generic_resolve(self, kind: Any, name: str) -> Any:  # type: ignore[override]
        if kind != STATE_TYPE or name not in _OLD_NAMES:
            return None
        return kind.types[kind.fields.index(_OLD_NAMES[name])]


infer_getattr(_OldNames)


def _lowered(new: str) -> Callable[..., Any]:
    def lower(context: Any, builder: Any, kind: Any, value: Any) -> Any:
        return builder.extract_value(value, kind.fields.index(new))

    return lower


for _old, _new in _OLD_NAMES.items():
    lower_getattr(types.NamedTuple, _old)(_lowered(_new))
