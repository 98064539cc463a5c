"""Learners as text files: versioned JSON with exact floats and a checksum. No pickle, so a file cannot run code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from covbandit.core.archives import UNREADABLE
from covbandit.core.files import read_document, write_document
from covbandit.core.size_limits import MOST_ROUNDS, as_limited, as_n_options
from covbandit.core.validation import LARGEST
from covbandit.errors import CovbanditError, StateFileError
from covbandit.learners.protocol.setup_warnings import said_before

if TYPE_CHECKING:
    from covbandit.learners.protocol.base import Learner

KIND = "learner"
VERSION = 1

_DTYPE = re.compile(r"bool|u?int(?:8|16|32|64)|float(?:16|32|64)|[<>=|]?U(\d{1,9})")
_MOST_LETTERS = 2**24
_SUM = 1e-6  # how far from one saved weights may sum to
_PAIRS = ("pair_count", "pair_seen", "pair_mean", "pair_scatter")


def to_plain(value: Any) -> Any:
    """Turn arrays, tuples and NumPy scalars into what JSON knows; arrays are marked so that they come back as such."""
    if isinstance(value, np.ndarray):
        return {"array": value.tolist(), "dtype": str(value.dtype), "shape": list(value.shape)}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple)):
        return [to_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): to_plain(item) for key, item in value.items()}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise CovbanditError(
        f"cannot save a {type(value).__name__}: learners keep numbers, strings, lists, dictionaries and arrays"
    )


def from_plain(value: Any) -> Any:
    """Undo `to_plain`."""
    if isinstance(value, dict):
        if value.keys() == {"array", "dtype", "shape"}:
            return _array(value["array"], value["dtype"], value["shape"])
        return {key: from_plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [from_plain(item) for item in value]
    return value


def _array(entries: Any, dtype: Any, shape: Any) -> NDArray[Any]:
    """Return the array that `to_plain` wrote; refuse a type or a shape that its entries do not account for."""
    form = _DTYPE.fullmatch(dtype) if isinstance(dtype, str) else None
    if form is None:
        raise StateFileError(f"an array of {str(dtype)[:60]!r} is none that a learner keeps")
    if not isinstance(shape, list) or not all(type(size) is int and size >= 0 for size in shape):
        raise StateFileError(f"an array declares the shape {str(shape)[:60]}")
    if form[1] is not None and int(form[1]) * prod(shape) > _MOST_LETTERS:
        raise StateFileError(
            f"an array of {prod(shape):,} texts of {int(form[1]):,} letters is none that a learner keeps"
        )
    found = np.array(entries, dtype=np.dtype(dtype))
    if prod(shape) != found.size:
        raise StateFileError(f"an array of {found.size:,} entries declares the shape {shape}")
    return found.reshape(shape)


def copy_statistics(statistics: dict[str, Any]) -> dict[str, Any]:
    """Return an independent copy of a plain-Python learner's statistics."""
    return {key: from_plain(to_plain(value)) for key, value in statistics.items()} if statistics else {}


def class_name(kind: type[Learner]) -> str:
    """Return the name under which a class stands in files; ours do not depend on the module they live in."""
    return kind.__name__ if kind.__module__.startswith("covbandit.") else f"{kind.__module__}:{kind.__qualname__}"


def known_classes() -> dict[str, type[Learner]]:
    """Return the learner classes already imported, by name; a file must not choose what code is run."""
    from covbandit.learners.protocol.base import Learner

    known: dict[str, type[Learner]] = {}
    family: list[type[Learner]] = [Learner]
    while family:
        kind = family.pop()
        known[class_name(kind)] = kind
        family.extend(kind.__subclasses__())
    return known


def describe(learner: Learner) -> dict[str, Any]:
    """Return the learner as plain data: class, constructor arguments and everything learned."""
    told, arrays, statistics = learner._snapshot()
    return {
        "class": class_name(type(learner)),
        "config": to_plain(learner.config()),
        "rounds_told": told,
        "arrays": {name: array.tolist() for name, array in arrays.items()},
        "statistics": to_plain(statistics),
    }


def write(path: str | Path, learner: Learner) -> None:
    """Write a learner to a file, all of it or nothing."""
    write_document(path, KIND, VERSION, describe(learner))


def load_learner(path: str | Path) -> Learner:
    """Read a learner written by `Learner.save`; its next ask is bit-identical.

    The module of a learner class of your own must have been imported.

    Raises
    ------
    StateFileError
        If the file is truncated, damaged, foreign or of a newer format; the message says which.
    """
    _, content = read_document(path, KIND, VERSION)
    return restore(content, str(path))


