"""Checks at the boundary: every number, array or path a user hands in passes here, and a refusal names the offender."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite
from os import PathLike
from pathlib import Path
from typing import Any
from unicodedata import normalize

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg.lapack import dpotrf

from covbandit.core.number_hints import way_out
from covbandit.core.typing import F64
from covbandit.errors import Infeasible, InvalidInput, NotPositiveSemidefinite, Unsupported

SUM_TOLERANCE = 1e-9
"""Told weights must sum to one within this."""

LARGEST = 1e100
"""Rewards beyond this are refused: their squares, summed over a long history, would overflow."""

_PLAIN = frozenset({float, int, np.float64})  # lists of these are told at once to hold nothing masked


def label(index: int, options: Sequence[str] | None = None) -> str:
    """Name an option in a message."""
    if options is None:
        return f"option {index}"
    return f"option {options[index]!r} (index {index})"


def as_float(value: object, name: str, yes_no: bool = True) -> float:
    """Return a finite float. With `yes_no`, True and False are 1 and 0, as outcomes may be; else they are refused."""
    if type(value) is float and isfinite(value):  # nearly always, and a tell has one for each option
        return value
    if not yes_no and (isinstance(value, bool) or getattr(value, "dtype", None) == np.bool_):
        raise InvalidInput(f"{name} must be a number, got the truth value {value!r}")
    if _has_masked(value):
        raise InvalidInput(f"{name} must be a number, got a masked one, which is missing")
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        meant = way_out(value) if isinstance(value, str) else ""
        raise InvalidInput(f"{name} must be a number, got {value!r}{meant}") from None
    except OverflowError:
        raise InvalidInput(f"{name} is too large for a float") from None
    if not np.isfinite(number):
        raise InvalidInput(f"{name} must be finite, got {number}")
    return number


def _has_masked(value: object) -> bool:
    if isinstance(value, (list, tuple)):  # NumPy forgets the masks of what is in them
        return not _PLAIN.issuperset(map(type, value)) and any(_has_masked(item) for item in value)
    return isinstance(value, np.ma.MaskedArray) and bool(np.ma.is_masked(value))


def as_path(value: object, name: str) -> Path:
    """Return the path that a user handed in."""
    if not isinstance(value, str | PathLike):
        raise InvalidInput(f"{name} must be the name of a file or folder, got {value!r}")
    return Path(value)


def as_positive(value: object, name: str) -> float:
    """Return a float above zero."""
    number = as_float(value, name, yes_no=False)
    if not number > 0:
        raise InvalidInput(f"{name} must be positive, got {number}")
    return number


def as_not_negative(value: object, name: str) -> float:
    """Return a float not below zero."""
    number = as_float(value, name, yes_no=False)
    if number < 0:
        raise InvalidInput(f"{name} must not be negative, got {number}")
    return number


def as_share(value: object, name: str) -> float:
    """Return a float from 0 to 1."""
    number = as_float(value, name, yes_no=False)
    if not 0 <= number <= 1:
        raise InvalidInput(f"{name} must lie between 0 and 1, got {number}")
    return number


def as_flag(value: object, name: str) -> bool:
    """Return True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise InvalidInput(f"{name} must be True or False, got {value!r}")
    return bool(value)


