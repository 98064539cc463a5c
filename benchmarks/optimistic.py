"""The optimistic maximiser on problems that learners met: fast, certified, and SCIP."""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numba
import numpy as np
from ascents import best_of_ascents
from cpu_time import cpu_seconds, no_collection, repeated, silenced
from harvest import Instance, harvest, problems_of, rounds_of
from numba import types
from peers import PeerError
from peers.scip import ScipPeer
from timing import Check, Section, say

import covbandit as cb
from covbandit.core.tables import Table
from covbandit.core.typing import F64
from covbandit.kernels.jit.compilation import callback
from covbandit.learners.protocol.state import DECIDE, STATE_TYPE, State

MISS = 1e-8  # relative: below this the search has found the optimum
TIGHT = "SCIP, 1e-9"
LOOSE = "SCIP, 1e-6"  # SCIP's default tolerances


@dataclass(frozen=True)
class Case:
    """Problems of one dimension, and who solves them how.

    Parameters
    ----------
    d : int
        Number of options.
    risk_aversions, min_weights : sequence of float
        Every kind of correlation is combined with every ρ; the values of c take turns.
    seeds : int
        So many problems of each combination.
    moments : int
        Rounds at which each of the two learners is stopped, from the first after start-up to the last.
    last : int
        That last round.
    scip : int
        How many of the instances SCIP has to solve, chosen at random. Ratios are over these.
    limit : float
        Seconds after which SCIP is stopped.
    loose : bool
        Whether SCIP solves them with its default tolerances, too.
    tolerance : float
        The certificate sought, relative.
    """

    d: int
    risk_aversions: Sequence[float]
    min_weights: Sequence[float]
    seeds: int
    moments: int
    last: int = 10_000
    scip: int = 0
    limit: float = 10.0
    loose: bool = False
    tolerance: float = 1e-9

    @property
    def title(self) -> str:
        """The dimension, and c if there is only one."""
        return f"{self.d}, c = {self.min_weights[0]:g}" if len(self.min_weights) == 1 else f"{self.d}"


CASES = (
    Case(5, (0.1, 1.0, 10.0), (0.1, 0.2, 0.15, 0.3), seeds=3, moments=12, scip=32, limit=10.0, loose=True),
    Case(10, (0.1, 1.0, 10.0), (0.1, 0.2, 0.05, 0.3), seeds=1, moments=12, scip=16, limit=10.0),
    Case(20, (0.1, 10.0), (0.2,), seeds=1, moments=5, last=6_000, tolerance=1e-6),
)
QUICK_CASES = (
    Case(5, (0.1, 1.0, 10.0), (0.1, 0.2, 0.15, 0.3), seeds=1, moments=6, scip=10, limit=2.0),
    Case(10, (1.0,), (0.1, 0.2, 0.05, 0.3), seeds=1, moments=6, scip=4, limit=2.0),
    Case(20, (0.1,), (0.2,), seeds=1, moments=2, last=1_000, tolerance=1e-6),
)
BUCKETS = (300, 1_000, 3_000, 10_000)  # misses are counted by these rounds, too


@dataclass
class Outcome:
    """What came of one instance: quality relative to the unit of the certificate, CPU seconds by contestant."""

    instance: Instance
    proven: cb.Optimum
    gap: float
    miss: float
    warm_miss: float
    seconds: dict[str, float]
    unfinished: dict[str, str] = field(default_factory=dict)
    scip_above: float = -np.inf  # how much better SCIP's weights are
    bound_below: float = -np.inf  # by how much SCIP's bound contradicts our weights

    def to_dict(self) -> dict[str, object]:
        """Return plain data."""
        return {
            "origin": self.instance.origin,
            "t": self.instance.t,
            "d": len(self.instance.mean),
            "min_weight": self.instance.min_weight,
            "certified": self.proven.certified,
            "gap": self.gap,
            "nodes": self.proven.nodes,
            "miss": self.miss,
            "warm_miss": self.warm_miss,
            "cpu_seconds": self.seconds,
            "unfinished": self.unfinished,
        }


@numba.njit(
    numba.void(types.FunctionType(DECIDE), STATE_TYPE, types.int64, types.float64[::1], types.int64),
    nogil=True,
    error_model="numpy",
)
def _decide_often(decide: Callable[..., None], s: State, t: int, w: F64, times: int) -> None:
    for _ in range(times):
        decide(s, t, w)


