"""What a compiled learner knows: four arrays, and the declaration that gives their entries names.

Numba finds the simulation driver again in its cache only if every learner has the same types. So all learners keep what
they know in the same four arrays, `State`. A class derived from `LearnerState` declares what the entries mean::

    class VarianceState(LearnerState):
        mean = row("mean of each option's rewards")
        scatter = row("sum of squared deviations from it")
        risk_aversion = parameter("ρ")

Everything else follows from the declaration: how large the arrays are, what is saved under which name, in which order
parameters are stored, and the view through which kernels and Python read and write::

    @kernel(DECIDE)
    def _decide(state: State, t: int, w: F64) -> None:
        s = VarianceState(state)
        for i in range(w.size):
            w[i] = s.risk_aversion / s.scatter[i]

================  ===================================  ==========================================================
declared by       ``s.name`` is                        saved
================  ===================================  ==========================================================
`counter`         an integer; can be assigned to       no: the base class writes these
`number`          a float; can be assigned to          yes, as the first of d numbers
`row`             d floats, one per option             yes
`matrix`          d × d floats, one per pair           yes
`block`           floats, as many as `size` says       yes
`parameter`       a float that never changes           no: follows from the constructor's arguments
`parameters`      the floats behind all `parameter`    no
`derived_row`     d floats                             no: follows from what is saved and from the arguments
`work_rows` ...   room in which kernels work           no: carries nothing from call to call
================  ===================================  ==========================================================
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal, NamedTuple, Self, cast, overload

import numba
import numpy as np
from numba import types
from numpy.typing import ArrayLike

from covbandit.core.typing import F64, I64
from covbandit.kernels.jit import views
from covbandit.kernels.jit.views import COUNTERS, MATRICES, PARAMETERS, ROWS, Place


class State(NamedTuple):
    """The memory of a compiled learner; a class derived from `LearnerState` says what is where."""

    counters: I64
    rows: F64
    matrices: F64
    parameters: F64


STATE_TYPE = types.NamedTuple(  # type: ignore[no-untyped-call]
    (
        types.Array(types.int64, 1, "C"),
        types.Array(types.float64, 2, "C"),
        types.Array(types.float64, 3, "C"),
        types.Array(types.float64, 1, "C"),
    ),
    State,
)
_VECTOR = types.Array(types.float64, 1, "C")

DECIDE = numba.void(STATE_TYPE, types.int64, _VECTOR)
"""Signature of a *decide* kernel: (state, t, weights to be written)."""

ABSORB = numba.void(STATE_TYPE, _VECTOR, _VECTOR)
"""Signature of an *absorb* kernel: (state, weights played, observation)."""

UPDATE = numba.void(STATE_TYPE)
"""Signature of a kernel that recomputes what follows from the statistics."""

Size = Callable[[int], int]
"""How many d × d matrices a block takes for d options."""


# Fields ---------------------------------------------------------------------------------------------------------------


class Field:
    """A name in a declaration: what it stands for, how much room it takes, and whether it is saved.

    Parameters
    ----------
    doc : str
        What it holds.
    saved_as : str, optional
        The name in saved files, where it differs.
    """

    array: ClassVar[int]
    form: ClassVar[str]
    saved = False

    def __init__(self, doc: str, *, saved_as: str | None = None, count: int = 1) -> None:
        self.__doc__ = doc
        self.count = count
        self._saved_as = saved_as

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name
        self.saved_name = self._saved_as or name

    def _read(self, view: LearnerState) -> Any:
        """Return what the name stands for in Python: a number, or an array that shares the state's memory."""
        found, state = view.places[self.name], view.arrays
        array = state[found.array]
        if found.form == views.ITEM:
            return array[found.place].flat[0]
        if found.form == views.SLICE:
            return array[found.place]
        if found.form == views.RANGE:
            return array[found.place : found.place + found.size]
        if found.form == views.REST:
            behind = 2 * len(view.blocks) if found.array == COUNTERS else 0
            return array[found.place : array.size - behind]
        if found.form == views.SQUARE:
            d = state.rows.shape[1]
            return array[found.place :].reshape(d, d)
        first, size = state.counters[2 * (found.place - len(view.blocks)) :][:2]
        return array.reshape(-1)[first : first + size]


