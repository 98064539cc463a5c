"""What the service can do: one entry per route, how a request to it is read, and the function that handles it.

Each of these functions gets a `Call` and leaves the work to the study. It runs in a thread, unless its route has
`needs`. Its docstring is what the OpenAPI description says of the route.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, cast
from urllib.parse import quote

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from covbandit._version import __version__
from covbandit.learners.protocol.setup_warnings import said_before
from covbandit.service.server import request_models, response_models
from covbandit.service.server.metrics import CONTENT_TYPE
from covbandit.service.server.requests import CALLER, ROUTE, read_body, read_query, round_number
from covbandit.service.server.responses import error_response, json_response
from covbandit.service.server.runtime import Service
from covbandit.studies import Study, list_studies
from covbandit.studies.schema import SCHEMA
from covbandit.studies.study import Outcome
from covbandit.studies.transactions import StudyGone

BASE = "/api/v1"

Endpoint = Callable[[Request], Awaitable[Response]]

_FILES = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "parquet": "application/vnd.apache.parquet",
}


@dataclass(frozen=True)
class Call:
    """A request that was let in and read.

    Attributes
    ----------
    service : Service
        The running service.
    path : dict
        The variable parts of the address, as text.
    query, body : BaseModel or None
        The query string and the body, checked.
    """

    service: Service
    path: dict[str, str]
    query: BaseModel | None
    body: BaseModel | None

    @property
    def study(self) -> Study:
        """The study that the address names."""
        return self.service.study(self.path["name"])

    @property
    def round(self) -> int:
        """The number of the round that the address names."""
        return round_number(self.path["round_id"])


@dataclass(frozen=True)
class Route:
    """One path and method of the API.

    Attributes
    ----------
    method, path : str
        The path without `BASE`.
    run : callable
        Handles a call; its docstring is the description.
    scope : str or None
        The smallest scope that a token needs; None lets everybody in.
    answer : type or None
        The model of a successful response; None for files.
    status : int
        The status of a successful response.
    body, query : type or None
        The models of the request's body and of its query string.
    slow : bool
        Whether the work grows with the history, or waits for work that does.
    needs : callable, optional
        What the service has to ask the store first. What remains is so little work that it needs no thread.
    """

    method: str
    path: str
    run: Callable[[Call], Response]
    scope: str | None
    answer: type[BaseModel] | None
    status: int = 200
    body: type[BaseModel] | None = None
    query: type[BaseModel] | None = None
    slow: bool = False
    needs: Callable[[Service], Awaitable[None]] | None = None

    @property
    def address(self) -> str:
        """The whole path, with its variable parts in braces."""
        return BASE + self.path

    def endpoint(self, service: Service) -> Endpoint:
        """Return the function that reads a request to this route, runs the handler, and answers."""

        async def endpoint(request: Request) -> Response:
            request.scope[ROUTE] = self.address
            try:
                if self.scope is not None:
                    request.scope[CALLER].require(self.scope)
                query = read_query(request, self.query)
                body = None
                if self.body is not None:
                    body = await read_body(request, self.body, service.settings.body_limit, service.run_parsing)
                call = Call(service, request.path_params, query, body)
                if self.needs is not None:
                    await self.needs(service)
                    return self.run(call)
                writes = self.body is not None
                return await service.run(lambda: self.run(call), call.path.get("name"), writes, self.slow)
            except Exception as error:  # here, since the layers up to our middleware would take time to pass it on
                service.metrics.refusal(error)
                return error_response(error, service.store.url, request.scope.get(CALLER) is not None)

        endpoint.__name__ = self.run.__name__
        endpoint.__doc__ = self.run.__doc__
        return endpoint


def health(call: Call) -> Response:
    """Check that the service and its store answer."""
    return json_response({"status": "ok", "store": "ok"})


def version(call: Call) -> Response:
    """Return what runs here, and whether a token is needed."""
    wanted = call.service.authenticator.wants_tokens
    return json_response({"version": __version__, "api": "v1", "schema": SCHEMA, "tokens": wanted})


def metrics(call: Call) -> Response:
    """Return counters for Prometheus."""
    return Response(call.service.metrics.page(), headers={"Content-Type": CONTENT_TYPE})


def get_studies(call: Call) -> Response:
    """List all studies."""
    return json_response({"studies": [summary.to_dict() for summary in list_studies(call.service.store)]})


def create_study(call: Call) -> Response:
    """Create a study."""
    body = cast(request_models.CreateBody, call.body)
    with said_before():  # the answer has the remarks
        study = Study.create(
            body.name,
            body.options,
            body.learner,
            body.outcome,
            store=call.service.store,
            **_lease(body),
        )
    call.service.compile(study.name)  # meanwhile, so that its first ask need not wait long
    return json_response(call.service.keep(study).summary().to_dict(), 201)


def get_study(call: Call) -> Response:
    """Show a study at a glance."""
    return json_response(call.study.summary().to_dict())


def ask(call: Call) -> Response:
    """Ask for weights.

    A client that asks again gets its open round again; a key gives the same round for ever. Without either, every
    request opens a new round, so a retry may leave one behind: give a key.
    """
    body = cast(request_models.AskBody, call.body)
    found = call.study.ask(client=body.client, key=body.key, **_lease(body))
    call.service.metrics.asks.inc()
    return json_response(found.to_dict())


def get_rounds(call: Call) -> Response:
    """List rounds that changed since a revision, in the order of their last change."""
    query = cast(request_models.RoundsQuery, call.query)
    study = call.study
    revision = study.revision  # read first: rounds that change in between are then seen twice, never missed
    found = study.rounds(after=query.after, limit=query.limit + 1, status=query.status)
    shown = found[: query.limit]
    return json_response(
        {
            "rounds": [one.to_dict() for one in shown],
            "revision": shown[-1].revision if shown else query.after,
            "study_revision": revision,
            "more": len(found) > len(shown),
        }
    )


def get_round(call: Call) -> Response:
    """Show a round."""
    number = call.round
    return json_response(call.study.round(number).to_dict())


def tell(call: Call) -> Response:
    """Tell the outcome of a round.

    The same outcome again changes nothing; another one is a conflict and changes nothing either: correct it with amend.
    A round that has expired may still be told.
    """
    number, body = call.round, cast(request_models.TellBody, call.body)
    told = call.study.tell(number, cast(Outcome, body.outcome), body.weights)
    call.service.metrics.tells.inc()
    return json_response(told.to_dict())


def amend(call: Call) -> Response:
    """Correct the outcome of a round; the log keeps both."""
    number, body = call.round, cast(request_models.TellBody, call.body)
    told = call.study.amend(number, cast(Outcome, body.outcome), body.weights)
    call.service.metrics.amendments.inc()
    return json_response(told.to_dict())


def tell_many(call: Call) -> Response:
    """Tell several outcomes: all or none."""
    body = cast(request_models.TellManyBody, call.body)
    told = call.study.tell_many([(one.id, one.outcome, one.weights) for one in body.rounds])
    call.service.metrics.tells.inc(len(told))
    return json_response({"rounds": [one.to_dict() for one in told]})


def tell_outside(call: Call) -> Response:
    """Tell a round that the study did not propose, such as one from before it existed. With a key, a retry is safe."""
    body = cast(request_models.TellOutsideBody, call.body)
    told = call.study.tell_outside(body.weights, cast(Outcome, body.outcome), key=body.key)
    call.service.metrics.tells.inc()
    return json_response(told.to_dict())


def explain(call: Call) -> Response:
    """Say why these weights: what each option contributes to mean and risk."""
    return json_response(call.study.explain().to_dict())


def estimates(call: Call) -> Response:
    """Show estimated means, covariances and correlations."""
    return json_response(call.study.estimates().to_dict())


def frontier(call: Call) -> Response:
    """Show the best mixtures on today's estimates, what ask proposes, and how uncertain both are."""
    return json_response(call.study.frontier(points=cast(request_models.FrontierQuery, call.query).points).to_dict())