def _decision(instance: Instance) -> Callable[[int], None]:
    """Return a function that lets the learner decide its round again, as often as it is told, without Python."""
    assert instance.learner._decide_kernel is not None
    decide = callback(instance.learner._decide_kernel)
    weights = np.empty(len(instance.mean))
    return lambda times: _decide_often(decide, instance.state, instance.t, weights, times)


def measure_instance(instance: Instance, tolerance: float) -> Outcome:
    """Solve an instance in both modes, cold, and in fast mode from the last weights as well."""
    i = instance
    arguments = i.mean, i.bonus, i.penalty, 1.0, i.min_weight
    fast, warm = cb.maximize_optimistic(*arguments), cb.maximize_optimistic(*arguments, start=i.start)
    begun = time.process_time()
    proven = cb.maximize_optimistic(*arguments, certified=True, tolerance=tolerance)
    took = time.process_time() - begun
    if took < 0.05:
        took = cpu_seconds(
            repeated(lambda: cb.maximize_optimistic(*arguments, certified=True, tolerance=tolerance)), 0.005
        )
    unit = proven.tolerance / tolerance
    best = i.value(proven.weights)
    return Outcome(
        instance=i,
        proven=proven,
        gap=proven.certificate / unit,
        miss=(best - i.value(fast.weights)) / unit,
        warm_miss=(best - i.value(warm.weights)) / unit,
        seconds={
            "fast": cpu_seconds(repeated(lambda: cb.maximize_optimistic(*arguments))),
            "warm": cpu_seconds(repeated(lambda: cb.maximize_optimistic(*arguments, start=i.start))),
            "decide": cpu_seconds(_decision(i)),
            "certified": took,
        },
    )


def _let_scip_solve(outcome: Outcome, name: str, tolerance: float, limit: float) -> None:
    """Add what SCIP needs and finds to an outcome."""
    i, proven = outcome.instance, outcome.proven
    peer = ScipPeer(len(i.mean), i.min_weight, gap=tolerance, limit=limit, feasibility=tolerance)
    with silenced(), no_collection():
        begun = time.process_time()
        try:
            solution = peer.solve(i.mean, i.bonus, i.penalty, 1.0)
        except PeerError as error:
            outcome.unfinished[name] = str(error)
        outcome.seconds[name] = time.process_time() - begun
    if name == TIGHT and name not in outcome.unfinished:
        outcome.scip_above = (i.value(solution.weights) - i.value(proven.weights)) / i.unit
        outcome.bound_below = (proven.utility - solution.bound) / i.unit


def _has_scip() -> bool:
    try:
        ScipPeer(2, 0.1)
    except ImportError:
        return False
    return True


def _measure_case(case: Case) -> list[Outcome]:
    what = f"optimistic, d = {case.title}"
    problems = problems_of(case.d, case.risk_aversions, case.min_weights, case.seeds)
    rounds = rounds_of(case.d, case.last, case.moments)
    instances: list[Instance] = []
    for k, problem in enumerate(problems):
        say(f"{what}: runs {2 * k + 1} and {2 * k + 2} of {2 * len(problems)}")
        instances += harvest(problem, rounds)
        if k == 0:
            say(f"{what}: compiling, unless that was done before")
            measure_instance(instances[0], case.tolerance)
    chosen = set(np.random.default_rng(case.d).permutation(len(instances))[: case.scip].tolist())
    outcomes: list[Outcome] = []
    said = time.monotonic()
    for k, instance in enumerate(instances):
        outcomes.append(measure_instance(instance, case.tolerance))
        if k in chosen and _has_scip():
            _let_scip_solve(outcomes[-1], TIGHT, 1e-9, case.limit)
            if case.loose:
                _let_scip_solve(outcomes[-1], LOOSE, 1e-6, case.limit)
        if time.monotonic() - said > 5:
            said = time.monotonic()
            solved = sum(TIGHT in outcome.seconds for outcome in outcomes)
            say(f"{what}: {k + 1} of {len(instances)} instances" + (f", {solved} by SCIP" if solved else ""))
    return outcomes


def _percent(share: float) -> str:
    return f"{100 * share:.4g} %"


def _small(value: float) -> str:
    return f"{max(value, 0.0):.0e}"