class _Float(Field):
    @overload
    def __get__(self, view: None, owner: type) -> Self: ...
    @overload
    def __get__(self, view: LearnerState, owner: type) -> float: ...
    def __get__(self, view: LearnerState | None, owner: type) -> Self | float:
        return self if view is None else float(self._read(view))


class _Floats(Field):
    @overload
    def __get__(self, view: None, owner: type) -> Self: ...
    @overload
    def __get__(self, view: LearnerState, owner: type) -> F64: ...
    def __get__(self, view: LearnerState | None, owner: type) -> Self | F64:
        return self if view is None else self._of(view)

    def __set__(self, view: LearnerState, values: ArrayLike) -> None:
        self._of(view)[...] = values

    def _of(self, view: LearnerState) -> F64:
        """Return the array, which is looked up once per view."""
        if self.name not in view.looked_up:
            view.looked_up[self.name] = self._read(view)
        return view.looked_up[self.name]


class counter(Field):  # noqa: N801 - the fields read as words in a declaration
    """An integer."""

    array, form = COUNTERS, views.ITEM

    @overload
    def __get__(self, view: None, owner: type) -> Self: ...
    @overload
    def __get__(self, view: LearnerState, owner: type) -> int: ...
    def __get__(self, view: LearnerState | None, owner: type) -> Self | int:
        return self if view is None else int(self._read(view))

    def __set__(self, view: LearnerState, value: int) -> None:
        view.arrays.counters[view.places[self.name].place] = value


class number(_Float):  # noqa: N801
    """A float that is saved. It stands in a row of its own, whose other entries are not used."""

    array, form, saved = ROWS, views.ITEM, True

    def __set__(self, view: LearnerState, value: float) -> None:
        view.arrays.rows[view.places[self.name].place, 0] = value


class row(_Floats):  # noqa: N801
    """One float per option, saved."""

    array, form, saved = ROWS, views.SLICE, True


class derived_row(_Floats):  # noqa: N801
    """One float per option that follows from what is saved and from the constructor's arguments."""

    array, form = ROWS, views.SLICE


class matrix(_Floats):  # noqa: N801
    """One float per pair of options, saved."""

    array, form, saved = MATRICES, views.SLICE, True


class block(_Floats):  # noqa: N801
    """Floats in one dimension that are neither one per option nor one per pair, saved as a stack of d × d matrices.

    Parameters
    ----------
    doc : str
        What it holds.
    size : callable, optional
        Returns how many d × d matrices it takes for d options. Without it, the learner's `_block_sizes` says that.
    """

    array, form, saved = MATRICES, views.BLOCK, True

    def __init__(self, doc: str, size: Size | None = None, *, saved_as: str | None = None) -> None:
        super().__init__(doc, saved_as=saved_as)
        self.size = size


class parameter(_Float):  # noqa: N801
    """A number that follows from the constructor's arguments; no kernel changes it."""

    array, form = PARAMETERS, views.ITEM


class parameters(_Floats):  # noqa: N801
    """The numbers behind all single parameters: at most one field of a declaration.

    Parameters
    ----------
    doc : str
        What they are.
    square : bool
        Whether they are one number per pair of options; else they have one dimension and any length.
    """

    array, form = PARAMETERS, views.REST

    def __init__(self, doc: str, *, square: bool = False) -> None:
        super().__init__(doc)
        self.square = square


class work_row(derived_row):  # noqa: N801
    """Room for one float per option; carries nothing from call to call."""


class work_rows(_Floats):  # noqa: N801
    """Several such rows: an array of `count` × d floats."""

    array, form = ROWS, views.RANGE

    def __init__(self, doc: str, count: int) -> None:
        super().__init__(doc, count=count)


class work_matrix(_Floats):  # noqa: N801
    """Room for one float per pair; carries nothing from call to call, and is zero until a kernel writes to it."""

    array, form = MATRICES, views.SLICE


class work_matrices(_Floats):  # noqa: N801
    """Several such matrices: an array of `count` × d × d floats."""

    array, form = MATRICES, views.RANGE

    def __init__(self, doc: str, count: int) -> None:
        super().__init__(doc, count=count)


