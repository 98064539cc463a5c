"""Named views of a tuple of arrays, for kernels: ``s = Declared(state)``, then ``s.mean[i]`` and ``s.ready = 1.0``.

All compiled learners share one type of state, a tuple of four arrays, because Numba finds the simulation driver again
in its cache only if every learner has the same types. What the entries of these arrays mean differs from learner to
learner. A *view* is the same tuple with names: a class that is registered here (`register`), such as `LearnerState` and
those derived from it, says at which place of which array each name is, and kernels read and write through it.

A view costs nothing in compiled code. Each attribute is lowered by hand to the address that ``state.rows[3]`` would
have been lowered to, and only where a kernel uses it. A name that was not declared does not compile.

The same class works in Python: ``Declared(state).mean`` is a NumPy view of the same memory.

==============  ============================================================================================
form            what ``s.name`` is
==============  ============================================================================================
``ITEM``        the number at ``array[place]`` (of a row: its first entry); can be assigned to, unless a parameter
``SLICE``       the array ``array[place]``
``RANGE``       the array ``array[place : place + size]``
``REST``        the array ``array[place :]`` without the table of blocks at the end of the counters
``SQUARE``      the array ``array[place :]`` of one dimension, as a square matrix
``BLOCK``       an array of one dimension, part of the matrices, found through the table of blocks
==============  ============================================================================================

The *table of blocks* stands at the end of the counters: for each block the first entry and the number of entries, since
both may depend on a learner's arguments.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.core.imputils import impl_ret_borrowed
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    infer_getattr,
    lower_builtin,
    lower_getattr_generic,
    lower_setattr_generic,
    register_model,
    type_callable,
)
from numba.np.arrayobj import make_array, populate_array

ITEM, SLICE, RANGE, REST, SQUARE, BLOCK = "item", "slice", "range", "rest", "square", "block"

COUNTERS, ROWS, MATRICES, PARAMETERS = range(4)
"""The arrays of the tuple: integers, n × d floats, n × d × d floats, floats."""

_WORD = ir.IntType(64)
_BYTES = 8  # of an integer and of a float


class Place(NamedTuple):
    """Where a name is found: in which array, in which form, from which entry on, and for ``RANGE`` how many entries."""

    array: int
    form: str
    place: int
    size: int = 0


class View(types.Type):
    """The Numba type of a view."""

    def __init__(self, name: str, state: Any, places: Mapping[str, Place], n_blocks: int) -> None:
        self.state = state
        self.places = dict(places)
        self.n_blocks = n_blocks
        super().__init__(name=name)

    def type_of(self, name: str) -> Any:
        """Return the type of an attribute, None if there is no such name."""
        found = self.places.get(name)
        if found is None:
            return None
        array = self.state.types[found.array]
        dimensions = {
            SLICE: array.ndim - 1,
            RANGE: array.ndim,
            REST: 1,
            SQUARE: 2,
            BLOCK: 1,
        }
        return array.dtype if found.form == ITEM else types.Array(array.dtype, dimensions[found.form], "C")


class _Model(models.StructModel):
    def __init__(self, manager: Any, view: View) -> None:
        super().__init__(manager, view, [("state", view.state)])


register_model(View)(_Model)


class _Attributes(AttributeTemplate):
    key: ClassVar[Any] = View

    def generic_resolve(self, view: View, name: str) -> Any:  # type: ignore[override]
        return view.type_of(name)


infer_getattr(_Attributes)


def register(declared: type, view: View) -> None:
    """Let kernels make views by calling the class that declares them with a state."""

    def typer(context: Any) -> Any:
        def typed(state: Any) -> Any:
            return view if state == view.state else None

        return typed

    def construct(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        made = cgutils.create_struct_proxy(view)(context, builder)
        made.state = given[0]
        # The view refers to the same arrays: where code that calls kernels counts references, it must count this one.
        return impl_ret_borrowed(context, builder, view, made._getvalue())

    type_callable(declared)(typer)
    lower_builtin(declared, view.state)(construct)


# Addresses ------------------------------------------------------------------------------------------------------------


def _array(context: Any, builder: Any, view: View, value: Any, which: int) -> tuple[Any, list[Any]]:
    """Return one of the four arrays and its dimensions."""
    state = cgutils.create_struct_proxy(view)(context, builder, value=value).state
    array = make_array(view.state.types[which])(context, builder, builder.extract_value(state, which))
    return array, cgutils.unpack_tuple(builder, array.shape)


def _times(builder: Any, *factors: Any) -> Any:
    product = factors[0]
    for factor in factors[1:]:
        product = builder.mul(product, factor, flags=["nsw"])
    return product


def _address(context: Any, builder: Any, view: View, value: Any, found: Place) -> Any:
    """Return the address of the first number that a name stands for."""
    array, dimensions = _array(context, builder, view, value, found.array)
    if found.form == BLOCK:
        return builder.gep(array.data, [_table(context, builder, view, value, found)[0]])
    return builder.gep(array.data, [_times(builder, _WORD(found.place), *dimensions[1:])])


def _table(context: Any, builder: Any, view: View, value: Any, found: Place) -> tuple[Any, Any]:
    """Return first entry and number of entries of a block."""
    counters, (n_counters,) = _array(context, builder, view, value, COUNTERS)
    at = builder.add(n_counters, _WORD(2 * (found.place - view.n_blocks)))
    first = builder.load(builder.gep(counters.data, [at]))
    size = builder.load(builder.gep(counters.data, [builder.add(at, _WORD(1))]))
    return first, size


def _shape(context: Any, builder: Any, view: View, value: Any, found: Place) -> list[Any]:
    """Return the dimensions of an array that a name stands for."""
    _, dimensions = _array(context, builder, view, value, found.array)
    if found.form == SLICE:
        return dimensions[1:]
    if found.form == RANGE:
        return [_WORD(found.size), *dimensions[1:]]
    if found.form == REST:
        behind = 2 * view.n_blocks if found.array == COUNTERS else 0
        return [builder.sub(dimensions[0], _WORD(found.place + behind))]
    if found.form == SQUARE:
        _, (_, d) = _array(context, builder, view, value, ROWS)
        return [d, d]
    return [_table(context, builder, view, value, found)[1]]


def _get(context: Any, builder: Any, view: View, value: Any, name: str) -> Any:
    found = view.places[name]
    address = _address(context, builder, view, value, found)
    if found.form == ITEM:
        return builder.load(address)
    shape = _shape(context, builder, view, value, found)
    strides = [_times(builder, _WORD(_BYTES), *shape[axis + 1 :]) for axis in range(len(shape))]
    array = make_array(view.type_of(name))(context, builder)
    # Without an owner: the state, which the caller holds, keeps the memory.
    populate_array(array, data=address, shape=shape, strides=strides, itemsize=_BYTES, meminfo=None)
    return array._getvalue()


def _set(context: Any, builder: Any, signature: Any, given: Any, name: str) -> None:
    view, kind = signature.args
    found = view.places[name]
    if found.form != ITEM:
        raise NotImplementedError(f"{view}: {name} is an array; assign to its entries")
    if found.array == PARAMETERS:
        raise NotImplementedError(f"{view}: {name} is a parameter, which never changes")
    whole = context.cast(builder, given[1], kind, view.type_of(name))
    builder.store(whole, _address(context, builder, view, given[0], found))


lower_getattr_generic(View)(_get)
lower_setattr_generic(View)(_set)