def _missed_by_round(outcomes: list[Outcome]) -> list[str]:
    """Return how many of how many instances are missed from the last weights, for every bucket of rounds."""
    cells = []
    for low, high in itertools.pairwise((0, *BUCKETS)):
        misses = [o.warm_miss > MISS for o in outcomes if low < o.instance.t <= high]
        cells.append(f"{sum(misses)} of {len(misses)}" if misses else "-")
    return cells


def measure_maximizer(cases: Sequence[Case]) -> Section:
    """Measure quality and speed of the optimistic maximiser.

    Parameters
    ----------
    cases : sequence of Case
        One for each dimension.
    """
    section = Section("optimistic")
    section.notes = [
        "Problems that MC-UCB and MC-UCB-Γ met, from the first round after start-up on, on the paper's",
        "instance (d = 5) and random ones of four kinds of correlation, several ρ and c. Every instance is solved by",
        "all contestants before the next; ratios are per instance, then their median. Fast and certified are the",
        "public maximize_optimistic with its checks, cold; 'from last' starts at the weights of the round before.",
        "'decide' is what a learner does each round: confidence radii and search, compiled, from the last weights.",
        "Miss: what the search loses against the certified optimum; gap: what the proof leaves open; both relative to",
        "the utility, or to its terms if these are smaller. Misses above 1e-8 count.",
        "SCIP proves to 1e-9 with as tight constraints (1e-6: its default), one thread. Where it is stopped or fails,",
        "the seconds spent count: the ratio is a lower bound there.",
    ]
    ratios: list[list[object]] = []
    quality: list[list[object]] = []
    times: list[list[object]] = []
    late: list[list[object]] = []
    for case in cases:
        outcomes = _measure_case(case)
        section.data += [outcome.to_dict() for outcome in outcomes]
        n = len(outcomes)
        missed = sum(o.miss > MISS for o in outcomes) / n
        warm_missed = sum(o.warm_miss > MISS for o in outcomes) / n
        worst = max(o.miss for o in outcomes)
        warm_worst = max(o.warm_miss for o in outcomes)
        gap = max(o.gap for o in outcomes)
        share = sum(o.proven.certified for o in outcomes) / n
        nodes = [o.proven.nodes for o in outcomes]
        quality.append(
            [
                case.title,
                n,
                _percent(share),
                _small(gap),
                _percent(missed),
                _small(worst),
                _percent(warm_missed),
                _small(warm_worst),
                int(statistics.median(nodes)),
                max(nodes),
            ]
        )
        times.append(
            [
                case.title,
                *(1e6 * statistics.median(o.seconds[name] for o in outcomes) for name in ("decide", "warm", "fast")),
                1e6 * statistics.median(o.seconds["certified"] for o in outcomes),
                1e6 * max(o.seconds["certified"] for o in outcomes),
            ]
        )
        late.append([case.title, *_missed_by_round(outcomes)])
        found = max(missed, warm_missed)
        if case.d == 5:
            section.checks.append(Check("d = 5: share of instances that the search solves", 1 - found, ">=", 0.995))
        if case.d == 10:
            section.checks += [
                Check("d = 10: share of instances that the search misses", found, "<=", 0.02),
                Check("d = 10: largest miss", max(worst, warm_worst, 0.0), "<=", 1e-4),
            ]
        section.checks.append(Check(f"d = {case.title}: largest gap of certified mode", gap, "<=", case.tolerance))
        for name in (TIGHT, LOOSE):
            _add_ratios(case, name, outcomes, ratios, section)
    if ratios:
        heads = ["d", "solver", "instances", "unfinished", "limit", "/ fast", "/ certified", "/ decide", "median s"]
        section.tables.append(Table(heads, ratios, "SCIP's CPU time over ours, medians"))
    heads = ["d", "instances", "certified", "largest gap", "missed", "largest miss"]
    heads += ["missed, from last", "largest", "nodes, median", "nodes, most"]
    section.tables.append(Table(heads, quality, "What the search misses and the proof leaves open"))
    heads = ["d", *(f"to round {t:,}" for t in BUCKETS)]
    section.tables.append(Table(heads, late, "Of how many instances the search misses how many, from the last weights"))
    heads = ["d", "decide", "fast, from last", "fast", "certified", "certified, longest"]
    section.tables.append(Table(heads, times, "CPU time in µs, medians over instances"))
    return section


