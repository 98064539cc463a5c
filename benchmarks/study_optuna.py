"""Part "optuna": a round of a study against a trial of Optuna, with its cheapest sampler, on the same kind of database.

Both hold 10,000 rounds or trials over 20 numbers. Optuna is used as its documentation shows, with the settings that its
storage has by default: ask, suggest the numbers, tell.

Run as a program with a URL, a name and a number, it adds so many trials to a new study of Optuna there.
"""

from __future__ import annotations

import gc
import random
import sqlite3
import statistics
import sys
import time
import warnings
from collections.abc import Sequence
from typing import Any

from process_time import server_clock
from sqlalchemy import event, text
from study_filling import Filling, fill_all
from study_floor import Floor
from study_places import Place, hasty
from study_rounds import LEARNERS, NAME, OPTIONS, Cost, costing, outcomes, play
from study_spread import spread
from timing import Check, Section, say

import covbandit as cb
from covbandit.core.tables import Table

FASTER = 3.0
_AT_ONCE = 500  # trials added between lines of progress


def measure_optuna(places: Sequence[Place], many: int, pairs: int) -> Section:
    """Time rounds and trials in turns."""
    section = Section("optuna")
    rows = []
    made = [(place, {learner: place.new() for learner in LEARNERS}, place.new()) for place in places]
    say(f"optuna: filling {3 * len(made)} databases with {many:,} rounds or trials each")
    theirs_first = [Filling(theirs, "Optuna", many, __file__) for _, _, theirs in made]
    fill_all(theirs_first + [Filling(url, learner, many) for _, urls, _ in made for learner, url in urls.items()])
    for place, stores, theirs in made:
        say(f"optuna: {pairs} pairs on {place.title} in turns")
        trials = _Trials(theirs)
        studies = {learner: cb.Study.open(NAME, store=url) for learner, url in stores.items()}
        source, floor = outcomes(1), Floor(place)
        clocks = {learner: server_clock(url) for learner, url in stores.items()}
        ours: dict[str, list[Cost]] = {learner: [] for learner in LEARNERS}
        optuna: list[Cost] = []
        for k in range(-5, pairs):  # the first ones fill caches
            gc.collect()
            gc.disable()
            # Back and forth, so that nobody always runs behind the same neighbour.
            turns = [*studies, None] if k % 2 else [None, *reversed(studies)]
            costs = {
                each: trials.play() if each is None else play(studies[each], each, source, clocks[each])
                for each in turns
            }
            gc.enable()
            if k >= 0:
                floor.take_turn()
                optuna.append(costs[None])
                for learner in LEARNERS:
                    ours[learner].append(costs[learner])
        theirs_cpu = [cost.cpu for cost in optuna]
        for learner, costs_of_it in ours.items():
            studies[learner].close()
            seconds = [cost.cpu for cost in costs_of_it]
            ratio = statistics.median(theirs_cpu) / statistics.median(seconds)
            rows.append(
                [
                    f"{learner}, {place.title}",
                    spread(seconds, 1e3),
                    spread(theirs_cpu, 1e3),
                    ratio,
                    spread(floor.bare, 1e3),
                    *(1e3 * statistics.median(cost.clock for cost in side) for side in (costs_of_it, optuna)),
                ]
            )
            what = f"Optuna's ask+tell / ours at {many:,} rounds, {learner}, {place.title}"
            section.checks.append(Check(what, ratio, ">=", FASTER))
            section.data.append(
                {
                    "learner": learner,
                    "store": place.kind,
                    "rounds": many,
                    "cpu": seconds,
                    "optuna_cpu": theirs_cpu,
                    "clock": [cost.clock for cost in costs_of_it],
                    "optuna_clock": [cost.clock for cost in optuna],
                    "two_bare_transactions": floor.bare,
                    "two_fsyncs": floor.disk,
                    "ratio": ratio,
                }
            )
        floor.close()
    columns = [
        "d = 20",
        "CPU ms [middle half]",
        "Optuna, RandomSampler",
        "Optuna / ours",
        "floor: two bare transactions, CPU ms",
        "by the clock, ms (indicative)",
        "Optuna",
    ]
    title = f"One ask and one tell at {many:,} rounds, medians of {pairs} in turns"
    section.tables.append(Table(columns, rows, title))
    section.notes.append(
        "Optuna asks, suggests 20 floats and tells; RDBStorage with its default settings. Its trials were added by "
        "add_trials; commits did not wait for the disk while filling. CPU is that of this process, user and system, "
        "and of the PostgreSQL processes that serve its connections, on both sides of every ratio."
    )
    return section


def _fill(url: str, many: int) -> None:
    """Add trials to a new study of Optuna."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    storage = optuna.storages.RDBStorage(url if url.startswith("sqlite") else hasty(url))
    if url.startswith("sqlite"):
        event.listen(storage.engine, "connect", _without_waiting)
        storage.engine.dispose()
    study = optuna.create_study(study_name=NAME, storage=storage)
    rng = random.Random(0)
    distributions: Any = {name: optuna.distributions.FloatDistribution(0.0, 1.0) for name in OPTIONS}
    shown = time.monotonic()
    for done in range(0, many, _AT_ONCE):
        study.add_trials(
            [
                optuna.create_trial(
                    params={name: rng.random() for name in OPTIONS}, distributions=distributions, value=rng.random()
                )
                for _ in range(min(_AT_ONCE, many - done))
            ]
        )
        if time.monotonic() - shown > 20.0:
            shown = time.monotonic()
            say(f"  Optuna: {done + _AT_ONCE:,} of {many:,} trials")
    if not url.startswith("sqlite"):
        with storage.engine.connect() as connection:
            connection.execution_options(isolation_level="AUTOCOMMIT").execute(text("CHECKPOINT"))
    storage.engine.dispose()


def _without_waiting(connection: sqlite3.Connection, _record: object) -> None:
    connection.execute("PRAGMA synchronous=OFF")


class _Trials:
    """A study of Optuna, opened as its users do."""

    def __init__(self, url: str) -> None:
        import optuna

        self._rng = random.Random(1)
        self._server = server_clock(url)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._study = optuna.load_study(study_name=NAME, storage=url, sampler=optuna.samplers.RandomSampler(seed=1))

    def play(self) -> Cost:
        """Ask, suggest and tell one trial; return what that costs."""
        value = self._rng.random()

        def trial() -> None:
            asked = self._study.ask()
            for name in OPTIONS:
                asked.suggest_float(name, 0.0, 1.0)
            self._study.tell(asked, value)

        return costing(self._server, trial)


if __name__ == "__main__":
    _fill(sys.argv[1], int(sys.argv[3]))
