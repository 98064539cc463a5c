"""Part "service": sixteen clients of ``covbandit serve`` against as many that do nothing but bare transactions.

A round over HTTP is two durable transactions, the ask and the tell. So the rate of pairs is set beside half the rate of
bare one-row transactions, which as many clients reach on the same kind of database, in turns.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from study_bare import prepare
from study_crowd import Crowd
from study_places import Place, plain
from study_rounds import OPTIONS, create
from study_spread import full_range, quantile
from timing import Check, Section, say

from covbandit.studies import Store
from covbandit.tables import Table

CLIENTS = 16
HALF = 0.5
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
            process.communicate(timeout=60)


def measure_service(places: Sequence[Place], seconds: float, turns: int) -> Section:
    """Let clients of the service and bare clients work in turns."""
    section = Section("service")
    for place in places:
        _measure(section, place, seconds, turns)
    section.notes.append(
        "A pair is two transactions, so the ratio is pairs a second over half of the bare transactions a second of the "
        "same turn. Requests that need no store show what HTTP and Python alone allow; two of them are a pair. "
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
        crowds = {name: stack.enter_context(Crowd(**({"clients": CLIENTS} | task))) for name, task in tasks.items()}
        found: dict[str, list[dict[str, Any]]] = {name: [] for name in crowds}
        for turn in range(-1, turns):
            say(f"service: {place.title}, turn {turn + 1} of {turns}")
            for name in crowds if turn % 2 else reversed(crowds):
                cpu = _cpu_seconds(process)
                done = crowds[name].work(seconds if turn >= 0 else min(seconds, 1.0))
                done["cpu"] = _cpu_seconds(process) - cpu
                if turn >= 0:
                    found[name].append(done)
    _report(section, place, found)


def _cpu_seconds(process: int) -> float:
    """Return the processor's time of a process so far, as far as the system tells."""
    status = Path(f"/proc/{process}/stat")
    if not status.exists():
        return float("nan")
    fields = status.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / float(os.sysconf("SC_CLK_TCK"))


def _rate(done: dict[str, Any]) -> float:
    """Return pairs a second: of two requests, or of two transactions."""
    count: int = sum(map(len, done["times"].values()))
    return count / 2 / float(done["seconds"])


def _report(section: Section, place: Place, found: dict[str, list[dict[str, Any]]]) -> None:
    rates = {name: [_rate(done) for done in turns] for name, turns in found.items()}
    errors = {name: [line for done in turns for line in done["errors"]] for name, turns in found.items()}
    rows = []
    for name, turns in found.items():
        row: list[object] = [name, full_range(rates[name], 0), len(errors[name])]
        requests = sum(len(values) for done in turns for values in done["times"].values())
        cpu = 1e3 * sum(done["cpu"] for done in turns) / max(1, requests)
        row.append(cpu if name in _SERVED else "")
        for what in ("ask", "tell", "transaction"):
            times = [value for done in turns for value in done["times"].get(what, ())]
            row.append("" if not times else "/".join(f"{1e3 * quantile(times, share):,.1f}" for share in (0.5, 0.99)))
        rows.append(row)
        section.data.append(
            {
                "store": place.kind,
                "who": name,
                "pairs_per_second": rates[name],
                "errors": errors[name][:10],
                "server_cpu_ms_per_request": cpu if name in _SERVED else None,
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
        "pairs/s [range]",
        "errors",
        "server CPU, ms a request",
        "ask p50/p99, ms",
        "tell p50/p99, ms",
        "transaction p50/p99, ms",
    ]
    section.tables.append(Table(columns, rows, f"{CLIENTS} clients at once, {len(rates[_INSERT])} turns each"))
    readings = [name for name in rates if name not in _SERVED]
    ratios = {
        (service, name): [a / b for a, b in zip(rates[service], rates[name], strict=True)]
        for service in (_ONE_STUDY, _OWN_STUDY)
        for name in readings
    }
    rows = [[name, *(full_range(ratios[service, name]) for service in (_ONE_STUDY, _OWN_STUDY))] for name in readings]
    title = f"The service's pairs over bare pairs, {place.title}, medians over turns [range]"
    section.tables.append(Table(["against", _ONE_STUDY, _OWN_STUDY], rows, title))
    failed = sum(len(errors[name]) for name in (_ONE_STUDY, _OWN_STUDY))
    section.checks.append(Check(f"errors of the service's clients, {place.title}", failed, "<=", 0))
    for service in (_ONE_STUDY, _OWN_STUDY):
        for name in readings:
            # The requirement is read as the strictest that is alike: as many clients, in as many processes.
            must = (service, name) == (_ONE_STUDY, _INSERT)
            section.checks.append(
                Check(
                    f"{service} / {name}, {place.title}",
                    statistics.median(ratios[service, name]),
                    ">=",
                    HALF,
                    "must" if must else "indicative",
                )
            )
    for line in [line for name in errors for line in errors[name]][:5]:
        section.notes.append(f"error: {line}")