class work_block(block):  # noqa: N801
    """Room like a `block`; carries nothing from call to call."""

    saved = False


class work_integers(Field):  # noqa: N801
    """Room for `count` integers per option: at most one field of a declaration."""

    array, form = COUNTERS, views.REST

    def __init__(self, doc: str, count: int) -> None:
        super().__init__(doc, count=count)

    @overload
    def __get__(self, view: None, owner: type) -> Self: ...
    @overload
    def __get__(self, view: LearnerState, owner: type) -> I64: ...
    def __get__(self, view: LearnerState | None, owner: type) -> Self | I64:
        return self if view is None else cast("I64", self._read(view))


# Declarations ---------------------------------------------------------------------------------------------------------


class LearnerState:
    """The state that the base class keeps for every learner; learners derive from it and declare more.

    Parameters
    ----------
    state : State
        The memory to look at. In kernels, this makes a view that costs nothing; in Python, an object whose attributes
        are numbers and arrays that share the memory.

    Attributes
    ----------
    arrays : State
        The memory itself.
    looked_up : dict
        Arrays that were read before, by the names of their fields.
    """

    told = counter("how many rounds have been told")
    hold_rounds = counter("how many rounds at the start play the held weights")
    seed = counter("the seed of a randomised learner")
    n_in_use = counter("how many options are in use")

    count = row("observations of each option (with forgetting: their effective number)")
    active = row("1 for an option in use, 0 for a retired one")
    last_weights = row("the weights told last, from which maximisers start", saved_as="last")
    held_weights = derived_row("the weights to hold in the first rounds")
    cap = derived_row("the largest weight allowed: max_weight, or 1; 0 for options retired or not to be chosen yet")
    start_weights = derived_row("what to play while nothing is known: equal weights, as far as the caps allow")

    fields: ClassVar[dict[str, Field]]
    assignable: ClassVar[frozenset[str]]
    places: ClassVar[dict[str, Place]]
    blocks: ClassVar[tuple[block, ...]]
    numba_type: ClassVar[views.View]
    compiled_as: ClassVar[str]  # what compiled code depends on: see kernels.jit.compilation

    def __init__(self, state: State) -> None:
        self.arrays = state
        self.looked_up: dict[str, F64] = {}

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.assignable:
            those = ", ".join(sorted(self.assignable - {"arrays", "looked_up"}))
            raise AttributeError(
                f"{type(self).__name__} declares no {name!r} that can be assigned to; these can: {those}"
            )
        super().__setattr__(name, value)

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        _declare(cls)

    @classmethod
    def allocate(
        cls,
        d: int,
        parameters: Mapping[str, ArrayLike] | None = None,
        block_sizes: Mapping[str, int] | None = None,
    ) -> State:
        """Return an empty state for d options.

        Parameters
        ----------
        d : int
            The number of options.
        parameters : mapping, optional
            The declared parameters, by name. May be left out if none are declared.
        block_sizes : mapping, optional
            How many d × d matrices each block takes whose declaration does not say so.

        Raises
        ------
        TypeError
            If parameters are missing, not declared, or not given by name.
        """
        sizes = cls._matrices_of_blocks(d, block_sizes or {})
        integers = sum(field.count for field in cls.fields.values() if isinstance(field, work_integers))
        first_block = _used(cls.places, MATRICES)
        counters = np.zeros(_used(cls.places, COUNTERS) + integers * d + 2 * len(cls.blocks), dtype=np.int64)
        at = first_block * d * d
        for k, field in enumerate(cls.blocks):
            length = sizes[field.name] * d * d
            counters[2 * (k - len(cls.blocks)) :][:2] = at, length
            at += length
        return State(
            counters,
            np.zeros((_used(cls.places, ROWS), d)),
            np.zeros((first_block + sum(sizes.values()), d, d)),
            cls._ordered({} if parameters is None else parameters),
        )

    @classmethod
    def saved_shapes(cls, d: int, block_sizes: Mapping[str, int] | None = None) -> dict[str, tuple[int, ...]]:
        """Return the shapes of what `saved` returns for d options, without making room for it."""
        sizes = cls._matrices_of_blocks(d, block_sizes or {})
        shapes: dict[str, tuple[int, ...]] = {}
        for field in cls._saved_fields():
            if isinstance(field, block):
                shapes[field.saved_name] = (sizes[field.name], d, d)
            else:
                shapes[field.saved_name] = (d, d) if field.array == MATRICES else (d,)
        return shapes

    def saved(self) -> dict[str, F64]:
        """Return arrays that share the memory of everything that must be saved, by the names in files."""
        found = {}
        d = self.arrays.rows.shape[1]
        for field in self._saved_fields():
            place = self.places[field.name]
            if isinstance(field, block):
                found[field.saved_name] = cast("F64", field._read(self)).reshape(-1, d, d)
            else:
                found[field.saved_name] = self.arrays[place.array][place.place]
        return found

    @classmethod
    def _saved_fields(cls) -> list[Field]:
        """Return what is saved, rows before matrices before blocks: files and stores keep this order."""
        saved = [field for field in cls.fields.values() if field.saved]
        return sorted(saved, key=lambda field: (field.array, field.form == views.BLOCK))

    @classmethod
    def _matrices_of_blocks(cls, d: int, given: Mapping[str, int]) -> dict[str, int]:
        return {field.name: given[field.name] if field.size is None else field.size(d) for field in cls.blocks}

    @classmethod
    def _ordered(cls, given: Mapping[str, ArrayLike]) -> F64:
        """Return parameters in the order of their declaration."""
        declared = [name for name, field in cls.fields.items() if field.array == PARAMETERS]
        if not isinstance(given, Mapping):
            raise TypeError(f"{cls.__name__} declares the parameters {declared}, to be given by name, got {given!r}")
        if declared != list(given) and set(declared) != set(given):
            raise TypeError(f"{cls.__name__} declares the parameters {declared}, got {list(given)}")
        values = [np.ravel(np.asarray(given[name], dtype=np.float64)) for name in declared]
        return np.concatenate(values) if values else np.zeros(0)