def _add_ratios(case: Case, name: str, outcomes: list[Outcome], rows: list[list[object]], section: Section) -> None:
    """Add a row and what is to be said about it, if SCIP solved any."""
    solved = [o for o in outcomes if name in o.seconds]
    if not solved:
        return
    ratio = {
        ours: statistics.median(o.seconds[name] / o.seconds[ours] for o in solved)
        for ours in ("fast", "certified", "decide")
    }
    open_ones = sum(name in o.unfinished for o in solved)
    rows.append(
        [
            case.title,
            name,
            len(solved),
            open_ones,
            f"{case.limit:g} s",
            *ratio.values(),
            statistics.median(o.seconds[name] for o in solved),
        ]
    )
    if name == TIGHT:
        reasons = {reason for o in solved for reason in o.unfinished.values()}
        section.notes += [
            f"d = {case.title}: where SCIP finishes, its weights (constraints may be off by 1e-9) are better than the",
            f"certified ones by at most {_small(max(o.scip_above for o in solved))} of the largest term, and its bound "
            f"is below them by at most {_small(max(o.bound_below for o in solved))}.",
        ]
        if reasons:
            section.notes.append(f"d = {case.title}: SCIP did not finish because of: {', '.join(sorted(reasons))}.")
        if case.d == 5:
            section.checks += [
                Check("d = 5: SCIP / fast mode, median", ratio["fast"], ">=", 1_000.0),
                Check("d = 5: SCIP / certified mode, median", ratio["certified"], ">=", 500.0),
            ]


def measure_many_options(d: int, last: int, moments: int, ascents: int) -> Section:
    """Compare fast mode with the best of many ascents from random weights, where nothing can be certified.

    Parameters
    ----------
    d : int
        Number of options.
    last, moments : int
        See `Case`.
    ascents : int
        Random starts per instance.
    """
    section = Section("many options")
    what = f"optimistic, d = {d}"
    problems = problems_of(d, (0.1, 10.0), (0.1, 0.2), 1)
    rows: list[list[object]] = []
    shortfalls: list[float] = []
    rng = np.random.default_rng(d)
    done: list[tuple[float, float, float, float]] = []
    for k, problem in enumerate(problems):
        say(f"{what}: problem {k + 1} of {len(problems)}")
        for i in harvest(problem, rounds_of(d, last, moments)):
            arguments = i.mean, i.bonus, i.penalty, 1.0, i.min_weight
            fast = cb.maximize_optimistic(*arguments)
            seconds = cpu_seconds(repeated(partial(cb.maximize_optimistic, *arguments)))
            begun = time.process_time()
            weights, values = best_of_ascents(i, ascents, rng)
            climbed = time.process_time() - begun
            shortfall = (i.value(weights) - i.value(fast.weights)) / i.unit
            reached = float(np.mean(values >= i.value(fast.weights) - 1e-9 * i.unit))
            shortfalls.append(shortfall)
            done.append((shortfall, reached, seconds, climbed))
            section.data.append(
                {
                    "origin": i.origin,
                    "t": i.t,
                    "d": d,
                    "min_weight": i.min_weight,
                    "shortfall": shortfall,
                    "ascents_that_reach_it": reached,
                    "cpu_seconds": {"fast": seconds, "ascents": climbed},
                }
            )
    shortfall, reached, seconds, climbed = np.array(done).T
    rows.append(
        [
            d,
            len(done),
            int((shortfall > 1e-9).sum()),
            int((shortfall < -1e-9).sum()),
            f"{shortfall.max():.0e}",
            _percent(float(np.median(reached))),
            float(np.median(climbed / seconds)),
            1e6 * float(np.median(seconds)),
        ]
    )
    heads = ["d", "instances", "search worse", "search better", "largest shortfall", "ascents that reach it"]
    heads += ["CPU time / fast", "fast, µs"]
    section.tables.append(Table(heads, rows, f"Fast mode against the best of {ascents} ascents from random weights"))
    section.notes = [
        "An ascent moves weight between two options, drops, adds and exchanges options, always the best such move,",
        "until none helps (compiled as well). Shortfall: relative to the largest term; differences below 1e-9 do not",
        f"count. Rounds from {d * d + 1:,}, the first after start-up, to {last:,}. The share of ascents is a median.",
    ]
    section.checks.append(
        Check(f"d = {d}: best of {ascents} ascents less the search, largest", max(shortfalls), "<=", 1e-9)
    )
    return section
