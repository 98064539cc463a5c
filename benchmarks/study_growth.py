"""Part "growth": whether a round costs more after 100,000 rounds than after 100."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from process_time import server_clock
from study_filling import Filling, fill_all
from study_floor import Floor
from study_places import Place
from study_rounds import LEARNERS, NAME, Cost, create, outcomes, play
from study_spread import spread
from timing import Check, Section, say

import covbandit as cb
from covbandit.core.tables import Table

FEW = 100
_BLOCK = 25  # timed pairs before the small study is made anew


def measure_growth(places: Sequence[Place], many: int, pairs: int) -> Section:
    """Time rounds of a small and of a large study in turns, for each learner and each kind of database."""
    section = Section("growth")
    cases = [(place, learner, place.new()) for place in places for learner in LEARNERS]
    say(f"growth: filling {len(cases)} stores with {many:,} rounds each")
    fill_all([Filling(url, learner, many) for _, learner, url in cases])
    rows, floors = [], []
    for place, learner, url in cases:
        say(f"growth: {learner} on {place.title}, {pairs} pairs of each size in turns")
        small, large, alone, floor = _race(place, learner, url, pairs)
        halves = [[cost.cpu for cost in side] for side in (small, large)]
        few, after = (statistics.median(half) for half in halves)
        rows.append(
            [
                f"{learner}, {place.title}",
                spread(halves[0], 1e3),
                spread(halves[1], 1e3),
                after / few,
                *(1e3 * statistics.median(side) for side in alone),
                *(1e3 * statistics.median(cost.clock for cost in side) for side in (small, large)),
            ]
        )
        least = statistics.median(floor.bare)
        floors.append([f"{learner}, {place.title}", spread(floor.bare, 1e3), after / least, spread(floor.disk, 1e3)])
        section.checks.append(
            Check(f"ask+tell after {many:,} / after {FEW} rounds, {learner}, {place.title}", after / few, "<=", 1.2)
        )
        section.checks.append(
            Check(f"ask+tell / two bare transactions, {learner}, {place.title}", after / least, "<=", 6.0, "indicative")
        )
        section.data.append(
            {
                "learner": learner,
                "store": place.kind,
                "rounds": [FEW, many],
                "cpu": halves,
                "clock": [[cost.clock for cost in side] for side in (small, large)],
                "ratio": after / few,
                "learner_alone": alone,
                "two_bare_transactions": floor.bare,
                "two_fsyncs": floor.disk,
            }
        )
    columns = [
        "d = 20",
        f"CPU ms after {FEW} [middle half]",
        f"after {many:,}",
        "ratio",
        f"learner alone, CPU ms after {FEW}",
        f"after {many:,}",
        f"by the clock, ms after {FEW} (indicative)",
        f"after {many:,}",
    ]
    section.tables.append(Table(columns, rows, f"One ask and one tell in process, medians of {pairs} in turns"))
    columns = [
        "d = 20",
        "two bare transactions, CPU ms",
        f"pair after {many:,} / two bare transactions",
        "two fsyncs by the clock, ms (indicative)",
    ]
    section.tables.append(Table(columns, floors, "The floor, in the same turns"))
    section.notes.append(
        f"All {many:,} rounds were asked and told one by one; while filling, commits did not wait for the disk and "
        "PairUCB thought anew every 20th round only. CPU is that of this process, user and system, and of the "
        "PostgreSQL processes that serve its connections, on both sides of every ratio; what PostgreSQL's databases "
        "share (checkpoints, the writer of the log) is not in it. The learner alone asks and is told without any store."
    )
    return section


class _Race(NamedTuple):
    """The costs of rounds of the small and the large study, those of their learners alone, and the floor."""

    small: list[Cost]
    large: list[Cost]
    alone: tuple[list[float], list[float]]
    floor: Floor


def _race(place: Place, learner: str, url: str, pairs: int) -> _Race:
    big = cb.Study.open(NAME, store=url)
    watch = server_clock(url)
    source, floor = outcomes(1), Floor(place)
    costs: tuple[list[Cost], list[Cost]] = ([], [])
    alone: tuple[list[float], list[float]] = ([], [])
    for _ in range(FEW // 2):
        play(big, learner, source)
    while len(costs[0]) < pairs:
        new = place.new()
        little = create(new, learner)
        clocks = (server_clock(new), watch)
        for _ in range(FEW):
            play(little, learner, source)
        gc.collect()
        gc.disable()
        for k in range(min(_BLOCK, pairs - len(costs[0]))):
            for side in (0, 1) if k % 2 else (1, 0):
                costs[side].append(play((little, big)[side], learner, source, clocks[side]))
            floor.take_turn()
        gc.enable()
        for side, study in enumerate((little, big)):
            alone[side].extend(_thinking(study))
        little.close()
    big.close()
    floor.close()
    return _Race(*costs, alone, floor)


def _thinking(study: cb.Study) -> list[float]:
    """Return what some asks and tells cost a copy of the study's learner, in seconds of the processor."""
    copy = study.learner
    rewards = np.zeros(copy.n_options)
    found = []
    for _ in range(5):
        begun = time.process_time()
        weights = copy.ask()
        copy.tell(weights, np.where(weights > 0.0, rewards, np.nan) if copy.feedback == "chosen" else rewards)
        found.append(time.process_time() - begun)
    return found
