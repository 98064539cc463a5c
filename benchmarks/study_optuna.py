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

from sqlalchemy import event, text
from study_filling import Filling, fill_all
from study_floor import Floor
from study_places import Place, hasty
from study_rounds import LEARNERS, NAME, OPTIONS, outcomes, play
from study_spread import spread
from timing import Check, Section, say

import covbandit as cb
from covbandit.tables import Table

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
        ours: dict[str, list[float]] = {learner: [] for learner in LEARNERS}
        optuna: list[float] = []
        for k in range(-5, pairs):  # the first ones fill caches
            gc.collect()
            gc.disable()
            costs = {learner: play(study, learner, source).clock for learner, study in studies.items()}
            cost = trials.play()
            gc.enable()
            if k >= 0:
                floor.take_turn()
                optuna.append(cost)
                for learner, ours_took in costs.items():
                    ours[learner].append(ours_took)
        for learner, seconds in ours.items():
            studies[learner].close()
            ratio = statistics.median(optuna) / statistics.median(seconds)
            rows.append(
                [
                    f"{learner}, {place.title}",
                    spread(seconds, 1e3),
                    spread(optuna, 1e3),
                    ratio,
                    spread(floor.bare, 1e3),
                    spread(floor.disk, 1e3),
                ]
            )
            what = f"Optuna's ask+tell / ours at {many:,} rounds, {learner}, {place.title}"
            section.checks.append(Check(what, ratio, ">=", FASTER))
            section.data.append(
                {
                    "learner": learner,
                    "store": place.kind,
                    "rounds": many,
                    "clock": seconds,
                    "optuna_clock": optuna,
                    "two_bare_transactions": floor.bare,
                    "two_fsyncs": floor.disk,
                    "ratio": ratio,
                }
            )
        floor.close()
    columns = [
        "d = 20",
        "ms [middle half]",
        "Optuna, RandomSampler",
        "Optuna / ours",
        "floor: two bare transactions, ms",
        "two fsyncs, ms",
    ]
    title = f"One ask and one tell at {many:,} rounds, medians of {pairs} in turns"
    section.tables.append(Table(columns, rows, title))
    section.notes.append(
        "Optuna asks, suggests 20 floats and tells; RDBStorage with its default settings. Its trials were added by "
        "add_trials; commits did not wait for the disk while filling."
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
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._study = optuna.load_study(study_name=NAME, storage=url, sampler=optuna.samplers.RandomSampler(seed=1))

    def play(self) -> float:
        """Ask, suggest and tell one trial; return the seconds."""
        value = self._rng.random()
        begun = time.perf_counter()
        trial = self._study.ask()
        for name in OPTIONS:
            trial.suggest_float(name, 0.0, 1.0)
        self._study.tell(trial, value)
        return time.perf_counter() - begun


if __name__ == "__main__":
    _fill(sys.argv[1], int(sys.argv[3]))
