"""How large things may be. What is larger is a slip or an attack, and is refused before memory is allocated.

Files say how much they hold before they hold it: a few bytes may stand for an archive, a table or an array that no
machine has room for. So every reader compares what a file declares with what is here first, and with itself: arrays
must have the shapes that go with what they belong to.

=======================================  ======================================================================
what is read                             limit
=======================================  ======================================================================
CSV (unpacked), Excel (unpacked),        `MOST_TABLE_BYTES`, `MOST_COLUMNS` columns, `MOST_CELLS` cells
Parquet (unpacked), files of rounds
saved learners and estimators            `MOST_DOCUMENT_BYTES`; statistics in the shapes of so many options
saved results, journals                  `MOST_RESULT_BYTES` unpacked, in the shapes of their simulation
specifications (TOML)                    `MOST_SPECIFICATION_BYTES`, `MOST_LEVELS` levels
=======================================  ======================================================================
"""

from __future__ import annotations

from math import log10

from covbandit.core import validation
from covbandit.errors import InvalidInput

MOST_OPTIONS = 10_000
"""A covariance then takes 0.8 GB."""

MOST_ROUNDS = 10**15
"""What a float counts exactly, and no machine plays."""

MOST_TABLE_BYTES = 2**28
"""Of a table, unpacked: 256 MiB of text."""

MOST_COLUMNS = 2**15
"""Of a table: twice as many as a spreadsheet has, and enough for the rounds of a study of `MOST_OPTIONS` options."""

MOST_CELLS = 20_000_000
"""Of a table: each takes up to 100 bytes of memory."""

MOST_DOCUMENT_BYTES = 2**32
"""Of a saved learner or estimator; with 1,000 options they have about 0.1 GB."""

MOST_RESULT_BYTES = 2**32
"""Of the arrays of a result or of one replication, unpacked."""

MOST_SPECIFICATION_BYTES = 2**25
"""Of a specification in TOML: a covariance of 1,000 options, written out, fits."""

MOST_LEVELS = 32
"""Of tables and lists within each other in a specification; no value needs more than three."""


def as_n_options(value: object, least: int) -> int:
    """Return d, not below `least` and not above `MOST_OPTIONS`."""
    return as_limited(value, "n_options", least, MOST_OPTIONS)


def as_rounds(value: object) -> int:
    """Return T, from 1 to `MOST_ROUNDS`."""
    return as_limited(value, "horizon", 1, MOST_ROUNDS)


def as_limited(value: object, name: str, least: int, most: int) -> int:
    """Return a whole number from `least` to `most`."""
    count = validation.as_count(value, name, least)
    if count > most:
        # Python refuses to write out very long numbers.
        written = f"{count:,}" if count < 10**20 else f"about 10^{log10(count):.0f}"
        raise InvalidInput(f"{name} must be at most {most:,}, got {written}")
    return count


def in_bytes(size: int) -> str:
    """Return a size as messages show it.

    Examples
    --------
    >>> in_bytes(3_000), in_bytes(2**28)
    ('3.0 kB', '268.4 MB')
    """
    for power, unit in ((9, "GB"), (6, "MB"), (3, "kB")):
        if size >= 10**power:
            return f"{size / 10**power:,.1f} {unit}"
    return f"{size} bytes"
