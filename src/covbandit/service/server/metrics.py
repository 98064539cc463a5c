"""What Prometheus sees."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from covbandit._version import __version__
from covbandit.core.error_table import look_up
from covbandit.errors import Conflict, Forbidden, RateLimited, StoreSchemaError, StoreUnavailable, Unauthorized
from covbandit.service.server.errors import Crowded, Stopping
from covbandit.studies import Store, list_studies

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Metrics:
    """The counters of one service, in a registry of its own.

    Parameters
    ----------
    store : Store
        Its studies are counted when the page is read.
    """

    def __init__(self, store: Store) -> None:
        self.registry = registry = CollectorRegistry()
        self._requests = Counter(
            "covbandit_requests", "Requests answered.", ["route", "method", "status"], registry=registry
        )
        self._seconds = Histogram(
            "covbandit_request_seconds", "Time to the answer.", ["route"], registry=registry, buckets=_SECONDS
        )
        self.in_flight = Gauge("covbandit_requests_in_flight", "Requests not answered yet.", registry=registry)
        self.asks = Counter("covbandit_asks", "Asks answered.", registry=registry)
        self.tells = Counter("covbandit_tells", "Outcomes taken, repeated ones included.", registry=registry)
        self.amendments = Counter("covbandit_amendments", "Corrections taken.", registry=registry)
        conflicts = Counter("covbandit_conflicts", "Requests that contradicted the log.", registry=registry)
        refused = Counter("covbandit_refused_access", "Requests without the token they need.", registry=registry)
        limited = Counter("covbandit_rate_limited", "Requests beyond the rate limit.", registry=registry)
        troubles = Counter("covbandit_store_errors", "Requests the store could not serve.", registry=registry)
        self.refused_connections = Counter(
            "covbandit_refused_connections", "Connections ended before their request.", ["reason"], registry=registry
        )
        self._refusals: dict[type[BaseException], Counter | None] = {
            Crowded: None,  # counted by `Connections.refused`
            Stopping: None,
            Conflict: conflicts,
            Unauthorized: refused,
            Forbidden: refused,
            RateLimited: limited,
            StoreUnavailable: troubles,
            StoreSchemaError: troubles,
        }
        Info("covbandit_build", "What runs here.", registry=registry).info({"version": __version__})
        registry.register(_Studies(store))
        # Kept, since looking up a counter by its labels is slower than all else here.
        self._known_requests: dict[tuple[str, str, int], Counter] = {}
        self._known_seconds: dict[str, Histogram] = {}

    def request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a response. Routes are templates and methods are known ones, so that labels stay few."""
        key = (route, method, status)
        counter = self._known_requests.get(key)
        if counter is None:
            counter = self._known_requests[key] = self._requests.labels(route, method, str(status))
        counter.inc()
        histogram = self._known_seconds.get(route)
        if histogram is None:
            histogram = self._known_seconds[route] = self._seconds.labels(route)
        histogram.observe(seconds)

    def refusal(self, error: BaseException) -> None:
        """Count an error that was answered."""
        counter = look_up(self._refusals, error)
        if counter is not None:
            counter.inc()

    def page(self) -> bytes:
        """Return all figures as text."""
        return generate_latest(self.registry)


class _Studies(Collector):
    """Figures of the studies, read when the page is read: one row for each study."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def describe(self) -> Iterable[Metric]:
        return []  # so that registering does not read the store

    def collect(self) -> Iterable[Metric]:
        reachable = GaugeMetricFamily("covbandit_store_up", "Whether the store answers.")
        open_rounds = GaugeMetricFamily("covbandit_open_rounds", "Rounds that wait for outcomes.", labels=["study"])
        told_rounds = GaugeMetricFamily("covbandit_told_rounds", "Rounds told.", labels=["study"])
        try:
            for study in list_studies(self._store):
                open_rounds.add_metric([study.name], study.open)
                told_rounds.add_metric([study.name], study.told)
            reachable.add_metric([], 1)
        except (StoreUnavailable, StoreSchemaError):
            reachable.add_metric([], 0)
        yield from (reachable, open_rounds, told_rounds)
