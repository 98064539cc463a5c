"""The annual returns of five funds that the package carries."""

from __future__ import annotations

import numpy as np

from covbandit.data.returns import Returns

ETF_FUNDS = ("SPY", "EFA", "TLT", "VNQ", "XLE")
ETF_YEARS = range(2010, 2018)

# Annual total returns in percent, a row per fund.
_FIGURES = (
    (14.93, 2.06, 15.84, 32.21, 13.53, 1.34, 11.80, 21.69),
    (7.52, -12.18, 17.22, 22.62, -5.04, -0.90, 0.96, 24.94),
    (9.25, 33.60, 3.25, -13.91, 27.35, -1.65, 1.36, 8.92),
    (28.44, 8.62, 17.67, 2.42, 30.29, 2.37, 8.53, 4.95),
    (21.70, 2.98, 5.17, 26.16, -8.61, -21.47, 27.95, -1.01),
)


def etf_returns() -> Returns:
    """Return the annual total returns of SPY, EFA, TLT, VNQ and XLE from 2010 to 2017, in percent.

    The paper takes five funds from a Kaggle file (see `read_etf_file`) and does not say which. These are our choice.

    Examples
    --------
    >>> import covbandit as cb
    >>> print(cb.data.etf_returns().summary())
    8 returns in percent, 2010 to 2017, annual total returns of five ETFs of our choice
    largest variance (variance_bound): 269.844
    option   mean     sd     min    max
    SPY     14.18  9.372    1.34  32.21
    EFA     6.893  12.66  -12.18  24.94
    TLT     8.521  14.45  -13.91   33.6
    VNQ     12.91  10.54    2.37  30.29
    XLE     6.609  16.43  -21.47  27.95
    """
    return Returns(
        np.array(_FIGURES).T,
        options=ETF_FUNDS,
        index=[str(year) for year in ETF_YEARS],
        unit="percent",
        source="annual total returns of five ETFs of our choice",
    )