def as_count(value: object, name: str, least: int = 0) -> int:
    """Return an integer not below `least`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise InvalidInput(f"{name} must be a whole number, got {value!r}")
    if value < least:
        raise InvalidInput(f"{name} must be at least {least}, got {value}")
    return int(value)


def as_risk_aversion(value: object) -> float:
    """Return ρ ≥ 0."""
    rho = as_float(value, "risk_aversion", yes_no=False)
    if rho < 0:
        raise InvalidInput(
            f"risk_aversion must not be negative, got {rho}: it is the mean given up per unit of variance "
            "(0 ignores risk)"
        )
    return rho


def as_array(value: ArrayLike, name: str, ndim: int, yes_no: bool = True) -> F64:
    """Return a C-contiguous float array of its own, of the given number of dimensions.

    Masked entries are missing, so they are refused; unless `yes_no`, so are truth values.
    """
    if _has_masked(value):
        raise InvalidInput(f"{name}: some entries are masked, that is missing; leave them out, or fill them")
    try:
        if np.asarray(value).dtype.kind not in ("biufO" if yes_no else "iufO"):
            raise TypeError
        array = np.array(value, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError):
        raise InvalidInput(f"{name} must be numeric, got {type(value).__name__} {value!r}") from None
    if array.ndim != ndim:
        raise InvalidInput(f"{name} must have {ndim} dimension(s), got an array of shape {array.shape}")
    return array


def as_vector(
    value: ArrayLike,
    name: str,
    size: int | None = None,
    options: Sequence[str] | None = None,
    yes_no: bool = False,
) -> F64:
    """Return a finite vector, of a given size if one is given."""
    array = as_array(value, name, 1, yes_no)
    if size is not None and array.size != size:
        raise InvalidInput(f"{name} must have {size} entries, one per option, got {array.size}")
    if array.size == 0:
        raise InvalidInput(f"{name} must have at least one entry")
    bad = ~np.isfinite(array)
    if bad.any():
        i = int(np.argmax(bad))
        raise InvalidInput(f"{label(i, options)}: {name} is {array[i]}, which is not finite")
    return array


def as_rewards(value: ArrayLike, size: int, options: Sequence[str] | None = None) -> F64:
    """Return one finite reward per option, none so large that statistics would overflow."""
    array = as_vector(value, "reward", size, options, yes_no=True)
    worst = int(np.argmax(np.abs(array)))
    if abs(array[worst]) > LARGEST:
        raise InvalidInput(f"{label(worst, options)}: reward {array[worst]} is beyond ±{LARGEST:g}; use larger units")
    return array


def as_weights(value: ArrayLike, size: int, options: Sequence[str] | None = None, name: str = "weight") -> F64:
    """Return weights that are finite, not negative and sum to one within `SUM_TOLERANCE`."""
    array = as_vector(value, name, size, options)
    worst = int(np.argmin(array))
    if array[worst] < 0:
        raise InvalidInput(f"{label(worst, options)}: {name} {array[worst]} is negative")
    total = float(array.sum())
    if abs(total - 1) > SUM_TOLERANCE:
        raise InvalidInput(f"{name}s sum to {total!r}, not to one within {SUM_TOLERANCE:g}; divide them by their sum")
    return array


def as_symmetric(
    value: ArrayLike, name: str, size: int, options: Sequence[str] | None = None, signed: bool = False
) -> F64:
    """Return a finite symmetric matrix; asymmetry at the level of rounding is averaged away.

    Unless `signed`, entries on its diagonal are variances, which are not negative.
    """
    array = as_array(value, name, 2, yes_no=False)
    if array.shape[0] != array.shape[1]:
        raise InvalidInput(f"{name} must be square, got shape {array.shape}")
    if array.shape[0] != size:
        raise InvalidInput(f"{name} must be {size} × {size}, one row per option, got {array.shape}")
    if not np.isfinite(array).all():
        bad = ~np.isfinite(array)
        i, j = divmod(int(np.argmax(bad)), size)
        raise InvalidInput(
            f"{name} of {label(i, options)} and {label(j, options)} is {array[i, j]}, which is not finite"
        )
    asymmetry = None if np.array_equal(array, array.T) else np.abs(array - array.T)
    if asymmetry is not None and asymmetry.max() > 1e-12 * np.abs(array).max():
        i, j = divmod(int(np.argmax(asymmetry)), size)
        raise InvalidInput(
            f"{name} is not symmetric: entry ({i}, {j}) is {float(array[i, j])!r} "
            f"but ({j}, {i}) is {float(array[j, i])!r}"
        )
    if asymmetry is not None:
        array = (array + array.T) / 2
    lowest = int(np.argmin(array.diagonal()))
    if array[lowest, lowest] < 0 and not signed:
        raise NotPositiveSemidefinite(f"{label(lowest, options)}: variance {array[lowest, lowest]} is negative")
    return array


def is_positive_semidefinite(matrix: F64) -> bool:
    """Return True if a symmetric matrix has no eigenvalue below rounding of its trace."""
    slack = 1e-13 * float(np.trace(matrix))
    lifted = matrix.copy()
    lifted.flat[:: len(matrix) + 1] += slack + np.finfo(float).tiny
    _, failed = dpotrf(lifted.T, lower=1, overwrite_a=1, clean=0)
    # Cholesky may fail by rounding alone on singular matrices: then the eigenvalues decide.
    return not failed or bool(np.linalg.eigvalsh(matrix)[0] >= -10 * slack)


def require_positive_semidefinite(matrix: F64, name: str, way_out: str = "") -> None:
    """Raise, with the smallest eigenvalue, unless the matrix is positive semi-definite."""
    if not is_positive_semidefinite(matrix):
        smallest = float(np.linalg.eigvalsh(matrix)[0])
        raise NotPositiveSemidefinite(
            f"{name} is not positive semi-definite: its smallest eigenvalue is {smallest:.6g}{way_out}"
        )


def as_caps(value: ArrayLike | None, size: int, options: Sequence[str] | None = None) -> F64 | None:
    """Return per-option caps (a scalar serves all), or None where nothing is capped."""
    if value is None:
        return None
    if np.ndim(value) == 0:
        value = np.full(size, as_float(value, "max_weight", yes_no=False))
    caps = as_vector(value, "max_weight", size, options)
    low = int(np.argmin(caps))
    if caps[low] < 0:
        raise InvalidInput(f"{label(low, options)}: max_weight {caps[low]} is negative")
    caps = np.minimum(caps, 1.0)
    total = float(caps.sum())
    if total < 1 - 1e-12:
        raise Infeasible(
            f"max_weight sums to {total:.12g} over {size} options, so weights cannot sum to one; raise some caps"
        )
    return None if (caps >= 1).all() else caps


def as_options(value: Sequence[str] | None, size: int | None) -> tuple[str, ...] | None:
    """Return distinct, non-empty option names."""
    if value is None:
        return None
    if isinstance(value, str):
        raise InvalidInput(f"options must be a list of names, got the single string {value!r}")
    try:
        names: tuple[object, ...] = tuple(value)
    except TypeError:
        raise InvalidInput(f"options must be a list of names, got {value!r}") from None
    for name in names:
        if not isinstance(name, str) or not name:
            raise InvalidInput(f"option names must be non-empty strings, got {name!r}")
    if size is not None and len(names) != size:
        raise InvalidInput(f"options must name {size} options, got {len(names)}: {list(names)}")
    seen: set[object] = set()
    for name in names:
        if name in seen:
            raise InvalidInput(f"option {name!r} is named twice")
        seen.add(name)
    return tuple(str(name) for name in names)


def in_one_spelling(name: str) -> str:
    """Return a name as it is compared with others: in Unicode's composed form (NFC).

    An é may be one character, or an e and an accent. They look alike and mean the same, so they are the same name.
    """
    return name if name.isascii() else normalize("NFC", name)


def known_name(name: object, known: Sequence[str]) -> str | None:
    """Return the known name that a given one is, in whichever spelling; None if it is none of them.

    An exact match comes first, since stores of older versions may hold two names that differ in spelling only.
    """
    if not isinstance(name, str):
        return None
    if name in known:
        return name
    wanted = in_one_spelling(name)
    alike = [each for each in known if in_one_spelling(each) == wanted]
    return alike[0] if len(alike) == 1 else None


def _by_spelling(known: Sequence[str]) -> dict[str, str | None]:
    """Return the known names by the spelling in which they are compared; None where two have the same."""
    found: dict[str, str | None] = {}
    for name in known:
        spelling = in_one_spelling(name)
        found[spelling] = None if spelling in found else name
    return found


def same_names(names: Sequence[str], others: Sequence[str]) -> bool:
    """Return True if names are the same ones in the same order, in whichever spelling."""
    return [*map(in_one_spelling, names)] == [*map(in_one_spelling, others)]


def require_distinct(names: Sequence[str]) -> None:
    """Refuse names that are the same in two spellings."""
    seen: set[str] = set()
    for name in names:
        if in_one_spelling(name) in seen:
            raise InvalidInput(f"option {name!r} is named twice, in two spellings of the same letters")
        seen.add(in_one_spelling(name))


def by_known_name(pairs: Sequence[tuple[Any, Any]], options: Sequence[str], what: str) -> dict[str, Any]:
    """Return values by option name, as the options spell it; refuse names that are unknown or given twice."""
    named = dict(pairs)
    known = set(options)
    if not known.issuperset(named):
        spellings = _by_spelling(options)  # once for all names, of which there may be very many

        def known_as(name: Any) -> Any:
            if name in known:
                return name
            return spellings.get(in_one_spelling(name)) if isinstance(name, str) else None

        spelled = [(known_as(name), name, value) for name, value in pairs]
        unknown = [given for name, given, _ in spelled if name is None]
        if unknown:
            raise InvalidInput(f"{what}: unknown option {_listed(unknown)}; known are {_listed(options)}")
        named = {name: value for name, _, value in spelled}
    if len(named) < len(pairs):
        raise InvalidInput(f"{what}: an option is named twice in {[name for name, _ in pairs]}")
    return named


def in_option_order(value: Any, options: Sequence[str] | None, what: str, default: float | None = None) -> Any:
    """Return the values of a mapping by option name (or a pandas Series) in option order, and anything else as it is.

    Parameters
    ----------
    value
        What a user handed in.
    options : sequence of str or None
        The known names.
    what : str
        What each value is, for messages.
    default : float or None
        The value of options not named; None refuses them.
    """
    if not hasattr(value, "items"):
        return value
    if options is None:
        raise InvalidInput(
            f"{what}s are given by option name, but the options have no names here; give a list in option order"
        )
    named = by_known_name(list(value.items()), options, what)
    missing = [name for name in options if name not in named]
    if missing and default is None:
        raise InvalidInput(f"{what} is missing for option {_listed(missing)}; every option needs one")
    return [as_float(named[name], f"{what} of option {name!r}") if name in named else default for name in options]


def _listed(names: Iterable[object]) -> str:
    return ", ".join(repr(name) for name in names)


def as_min_weight(value: object, max_weight: object = None) -> float | None:
    """Return c, the least weight of an option that has any, or None where every weight from 0 to 1 is allowed.

    More than 1/2 means one option at a time; more than 1/d means that not all options fit.
    """
    if value is None:
        return None
    least = as_float(value, "min_weight", yes_no=False)
    if not 0 < least <= 1:
        raise InvalidInput(
            f"min_weight must be above 0 and at most 1, got {least}: every weight is 0 or at least min_weight "
            "(None allows all weights)"
        )
    if max_weight is not None:
        raise Unsupported(
            f"min_weight={least} together with max_weight={max_weight!r} is not supported; leave one of them out"
        )
    return least


def require_min_weight(weights: F64, least: float, options: Sequence[str] | None = None) -> None:
    """Raise unless every weight is zero or at least c, within `SUM_TOLERANCE`."""
    between = (weights > 0) & (weights < least - SUM_TOLERANCE)
    if between.any():
        i = int(np.argmax(between))
        raise InvalidInput(
            f"{label(i, options)}: weight {weights[i]:.12g} lies between 0 and min_weight {least:.12g}; "
            "it must be 0 or at least that"
        )
