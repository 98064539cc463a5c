"""A weekly budget over five channels: amounts, outcomes that come late and out of order, a correction, a new channel.

Each week 10,000 are split. What a channel has sold is known two to four weeks later, and only for channels that had
money. By then further weeks have been asked for: each is a key, and waits for its own outcome.

    python campaign_budget.py [--store campaign.db] [--weeks 30]

Run it twice, and the second run finds everything told; ``--weeks 40`` then goes on where the first one stopped.
All sales are made up.
"""

import argparse

import numpy as np

import covbandit as cb

BUDGET = 10_000
# What the study does not know: mean and standard deviation of the sales if all money went into one channel.
SALES = {
    "search": (12_000, 3_000),
    "social": (11_000, 3_500),
    "video": (12_500, 6_000),
    "mail": (11_000, 2_500),
    "events": (9_500, 5_000),
    "podcast": (12_500, 3_000),
}
CORRECTED, CHANGED = 20, 16  # weeks: whose report was wrong; from which on there are podcasts instead of events


def opened(store: str) -> cb.Study:
    """Return the study, created the first time; ρ is in one over money, as rewards are in money."""
    channels = ["search", "social", "video", "mail", "events"]
    learner = cb.allocator(channels, feedback="chosen", risk_aversion=0.0002, min_weight=0.2)
    try:
        return cb.Study.create("campaign budget", channels, learner, outcome="amount", store=store)
    except cb.errors.Conflict:
        return cb.Study.open("campaign budget", store=store)


def sold(week: int, amounts: dict[str, int]) -> dict[str, float]:
    """Return what the channels with money sold in a week: the same whenever it is looked up."""
    draws = dict(zip(SALES, np.random.default_rng([7, week]).standard_normal(len(SALES)), strict=True))
    full = {name: mean + sd * draws[name] for name, (mean, sd) in SALES.items()}
    return {name: round(full[name] * amount / BUDGET, 2) for name, amount in amounts.items() if amount > 0}


def report(study: cb.Study, week: int) -> bool:
    """Tell a week's sales with what was really spent, whole hundreds; return False if that was done before."""
    asked = study.ask(key=f"2026-W{week:02}")  # the same round again, however long ago it was asked for
    if asked.status == "told":
        return False
    spent = asked.allocate(BUDGET, step=100)
    sales = sold(week, spent)
    if week == CORRECTED:
        sales["search"] = round(10 * sales["search"], 2)  # a slip of the pen
    study.tell(asked.id, sales, weights={name: amount / BUDGET for name, amount in spent.items()})
    return True


def main() -> None:
    """Play the weeks that have not been played yet."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--store", default="sqlite:///campaign.db", help="a URL or the path of a SQLite file")
    arguments.add_argument("--weeks", type=int, default=30)
    given = arguments.parse_args()
    study = opened(given.store)
    before = study.summary()
    delay = {week: 2 + int(np.random.default_rng([8, week]).integers(3)) for week in range(1, given.weeks + 1)}
    for week in range(1, given.weeks + 1):
        if week == CHANGED and "events" in study.options:
            study.retire("events")
            print(f"W{week:02}  events are retired")
        if week == CHANGED and "podcast" not in study.options:
            study.add_option("podcast")
            print(f"W{week:02}  podcast is new")
        asked = study.ask(key=f"2026-W{week:02}")
        due = [f"W{past:02}" for past in range(1, week) if past + delay[past] == week and report(study, past)]
        if asked.id > before.rounds:
            spent = {name: amount for name, amount in asked.allocate(BUDGET, step=100).items() if amount}
            print(f"W{week:02}  {spent}", *([f" told: {', '.join(due)}"] if due else []))
        if week == CORRECTED + 6:
            wrong = study.ask(key=f"2026-W{CORRECTED:02}")
            if not wrong.amendments:
                search = round(wrong.outcome["search"] / 10, 2)
                study.amend(wrong.id, {**wrong.outcome, "search": search})
                print(f"W{week:02}  corrected W{CORRECTED:02}: search sold {search}, not {wrong.outcome['search']}")

    now = study.summary()
    new = now.told - before.told
    print(f"\n{now.rounds} weeks, {now.told} told ({new} new), {now.open} open, {now.amended} corrected")
    print(f"\n{study.explain()}\n\nCheck: {study.verify().message}")


if __name__ == "__main__":
    main()
