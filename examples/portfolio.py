"""A portfolio of five funds, month by month, fed from a CSV file of returns.

The file is the only input: whoever runs this each month (a cron job, for example) adds a line to it and runs it again.
History before 2026 is told as it was held, 60 % SPY and 40 % TLT, or in equal shares if the file has other funds; from
2026 on the study is asked first and told later. Nothing need be remembered between runs: each month is a key, and what
was told before is not counted twice.

    python portfolio.py [--store portfolio.db] [--csv returns.csv] [--kind prices] [--unit fraction] [--volatility 3]

Any file that covbandit reads will do, with one line a month. Without one it is made up: months drawn at random, with
the means and risks of the annual returns that the package carries. They are no forecast, and this is no investment
advice.
"""

import argparse
import csv
import sys
from datetime import datetime
from pathlib import Path

import numpy as np

import covbandit as cb

HELD_BEFORE = {"SPY": 0.6, "TLT": 0.4}
FIRST_ASKED = "2026-01"
VOLATILITY = 2.5  # percent a month
CAPITAL = 50_000
DATES = ("%Y-%m", "%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%b-%y", "%d %b %Y")


def write_example(path: Path) -> None:
    """Write made-up monthly returns in percent, from January 2020 to October 2026."""
    annual = cb.data.etf_returns()
    months = [f"{year}-{month:02}" for year in range(2020, 2027) for month in range(1, 13)][:-2]
    rows = np.random.default_rng(2026).multivariate_normal(annual.mean / 12, annual.covariance / 12, size=len(months))
    with path.open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["month", *annual.options])
        lines.writerows([month, *(f"{value:.2f}" for value in row)] for month, row in zip(months, rows, strict=True))


def month_after(month: str) -> str:
    """Return the month that follows, written alike."""
    year, number = map(int, month.split("-"))
    return f"{year + number // 12}-{number % 12 + 1:02}"


def months_of(labels: tuple[str, ...]) -> list[str]:
    """Return the month of every line, as 2026-01; refuse a file that has not one line a month."""
    for form in DATES:
        try:
            months = [f"{datetime.strptime(label, form):%Y-%m}" for label in labels]
        except ValueError:
            continue
        if months == sorted(set(months)):
            return months
    raise cb.errors.InvalidInput(
        f"one line a month is needed, labelled as 2026-01 or 2026-01-31; got {labels[0]!r}, ..."
    )


def suitable_volatility(past: list[list[float]], wanted: float | None) -> float:
    """Return the standard deviation asked for or, if none is, 2.5 % or what the funds allow that is nearest to it."""
    if wanted is not None:
        return wanted
    path = cb.risk_path(past)
    least, most = path.minimum_sd, float(path.sd.max())
    inside = 0.02 * (most - least)  # at the very ends many risk aversions give the same
    chosen = min(max(VOLATILITY, least + inside), most - inside)
    if chosen != VOLATILITY:
        print(f"these funds allow a standard deviation of {least:.2f} to {most:.2f} % a month: {chosen:.2f} is taken")
    return chosen


def opened(store: str, history: cb.data.Returns, months: list[str], volatility: float | None) -> cb.Study:
    """Return the study; the first time, create it with the ρ that gives the standard deviation wanted."""
    try:
        return cb.Study.open("portfolio", store=store)
    except cb.errors.NotFound:
        rows = zip(months, history.values.tolist(), strict=True)
        past = [row for month, row in rows if month < FIRST_ASKED]
        if len(past) < 3:
            raise cb.errors.InvalidInput(
                f"too little history to begin with: {len(past)} months before {FIRST_ASKED}"
            ) from None
        rho = cb.choose_risk_aversion(past, volatility=suitable_volatility(past, volatility))
        learner = cb.allocator(history.options, feedback="all", risk_aversion=rho)
        return cb.Study.create("portfolio", history.options, learner, outcome="per_unit", store=store)


def main() -> None:
    """Bring the study up to date with the file, and propose the next month's weights."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--store", default="sqlite:///portfolio.db", help="a URL or the path of a SQLite file")
    arguments.add_argument("--csv", type=Path, default=Path("returns.csv"), help="a CSV, Excel or Parquet file")
    arguments.add_argument("--kind", choices=("returns", "prices"), default="returns", help="what the file holds")
    arguments.add_argument("--unit", choices=("percent", "fraction"), default="percent", help="of the returns in it")
    arguments.add_argument("--volatility", type=float, help="the standard deviation wanted, in percent a month")
    given = arguments.parse_args()
    if not given.csv.exists():
        write_example(given.csv)
        print(f"no {given.csv}: made one up")

    returns = cb.data.read_returns(given.csv, kind=given.kind, unit=given.unit).to_percent()
    for note in returns.notes:
        print(f"note: {note}")
    months = months_of(returns.index)
    study = opened(given.store, returns, months, given.volatility)
    if set(study.options) != set(returns.options):
        raise cb.errors.InvalidInput(
            f"the study in {given.store} is of other funds than {given.csv}; name another --store"
        )
    equal = {name: 1 / len(returns.options) for name in returns.options}
    held = HELD_BEFORE if set(HELD_BEFORE) <= set(returns.options) else equal
    before = study.summary().told
    for month, row in zip(months, returns.values.tolist(), strict=True):
        outcome = dict(zip(returns.options, row, strict=True))
        if month < FIRST_ASKED:
            study.tell_outside(held, outcome, key=month)
        else:
            study.tell(study.ask(key=month).id, outcome)
    print(f"{len(months)} months in {given.csv}, {study.summary().told - before} of them new")

    proposed = study.ask(key=month_after(months[-1]))
    print(f"\nfor {proposed.key}, round {proposed.id}, {CAPITAL:,} in steps of 10:")
    print(proposed.allocate(CAPITAL, step=10))
    print(f"\n{study.explain()}")

    best = study.frontier()
    now = best.current
    print(f"\nalong the frontier, in percent a month (this study: ρ = {study.risk_aversion:.3f})")
    for point in best.points[:: max(1, len(best.points) // 4)]:
        print(f"  mean {point['mean']:.2f}  sd {point['sd']:.2f}  ρ {point['risk_aversion']:.3f}")
    print(f"  mean {now['mean']:.2f} ± {now['mean_error']:.2f}  sd {now['sd']:.2f} ± {now['sd_error']:.2f}  proposed")

    study.export("portfolio-rounds.csv")
    print(f"\nportfolio-rounds.csv has every round. Check: {study.verify().message}")


if __name__ == "__main__":
    try:
        main()
    except (cb.errors.CovbanditError, OSError) as error:
        sys.exit(f"error: {error}")