def history(call: Call) -> Response:
    """Show what was played and earned, for charts."""
    return json_response(call.study.history(points=cast(request_models.HistoryQuery, call.query).points).to_dict())


def export(call: Call) -> Response:
    """Download all rounds as a file."""
    form = cast(request_models.ExportQuery, call.query).format
    study = call.study
    content = study.export(format=form)
    name = quote(f"{study.name}.{form}", safe="")
    return Response(
        content,
        headers={"Content-Type": _FILES[form], "Content-Disposition": f"attachment; filename*=UTF-8''{name}"},
    )


def get_changes(call: Call) -> Response:
    """List what was changed in a study's configuration."""
    return json_response({"changes": [change.to_dict() for change in call.study.changes()]})


def change(call: Call) -> Response:
    """Change ρ, retire, restore or add an option: exactly one of these."""
    ((what, value),) = cast(request_models.ChangeBody, call.body).given.items()
    study = call.study
    do: dict[str, Callable[[Any], Any]] = {
        "risk_aversion": study.set_risk_aversion,
        "retire": study.retire,
        "restore": study.restore,
        "add": study.add_option,
    }
    return json_response(do[what](value).to_dict())


def fork(call: Call) -> Response:
    """Replay the history into another learner: what it would advise now, not how it would have performed."""
    body = cast(request_models.ForkBody, call.body)
    with said_before():
        return json_response(call.study.fork(body.learner, name=body.name).to_dict())