def _used(places: Mapping[str, Place], array: int) -> int:
    """Return how many entries of one of the four arrays the fields take, apart from blocks and those of any length."""
    return sum(
        place.size for place in places.values() if place.array == array and place.form not in (views.REST, views.BLOCK)
    )


_FORM_OF_REST: dict[bool, Literal["square", "rest"]] = {True: "square", False: "rest"}


def _declare(cls: type[LearnerState]) -> None:
    """Give every field of a declaration its place, and let kernels use the class.

    Fields keep the order of declaration, those of base classes first; so a derived class changes no place. Work space
    for integers and the parameters of any length come last.
    """
    cls.fields = {}
    for base in reversed(cls.__mro__):
        cls.fields |= {name: field for name, field in vars(base).items() if isinstance(field, Field)}
    writable = (name for name, field in cls.fields.items() if hasattr(type(field), "__set__"))
    cls.assignable = frozenset(("arrays", "looked_up", *writable))
    cls.blocks = tuple(field for field in cls.fields.values() if isinstance(field, block))
    cls.places = {}
    at = dict.fromkeys((COUNTERS, ROWS, MATRICES, PARAMETERS), 0)
    last = [field for field in cls.fields.values() if field.form == views.REST]
    for field in [*(field for field in cls.fields.values() if field.form != views.REST), *last]:
        if isinstance(field, block):
            cls.places[field.name] = Place(MATRICES, views.BLOCK, cls.blocks.index(field))
            continue
        form = _FORM_OF_REST[field.square] if isinstance(field, parameters) else field.form
        cls.places[field.name] = Place(field.array, form, at[field.array], field.count)
        at[field.array] += field.count
    if len({field.array for field in last}) < len(last):
        raise TypeError(f"{cls.__name__} declares several of {[field.name for field in last]}; one is all that fits")
    cls.compiled_as = f"{cls.__qualname__} {sorted(cls.places.items())} {len(cls.blocks)}"
    version = hashlib.sha256(cls.compiled_as.encode()).hexdigest()[:8]
    name = f"{cls.__module__}.{cls.__qualname__}.{version}"
    cls.numba_type = views.View(name, STATE_TYPE, cls.places, len(cls.blocks))
    views.register(cls, cls.numba_type)


_declare(LearnerState)
