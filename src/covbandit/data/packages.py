"""Market prices that lie inside an installed package, read from its files without importing it."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from covbandit.core.tables import Table
from covbandit.data.names import is_among, listed
from covbandit.data.reading import read_returns
from covbandit.data.returns import Returns
from covbandit.errors import InvalidInput, MissingExtra

_FOLDER = ("datasets", "data")
_FILES = {
    "skfolio/sp500": ("sp500_dataset.csv.gz", "20 stocks of the S&P 500, daily prices 1990-2022"),
    "skfolio/factors": ("factors_dataset.csv.gz", "5 factor ETFs, daily prices 2014-2022"),
    "skfolio/sp500-index": ("sp500_index.csv.gz", "the S&P 500 index, daily 1990-2022"),
}
"""Those in skfolio's wheel; others it downloads."""


def packaged() -> Table:
    """Return which market data can be read from installed packages.

    Examples
    --------
    >>> import covbandit as cb
    >>> print(cb.data.packaged())
    name                 what                                              installed
    skfolio/sp500        20 stocks of the S&P 500, daily prices 1990-2022  yes
    skfolio/factors      5 factor ETFs, daily prices 2014-2022             yes
    skfolio/sp500-index  the S&P 500 index, daily 1990-2022                yes
    """
    return Table(
        ["name", "what", "installed"],
        [[name, what, "yes" if _is_file(name) else "no"] for name, (_, what) in _FILES.items()],
    )


def read_packaged(name: str, options: Sequence[str] | None = None, unit: str = "fraction") -> Returns:
    """Return daily returns from prices that lie inside an installed package (extra ``market``).

    Parameters
    ----------
    name : str
        One of `packaged`.
    options : sequence of str, optional
        Which columns; by default all.
    unit : {"fraction", "percent"}
        What to give.

    Examples
    --------
    >>> import covbandit as cb
    >>> cb.data.read_packaged("skfolio/factors", unit="percent")
    Returns(2,263 rounds of MTUM, QUAL, SIZE, USMV, VLUE; percent; 2014-01-03 to 2022-12-28; skfolio/factors)
    """
    if not is_among(name, _FILES):
        raise InvalidInput(f"no packaged data {name!r}; there are {listed(list(_FILES))}")
    path = _path(name)
    if path is None:
        raise MissingExtra(f"{name} lies inside the package skfolio: pip install 'covbandit[market]'")
    if not path.is_file():
        raise InvalidInput(
            f"the installed skfolio does not hold {path.name}; the version of it that constraints.txt names does"
        )
    prices = read_returns(path, kind="prices", options=options, unit=unit)
    return Returns(prices.values, prices.options, prices.index, prices.unit, name, prices.notes)


def _path(name: str) -> Path | None:
    """Return where a file would lie, None if its package is not installed."""
    # The spec of a package at top level is found without running any of its code.
    spec = find_spec(name.split("/")[0])
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0], *_FOLDER, _FILES[name][0])


def _is_file(name: str) -> bool:
    path = _path(name)
    return path is not None and path.is_file()