def verify(call: Call) -> Response:
    """Check that the log, told again to a fresh learner, gives the stored state."""
    return json_response(call.study.verify().to_dict())


def _lease(body: request_models.CreateBody | request_models.AskBody) -> dict[str, Any]:
    """Return the lease as an argument if one was sent: null means for ever, and without it the default holds."""
    return {"lease": body.lease_seconds} if "lease_seconds" in body.model_fields_set else {}


_STUDY = "/studies/{name}"
_ROUND = "/studies/{name}/rounds/{round_id}"
_A = response_models
_B = request_models

_ROUTES: tuple[Route, ...] = (
    Route("GET", "/health", health, None, _A.HealthAnswer, needs=Service.check_store),
    Route("GET", "/version", version, None, _A.VersionAnswer, needs=Service.refresh_tokens),
    Route("GET", "/metrics", metrics, "read", None, slow=True),
    Route("GET", "/studies", get_studies, "read", _A.StudiesAnswer),
    Route("POST", "/studies", create_study, "admin", _A.SummaryAnswer, 201, _B.CreateBody, slow=True),
    Route("GET", _STUDY, get_study, "read", _A.SummaryAnswer),
    Route("POST", f"{_STUDY}/ask", ask, "tell", _A.RoundAnswer, body=_B.AskBody),
    Route("GET", f"{_STUDY}/rounds", get_rounds, "read", _A.RoundsAnswer, query=_B.RoundsQuery),
    Route("GET", _ROUND, get_round, "read", _A.RoundAnswer),
    Route("POST", f"{_ROUND}/tell", tell, "tell", _A.RoundAnswer, body=_B.TellBody),
    Route("POST", f"{_ROUND}/amend", amend, "tell", _A.RoundAnswer, body=_B.TellBody, slow=True),
    Route("POST", f"{_STUDY}/tell_many", tell_many, "tell", _A.ManyRoundsAnswer, body=_B.TellManyBody, slow=True),
    Route("POST", f"{_STUDY}/tell_outside", tell_outside, "tell", _A.RoundAnswer, body=_B.TellOutsideBody),
    Route("GET", f"{_STUDY}/explain", explain, "read", _A.ExplanationAnswer, slow=True),
    Route("GET", f"{_STUDY}/estimates", estimates, "read", _A.EstimatesAnswer, slow=True),
    Route("GET", f"{_STUDY}/frontier", frontier, "read", _A.FrontierAnswer, query=_B.FrontierQuery, slow=True),
    Route("GET", f"{_STUDY}/history", history, "read", _A.HistoryAnswer, query=_B.HistoryQuery, slow=True),
    Route("GET", f"{_STUDY}/export", export, "read", None, query=_B.ExportQuery, slow=True),
    Route("GET", f"{_STUDY}/changes", get_changes, "read", _A.ChangesAnswer),
    Route("POST", f"{_STUDY}/changes", change, "admin", _A.ChangeAnswer, body=_B.ChangeBody, slow=True),
    Route("POST", f"{_STUDY}/fork", fork, "admin", _A.ForkAnswer, body=_B.ForkBody, slow=True),
    Route("GET", f"{_STUDY}/verify", verify, "read", _A.VerificationAnswer, slow=True),
)


def _reopening_the_study(run: Callable[[Call], Response]) -> Callable[[Call], Response]:
    """Return a handler that runs once more if the study in memory is no longer in the store.

    That happens when the store was restored from a copy. The second run opens the study that has the name now. A study
    notices before it changes anything, so nothing is done twice.
    """

    @wraps(run)
    def run_or_reopen(call: Call) -> Response:
        try:
            return run(call)
        except StudyGone:
            call.service.forget(call.path["name"])
            return run(call)

    return run_or_reopen


ROUTES: tuple[Route, ...] = tuple(replace(route, run=_reopening_the_study(route.run)) for route in _ROUTES)
