"""The client of a service: studies on another machine, used as if they were here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from covbandit.allocation import Allocator
from covbandit.errors import CovbanditError
from covbandit.learners import Learner
from covbandit.learners.protocol.setup_warnings import said_before, say
from covbandit.service.client.connection import Answer, Connection
from covbandit.service.client.remote_study import RemoteStudy, described, path_of
from covbandit.studies import StudySummary
from covbandit.studies.configuration import Configuration
from covbandit.studies.ledger import OWN_LEASE
from covbandit.studies.study import Lease, as_lease

if TYPE_CHECKING:
    import httpx


class Client:
    """A service that ``covbandit serve`` runs.

    Whatever may be repeated without harm is sent again when the connection breaks, the store is busy or requests come
    too fast, with growing pauses. A retry never opens a second round and never counts an outcome twice. Objects may be
    shared by threads.

    Parameters
    ----------
    url : str
        The address that ``covbandit serve`` printed: ``"http://127.0.0.1:8765"``.
    token : str, optional
        What ``covbandit token create`` printed, if the service wants one.
    timeout : float
        Seconds to wait for an answer before trying again.
    retries : int
        How often to try again.
    transport : httpx.BaseTransport, optional
        How requests travel, for special networks and tests.

    Raises
    ------
    MissingExtra
        If httpx is not installed: ``pip install 'covbandit[service]'``.

    Examples
    --------
    ::

        client = cb.Client("http://127.0.0.1:8765", token="cbt_...")
        study = client.create("funds", ["SPY", "TLT"], {"feedback": "all", "risk_aversion": 2.0}, "per_unit")
        proposed = study.ask(key="2026-W46")
        study.tell(proposed.id, {"SPY": 0.012, "TLT": -0.003})
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        timeout: float = 60.0,
        retries: int = 6,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._connection = Connection(url, token, timeout, retries, transport)

    def __repr__(self) -> str:
        return f"Client({self._connection.url!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._connection.close()

    def version(self) -> dict[str, Any]:
        """Return what runs there: versions of package, API and schema, and whether a token is needed."""
        found: dict[str, Any] = self._connection.send("GET", "/version").data
        return found

    def studies(self) -> list[StudySummary]:
        """Return all studies at a glance."""
        return [StudySummary.from_dict(each) for each in self._connection.send("GET", "/studies").data["studies"]]

    def open(self, name: str) -> RemoteStudy:
        """Open a study.

        Raises
        ------
        NotFound
            If there is none of that name.
        """
        return RemoteStudy(self._connection, self._connection.send("GET", path_of(name)).data["name"])

    def create(
        self,
        name: str,
        options: Sequence[str],
        learner: Learner | Allocator | Mapping[str, Any],
        outcome: str,
        *,
        lease: Lease | object = OWN_LEASE,
    ) -> RemoteStudy:
        """Create a study; the arguments are those of `covbandit.Study.create`.

        Raises
        ------
        Conflict
            If there is a study of that name, unless it is the very one of this call, whose answer got lost.
        """
        if not isinstance(learner, Mapping):
            Configuration.of(options, learner)  # refuses what does not fit: numbers of options do not travel
        body: dict[str, Any] = {
            "name": name,
            "options": list(options),
            "outcome": outcome,
            "learner": described(learner),
        }
        if lease is not OWN_LEASE:
            body["lease_seconds"] = as_lease(lease)
        made = self._connection.send("POST", "/studies", body, recall=lambda: self._created(body))
        if isinstance(learner, Mapping):  # others have said it when they were made
            for remark in StudySummary.from_dict(made.data).remarks:
                say(remark)
        return RemoteStudy(self._connection, made.data["name"])

    def _created(self, body: Mapping[str, Any]) -> Answer | None:
        """Return the study of that name, if it is as it was to be created."""
        try:
            answer = self._connection.send("GET", path_of(body["name"]))
            with said_before():
                wanted = repr(Configuration.of(body["options"], body["learner"]).build())
        except CovbanditError:
            return None
        found = StudySummary.from_dict(answer.data)
        same = (
            (*found.options, *found.retired) == tuple(body["options"])
            and found.outcome == body["outcome"]
            and found.learner == wanted
            and ("lease_seconds" not in body or found.lease_seconds == body["lease_seconds"])
        )
        return answer if same else None