def restore(content: dict[str, Any], origin: str = "saved learner") -> Learner:
    """Build a learner from `describe`."""
    known = known_classes()
    name = str(content.get("class"))
    if name not in known:
        raise StateFileError(
            f"{origin}: learner class {name[:100]!r} is not known here; import the module that defines it first"
        )
    kind = known[name]
    try:
        config = from_plain(content["config"])
        arrays = {key: np.array(value, dtype=np.float64) for key, value in content["arrays"].items()}
        _require_shapes(kind, config, arrays)
        with said_before():
            learner = kind(**config)
        restore_snapshot(learner, content["rounds_told"], arrays, from_plain(content["statistics"]))
    except UNREADABLE as error:
        raise StateFileError(f"{origin} does not fit {name}: {str(error) or type(error).__name__}") from None
    return learner


def restore_snapshot(learner: Learner, told: object, arrays: dict[str, Any], statistics: dict[str, Any]) -> None:
    """Give a fresh learner what was saved; raise if no learner of its kind can have reached that state."""
    rounds = as_limited(told, "rounds_told", 0, MOST_ROUNDS)
    if not isinstance(statistics, dict):
        raise StateFileError(f"its statistics are a {type(statistics).__name__}")
    _require_shapes(type(learner), learner.config(), arrays)
    count, active = arrays["count"], arrays["active"]
    if not (count >= 0).all() or not (count <= rounds * (1 + 1e-9)).all():
        raise StateFileError(f"it counts {count.max()} observations of an option in {rounds:,} rounds")
    if not np.isin(active, (0.0, 1.0)).all() or not active.any():
        raise StateFileError(f"options in use are marked {active.tolist()[:20]}, not by 0 and 1")
    require_weights(arrays, "last")
    d = learner.n_options
    for key, shape in {**dict.fromkeys(_PAIRS, (d, d)), "squares": (d,)}.items():
        if statistics and learner.compiled and key in statistics and np.shape(statistics[key]) != shape:
            raise StateFileError(f"its {key} have the shape {np.shape(statistics[key])}, where {shape} belongs")
    learner._check_saved(rounds, arrays, statistics)
    learner._restore((rounds, arrays, statistics))


def require_counts(saved: Mapping[str, Any], names: Iterable[str], most: float) -> None:
    """Raise unless saved arrays hold numbers of observations, from 0 to `most`."""
    for name in names:
        array = np.asarray(saved[name], dtype=np.float64)
        wrong = ~((array >= 0) & (array <= most * (1 + 1e-9)))
        if wrong.any():
            raise StateFileError(f"its {name} is {array[wrong][0]:g}, where numbers from 0 to {most:,} belong")


def require_whole(saved: Mapping[str, Any], name: str, most: int) -> None:
    """Raise unless a saved array holds whole numbers from 0 to `most`: kernels use them as places in arrays."""
    array = np.asarray(saved[name], dtype=np.float64)
    wrong = ~((array >= 0) & (array <= most) & (array == np.floor(array)))
    if wrong.any():
        raise StateFileError(f"its {name} is {array[wrong][0]:g}, where whole numbers from 0 to {most:,} belong")


def require_finite(saved: Mapping[str, Any], names: Iterable[str]) -> None:
    """Raise unless saved arrays are finite and means no larger than rewards may be."""
    for name in names:
        array = np.asarray(saved[name], dtype=np.float64)
        if not np.isfinite(array).all() or (name.endswith("mean") and (np.abs(array) > 2 * LARGEST).any()):
            raise StateFileError(f"its {name} is beyond what rewards within ±{LARGEST:g} give")


def require_weights(saved: Mapping[str, Any], name: str) -> None:
    """Raise unless a saved array holds weights, or zeros: none yet."""
    array = np.asarray(saved[name], dtype=np.float64)
    if array.any() and not ((array >= 0).all() and abs(array.sum() - 1) <= _SUM):
        raise StateFileError(f"its {name} is {array.tolist()[:20]}, where weights belong that sum to one")


def _require_shapes(kind: type[Learner], config: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Raise unless arrays have the shapes of so many options, before a learner makes room for them."""
    d = as_n_options(config["n_options"] if config.get("n_options") is not None else len(arrays["count"]), 1)
    mine = kind._saved_shapes(d, config)
    theirs = {key: array.shape for key, array in arrays.items()}
    if mine is None and theirs.get("count") != (d,):
        raise StateFileError(f"it counts observations of {theirs.get('count')} options, where {d} belong")
    if mine is not None and theirs != mine:
        raise StateFileError(f"statistics {theirs} are not those of {kind.__name__}, {mine}")
