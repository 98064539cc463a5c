"""What the words on the command line mean: numbers, outcomes, weights, leases, learners."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from covbandit.core import validation
from covbandit.core.number_hints import way_out
from covbandit.errors import InvalidInput

if TYPE_CHECKING:
    from covbandit.studies import Study

_SHARES = ("weight", "cap")
_UNITS = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 604_800.0}


def as_number(text: str, what: str, share: bool = False) -> float:
    """Return a number as people write it; the study decides whether it may be used.

    Text that may mean two numbers is refused, and the message names both. With `share`, the number is a share of one.
    """
    try:
        if "_" in text:
            raise ValueError
        return float(text)
    except ValueError:
        pass
    if not text.strip():
        raise InvalidInput(f"{what} has no value; what is not known is not zero: tell it when it is known")
    raise InvalidInput(f"{what} must be a number, got {text!r}{way_out(text, share)}")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def as_pairs(texts: Sequence[str], what: str, options: Sequence[str]) -> dict[str, float]:
    """Return numbers by option name from ``NAME=NUMBER``, split at the last ``=``, or several joined by commas."""
    found: dict[str, float] = {}
    for text in texts:
        for given, number in _pairs(text, what, options):
            name = validation.known_name(given, options) or given
            if name in found:
                raise InvalidInput(
                    f"{what}: option {name!r} is named twice; note that --played takes one OPTION=WEIGHT, or several "
                    "joined by commas"
                )
            found[name] = as_number(number, f"{what} of option {name!r}", share=what in _SHARES)
    return found


def _pairs(text: str, what: str, options: Sequence[str]) -> list[tuple[str, str]]:
    if text.lstrip().startswith("{"):
        given = from_json(text, what)
        return [(str(name), str(value)) for name, value in given.items()]
    name, mark, number = text.rpartition("=")
    if mark and validation.known_name(name, options) is not None:
        return [(name, number)]
    parts = [part.strip().rpartition("=") for part in text.split(",")]
    if len(parts) > 1 and all(part[1] and _is_number(part[2]) for part in parts):
        return [(part[0], part[2]) for part in parts]
    if mark and len(parts) > 1 and "," in name:
        without = next((part[2] for part in parts if not part[1]), None)
        if without is not None:
            raise InvalidInput(
                f"{what}: {text!r} is not understood: commas stand between options here, and {without!r} has no "
                "option; write numbers with a decimal point and nothing between thousands"
            )
    if text.startswith("-") and not mark:
        raise InvalidInput(f"there is no option {text}; the command's --help shows those there are")
    if not mark or not name:
        raise InvalidInput(f"{what} must be given as OPTION=NUMBER, such as {options[0]}=0.1, got {text!r}")
    return [(name, number)]


def as_outcome(texts: Sequence[str], text_of_json: str | None, options: Sequence[str]) -> Any:
    """Return an outcome from pairs, a single number, JSON, or JSON on standard input."""
    if text_of_json is not None:
        if texts:
            raise InvalidInput(f"the outcome is given twice, by --outcome-json and as {' '.join(texts)}; leave one out")
        return from_json(text_of_json, "--outcome-json")
    if list(texts) == ["-"]:
        return from_json(sys.stdin.read(), "standard input")
    if not texts:
        raise InvalidInput(
            f"no outcome: give it as {options[0]}=0.1 for each option, as one number where only the total is seen, by "
            "--outcome-json, or - to read JSON from standard input"
        )
    if len(texts) == 1 and "=" not in texts[0] and not texts[0].startswith("--"):
        return as_number(texts[0], "outcome (OPTION=NUMBER, or one number where only the total is seen)")
    return as_pairs(texts, "outcome", options)


def as_played(texts: Sequence[str] | None, options: Sequence[str]) -> dict[str, float] | None:
    """Return weights by option name; None if none are given."""
    return as_pairs(texts, "weight", options) if texts else None


def from_json(text: str, what: str) -> Any:
    """Return what strict JSON says: no NaN, no key twice."""

    def refuse(constant: str) -> Any:
        raise InvalidInput(f"{what}: {constant} is no number in JSON; null stands for what is not known")

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                raise InvalidInput(f"{what}: {key!r} is named twice")
            found[key] = value
        return found

    try:
        return json.loads(text, parse_constant=refuse, object_pairs_hook=once)
    except json.JSONDecodeError as error:
        raise InvalidInput(f"{what} is not JSON: {error}; got {text[:60]!r}") from None
    except InvalidInput:
        raise
    except ValueError:  # Python refuses to convert very many digits
        raise InvalidInput(f"{what}: a number has too many digits to be read; write it with less") from None
    except MemoryError:
        raise InvalidInput(f"{what} does not fit into the memory of this machine") from None
    except RecursionError:
        raise InvalidInput(f"{what} is nested too deeply") from None


def as_lease(text: str) -> timedelta | None:
    """Return how long a round stays open: ``30d``, ``12h``, ``90s``, seconds, or ``none`` for ever.

    Examples
    --------
    >>> as_lease("12h"), as_lease("none")
    (datetime.timedelta(seconds=43200), None)
    """
    word = text.strip().lower()
    if word == "none":
        return None
    number, unit = (word[:-1], _UNITS[word[-1]]) if word[-1:] in _UNITS else (word, 1.0)
    try:
        return timedelta(seconds=validation.as_positive(float(number), "lease") * unit)
    except (ValueError, OverflowError):
        raise InvalidInput(
            f"lease must be a time such as 30d, 12h, 30m, 90s (days, hours, minutes, seconds), or none, got {text!r}"
        ) from None


def as_round(text: str) -> int:
    """Return a round's number."""
    if not (text.isascii() and text.isdecimal()):
        raise InvalidInput(f"ROUND must be the number of a round, as ask gave it, got {text!r}")
    return int(text[:20])


