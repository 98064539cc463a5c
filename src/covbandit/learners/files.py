"""Learners as text files: versioned JSON with exact floats and a checksum. No pickle, so a file cannot run code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from covbandit.documents import read_document, write_document
from covbandit.errors import CovbanditError, StateFileError
from covbandit.learners.remarks import said_before

if TYPE_CHECKING:
    from covbandit.learners.base import Learner

KIND = "learner"
VERSION = 1


def plain(value: Any) -> Any:
    """Turn arrays, tuples and NumPy scalars into what JSON knows; arrays are marked so that they come back as such."""
    if isinstance(value, np.ndarray):
        return {"array": value.tolist(), "dtype": str(value.dtype), "shape": list(value.shape)}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise CovbanditError(
        f"cannot save a {type(value).__name__}: learners keep numbers, strings, lists, dictionaries and arrays"
    )


def lively(value: Any) -> Any:
    """Undo `plain`."""
    if isinstance(value, dict):
        if value.keys() == {"array", "dtype", "shape"}:
            return np.array(value["array"], dtype=value["dtype"]).reshape(value["shape"])
        return {key: lively(item) for key, item in value.items()}
    if isinstance(value, list):
        return [lively(item) for item in value]
    return value


def copy_statistics(statistics: dict[str, Any]) -> dict[str, Any]:
    """Return an independent copy of a plain-Python learner's statistics."""
    return {key: lively(plain(value)) for key, value in statistics.items()} if statistics else {}


def class_name(kind: type[Learner]) -> str:
    """Return the name under which a class stands in files; ours do not depend on the module they live in."""
    return kind.__name__ if kind.__module__.startswith("covbandit.") else f"{kind.__module__}:{kind.__qualname__}"


def known_classes() -> dict[str, type[Learner]]:
    """Return the learner classes already imported, by name; a file must not choose what code is run."""
    from covbandit.learners.base import Learner

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
        "config": plain(learner.config()),
        "rounds_told": told,
        "arrays": {name: array.tolist() for name, array in arrays.items()},
        "statistics": plain(statistics),
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
            f"{origin}: learner class {name!r} is not known here; import the module that defines it first"
        )
    kind = known[name]
    try:
        with said_before():
            learner = kind(**lively(content["config"]))
        arrays = {key: np.array(value, dtype=np.float64) for key, value in content["arrays"].items()}
        learner._restore((int(content["rounds_told"]), arrays, lively(content["statistics"])))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise StateFileError(f"{origin} does not fit {name}: {error}") from None
    return learner
