"""Part "service": clients of the service against clients that do nothing but bare transactions.

A round over HTTP is two durable transactions, the ask and the tell. So the CPU time that the service and its database
spend on a pair is set beside that of two bare one-row transactions, by as many clients on the same kind of database,
in turns. Rates and latencies are times by the clock by their nature: they are shown as indicative, and judge nothing.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from process_time import cpu_of_process, server_clock
from study_bare import prepare
from study_crowd import Crowd
from study_places import Place, plain
from study_rounds import OPTIONS, create
from study_spread import full_range, quantile
from timing import Check, Section, say

from covbandit.core.tables import Table
from covbandit.studies import Store

CLIENTS = 16
MOST = 2.0  # times the CPU time of two bare transactions
_LEARNER = "MC-Empirical"
_ONE_STUDY, _OWN_STUDY = "service, one study", "service, a study each"
_HTTP = "service, requests that need no store"
_SERVED = (_ONE_STUDY, _OWN_STUDY, _HTTP)
_INSERT = "bare inserts, 16 processes"
_INSERT_THREADS = "bare inserts, 16 threads"
_SAME_ROW = "bare updates of one row, 16 processes"
_ALONE = "bare inserts, one client"


@contextmanager
def serving(url: str) -> Iterator[tuple[str, int]]:
    """Run ``covbandit serve`` in a process of its own; yield its address and the number of the process."""
    with tempfile.TemporaryFile("w+") as log:
        command = [sys.executable, "-m", "covbandit.cli", "serve", "--store", url, "--port", "0"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            assert process.stdout is not None
            for line in process.stdout:
                if found := [word for word in line.split() if word.startswith("http://")]:
                    yield found[0].partition("/api/")[0].rstrip("/"), process.pid
                    break
            else:
                log.seek(0)
                raise RuntimeError(f"the service did not start:\n{log.read()}")
        finally:
            process.terminate()
            try:
                process.communicate(timeout=60)
            finally:
                process.kill()  # nothing, if it has ended


def measure_service(places: Sequence[Place], seconds: float, turns: int) -> Section:
    """Let clients of the service and bare clients work in turns."""
    section = Section("service")
    for place in places:
        _measure(section, place, seconds, turns)
    section.notes.append(
        "A pair is two transactions or two requests. CPU ms of a pair: user and system, of the service's process and "
        "of the PostgreSQL processes that serve its connections, without the clients; of bare transactions, of the "
        "clients themselves and of those PostgreSQL processes. Pairs a second and p50/p99 are by the clock: "
        "indicative. Requests that need no store show what HTTP and Python alone take. "
        "All clients keep their connection; the service runs with its default settings."
    )
    return section


def _measure(section: Section, place: Place, seconds: float, turns: int) -> None:
    url, bare = place.new(), place.new()
    names = [f"study-{k}" for k in range(CLIENTS)]
    with Store(url, create=True) as store:
        for name in names:
            create(store, _LEARNER, name).close()
    bare = bare if place.kind == "sqlite" else plain(bare)
    prepare(bare)
    with ExitStack() as stack:
        address, process = stack.enter_context(serving(url))
        tasks: dict[str, dict[str, Any]] = {
            _ONE_STUDY: {"work": "service", "url": address, "studies": names[:1], "options": OPTIONS},
            _INSERT: {"work": "insert", "url": bare},
            _OWN_STUDY: {"work": "service", "url": address, "studies": names, "options": OPTIONS},
            _HTTP: {"work": "http", "url": address, "studies": names[:1], "options": OPTIONS},
            _INSERT_THREADS: {"work": "insert", "url": bare, "threads": True},
            _ALONE: {"work": "insert", "url": bare, "clients": 1},
        }
        if place.kind == "postgresql":
            tasks[_SAME_ROW] = {"work": "same row", "url": bare}
        server = {True: server_clock(url), False: server_clock(bare)}
        crowds = {name: stack.enter_context(Crowd(**({"clients": CLIENTS} | task))) for name, task in tasks.items()}
        found: dict[str, list[dict[str, Any]]] = {name: [] for name in crowds}
        for turn in range(-1, turns):
            say(f"service: {place.title}, turn {turn + 1} of {turns}")
            for name in crowds if turn % 2 else reversed(crowds):
                served = name in _SERVED
                own, database = cpu_of_process(process), server[served]()
                done = crowds[name].work(seconds if turn >= 0 else min(seconds, 1.0))
                spent = cpu_of_process(process) - own if served else done["cpu"]
                done["cpu"] = spent + server[served]() - database
                if turn >= 0:
                    found[name].append(done)
    _report(section, place, found)


def _pairs(done: dict[str, Any]) -> float:
    """Return how many pairs were done: of two requests, or of two transactions."""
    count: int = sum(map(len, done["times"].values()))
    if count == 0:
        raise RuntimeError(f"nothing was done: {'; '.join(done['errors'][:2]) or 'too little time'}")
    return count / 2


def _report(section: Section, place: Place, found: dict[str, list[dict[str, Any]]]) -> None:
    cpu = {name: [done["cpu"] / _pairs(done) for done in turns] for name, turns in found.items()}
    rates = {name: [_pairs(done) / done["seconds"] for done in turns] for name, turns in found.items()}
    errors = {name: [line for done in turns for line in done["errors"]] for name, turns in found.items()}
    rows = []
    for name, turns in found.items():
        row: list[object] = [name, full_range([1e3 * value for value in cpu[name]]), len(errors[name])]
        row.append(full_range(rates[name], 0))
        for what in ("ask", "tell", "transaction"):
            times = [value for done in turns for value in done["times"].get(what, ())]
            row.append("" if not times else "/".join(f"{1e3 * quantile(times, share):,.1f}" for share in (0.5, 0.99)))
        rows.append(row)
        section.data.append(
            {
                "store": place.kind,
                "who": name,
                "cpu_seconds_per_pair": cpu[name],
                "pairs_per_second": rates[name],
                "errors": errors[name][:10],
                "milliseconds": {
                    what: {
                        str(share): 1e3 * quantile([v for done in turns for v in done["times"].get(what, ())], share)
                        for share in (0.5, 0.99)
                    }
                    for what in turns[0]["times"]
                },
            }
        )
    columns = [
        place.title,
        "CPU ms a pair [range]",
        "errors",
        "pairs/s (indicative)",
        "ask p50/p99, ms (indicative)",
        "tell p50/p99, ms",
        "transaction p50/p99, ms",
    ]
    section.tables.append(Table(columns, rows, f"{CLIENTS} clients at once, {len(rates[_INSERT])} turns each"))
    readings = [name for name in cpu if name not in _SERVED]
    ratios = {
        (service, name): [a / b for a, b in zip(cpu[service], cpu[name], strict=True)]
        for service in (_ONE_STUDY, _OWN_STUDY, _HTTP)
        for name in readings
    }
    rows = [[name, *(full_range(ratios[service, name]) for service in _SERVED)] for name in readings]
    title = f"CPU time of a pair by the service over that of a bare pair, {place.title}, medians over turns [range]"
    section.tables.append(Table(["against", *_SERVED], rows, title))
    failed = sum(len(errors[name]) for name in (_ONE_STUDY, _OWN_STUDY))
    section.checks.append(Check(f"errors of the service's clients, {place.title}", failed, "<=", 0))
    for service in (_ONE_STUDY, _OWN_STUDY):
        for name in readings:
            # The requirement is read as the strictest that is alike: as many clients, in as many processes.
            must = (service, name) == (_ONE_STUDY, _INSERT)
            what = f"CPU time of a pair, {service} / {name}, {place.title}"
            section.checks.append(
                Check(what, statistics.median(ratios[service, name]), "<=", MOST, "must" if must else "indicative")
            )
    for line in [line for name in errors for line in errors[name]][:5]:
        section.notes.append(f"error: {line}")