def as_exact(text: str, name: str) -> Decimal:
    """Return a number with the digits that were written."""
    try:
        if "_" in text:
            raise InvalidOperation
        return Decimal(text)
    except InvalidOperation:
        raise InvalidInput(f"{name} must be a number, got {text!r}{way_out(text)}") from None


def all_options(study: Study) -> tuple[str, ...]:
    """Return the names of the options in use and of the retired ones."""
    return (*study.options, *study.retired)


def as_options(each: Sequence[str] | None, joined: str | None) -> list[str]:
    """Return option names from ``--option``, repeated, and ``--options A,B,C``."""
    names = [*(each or ()), *(part.strip() for part in (joined.split(",") if joined is not None else ()))]
    if not names:
        raise InvalidInput("no options: name them by --options SPY,TLT, or one by one with --option SPY --option TLT")
    return names


def as_learner(
    options: Sequence[str],
    *,
    feedback: str | None,
    learner: str | None,
    risk_aversion: str | None,
    min_weight: str | None,
    max_weight: str | None,
    seed: int | None,
    settings: Sequence[str] | None,
) -> dict[str, Any]:
    """Return the description of a learner, as `covbandit.Study.create` takes it."""
    if (feedback is None) == (learner is None):
        raise InvalidInput(
            "say what is seen of a round, --feedback all, chosen or total, and the default learner for it is "
            "taken; or name one, --learner MCEmpirical" + ("" if learner is None else "; not both")
        )
    if feedback is not None and risk_aversion is None:
        raise InvalidInput(
            "no risk aversion: --risk-aversion RHO is the mean reward given up per unit of variance, in 1 / (unit of "
            "reward); 0 looks at the mean only; in Python cb.choose_risk_aversion helps to find it"
        )
    given = {
        "risk_aversion": None if risk_aversion is None else as_number(risk_aversion, "--risk-aversion"),
        "min_weight": None if min_weight is None else as_number(min_weight, "--min-weight", share=True),
        "max_weight": None if max_weight is None else _caps(max_weight, options, by_name=learner is None),
        "seed": seed,
    }
    described = {key: value for key, value in given.items() if value is not None}
    for setting in settings or ():
        key, mark, value = setting.partition("=")
        if not mark or not key:
            raise InvalidInput(f"--set takes KEY=VALUE, such as half_life=50, got {setting!r}")
        if key in described or key in ("class", "feedback"):
            raise InvalidInput(f"--set {setting}: {key} has an option of its own, or is given twice")
        described[key] = _json_or_text(value)
    return {**({"class": learner} if feedback is None else {"feedback": feedback}), **described}


def _caps(text: str, options: Sequence[str], by_name: bool) -> Any:
    if "=" not in text and not text.lstrip().startswith(("{", "[")):
        return as_number(text, "--max-weight", share=True)
    caps = from_json(text, "--max-weight") if text.lstrip().startswith("[") else as_pairs([text], "cap", options)
    return caps if by_name else validation.in_option_order(caps, tuple(options), "max_weight", default=1.0)


def _json_or_text(text: str) -> Any:
    try:
        return from_json(text, "--set")
    except InvalidInput:
        return text
