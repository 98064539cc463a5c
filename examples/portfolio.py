"""A portfolio of five funds, month by month, fed from a CSV file of returns.

The file is the only input: whoever runs this each month (a cron job, for example) adds a line to it and runs it again.
History before 2026 is told as it was held, 60 % SPY and 40 % TLT; from 2026 on the study is asked first and told later.
Nothing need be remembered between runs: each month is a key, and what was told before is not counted twice.

    python portfolio.py [--store portfolio.db] [--csv returns.csv]

Without a CSV file one is made up: months drawn at random, with the means and risks of the annual returns that the
package carries. They are no forecast, and this is no investment advice.
"""

import argparse
import csv
from pathlib import Path

import numpy as np

import covbandit as cb

HELD_BEFORE = {"SPY": 0.6, "TLT": 0.4}
FIRST_ASKED = "2026-01"
CAPITAL = 50_000


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


def opened(store: str, history: cb.data.Returns) -> cb.Study:
    """Return the study; the first time, create it with the ρ that gives a standard deviation of 2.5 % a month."""
    try:
        return cb.Study.open("portfolio", store=store)
    except cb.errors.NotFound:
        past = [row for month, row in zip(history.index, history.values, strict=True) if month < FIRST_ASKED]
        rho = cb.choose_risk_aversion(past, volatility=2.5)
        learner = cb.allocator(history.options, feedback="all", risk_aversion=rho)
        return cb.Study.create("portfolio", history.options, learner, outcome="per_unit", store=store)


def main() -> None:
    """Bring the study up to date with the file, and propose the next month's weights."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--store", default="sqlite:///portfolio.db", help="a URL or the path of a SQLite file")
    arguments.add_argument("--csv", type=Path, default=Path("returns.csv"))
    given = arguments.parse_args()
    if not given.csv.exists():
        write_example(given.csv)
        print(f"no {given.csv}: made one up")

    returns = cb.data.read_returns(given.csv, kind="returns", unit="percent")
    study = opened(given.store, returns)
    before = study.summary().told
    for month, row in zip(returns.index, returns.values.tolist(), strict=True):
        outcome = dict(zip(returns.options, row, strict=True))
        if month < FIRST_ASKED:
            study.tell_outside(HELD_BEFORE, outcome, key=month)
        else:
            study.tell(study.ask(key=month).id, outcome)
    print(f"{len(returns.index)} months in {given.csv}, {study.summary().told - before} of them new")

    proposed = study.ask(key=month_after(returns.index[-1]))
    print(f"\nfor {proposed.key}, round {proposed.id}, {CAPITAL:,} in steps of 10:")
    print(proposed.allocate(CAPITAL, step=10))
    print(f"\n{study.explain()}")

    best = study.frontier()
    now = best.current
    print(f"\nalong the frontier, in percent a month (this study: ρ = {study.risk_aversion:.3f})")
    for point in best.points[:: len(best.points) // 4]:
        print(f"  mean {point['mean']:.2f}  sd {point['sd']:.2f}  ρ {point['risk_aversion']:.3f}")
    print(f"  mean {now['mean']:.2f} ± {now['mean_error']:.2f}  sd {now['sd']:.2f} ± {now['sd_error']:.2f}  proposed")

    study.export("portfolio-rounds.csv")
    print(f"\nportfolio-rounds.csv has every round. Check: {study.verify().message}")


if __name__ == "__main__":
    main()
