"""What the service can do: one entry a route.

Each function runs in a thread, is handed a `Call`, and leaves the work to the study.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, cast
from urllib.parse import quote

from pydantic import BaseModel
from starlette.responses import Response

from covbandit._version import __version__
from covbandit.learners.protocol.setup_warnings import said_before
from covbandit.service import answers, bodies
from covbandit.service.lifecycle import Service
from covbandit.service.metrics import CONTENT_TYPE
from covbandit.service.reading import round_number
from covbandit.service.writing import json_answer
from covbandit.studies import Study, list_studies
from covbandit.studies.schema import SCHEMA
from covbandit.studies.study import Outcome
from covbandit.studies.transactions import StudyGone

BASE = "/api/v1"

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
        What routes share.
    path : dict
        The variable parts of the address, as text.
    query, body : BaseModel or None
        What stands after the question mark, and what was sent.
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
class Operation:
    """A route.

    Attributes
    ----------
    method, path : str
        The path without `BASE`.
    run : callable
        What it does; its docstring is the description.
    scope : str or None
        The least scope of a token; None lets anybody in.
    answer : type or None
        What a success says; None for files.
    status : int
        Of a success.
    body, query : type or None
        What is sent, and what may stand after the question mark.
    slow : bool
        Whether the work grows with the history, or waits for work that does.
    needs : callable, optional
        What has to be known of the store first. The rest is so little work then that it needs no thread.
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
    def route(self) -> str:
        """The whole address, with its variable parts in braces."""
        return BASE + self.path


def health(call: Call) -> Response:
    """Tell whether the service and its store answer."""
    return json_answer({"status": "ok", "store": "ok"})


def version(call: Call) -> Response:
    """Tell what runs here, and whether a token is needed."""
    wanted = call.service.doorkeeper.wants_tokens
    return json_answer({"version": __version__, "api": "v1", "schema": SCHEMA, "tokens": wanted})


def metrics(call: Call) -> Response:
    """Return counters for Prometheus."""
    return Response(call.service.metrics.page(), headers={"Content-Type": CONTENT_TYPE})


def get_studies(call: Call) -> Response:
    """List all studies."""
    return json_answer({"studies": [summary.to_dict() for summary in list_studies(call.service.store)]})


def create_study(call: Call) -> Response:
    """Create a study."""
    body = cast(bodies.CreateBody, call.body)
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
    return json_answer(call.service.keep(study).summary().to_dict(), 201)


def get_study(call: Call) -> Response:
    """Show a study at a glance."""
    return json_answer(call.study.summary().to_dict())


def ask(call: Call) -> Response:
    """Ask for weights.

    A client that asks again gets its open round again; a key gives the same round for ever. Without either, every
    request opens a new round, so a retry may leave one behind: give a key.
    """
    body = cast(bodies.AskBody, call.body)
    found = call.study.ask(client=body.client, key=body.key, **_lease(body))
    call.service.metrics.asks.inc()
    return json_answer(found.to_dict())


def get_rounds(call: Call) -> Response:
    """List rounds that changed since a revision, in the order of their last change."""
    query = cast(bodies.RoundsQuery, call.query)
    study = call.study
    revision = study.revision  # read first: rounds that change in between are then seen twice, never missed
    found = study.rounds(after=query.after, limit=query.limit + 1, status=query.status)
    shown = found[: query.limit]
    return json_answer(
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
    return json_answer(call.study.round(number).to_dict())


def tell(call: Call) -> Response:
    """Tell the outcome of a round.

    The same outcome again changes nothing; another one is a conflict and changes nothing either: correct it with amend.
    A round that has expired may still be told.
    """
    number, body = call.round, cast(bodies.TellBody, call.body)
    told = call.study.tell(number, cast(Outcome, body.outcome), body.weights)
    call.service.metrics.tells.inc()
    return json_answer(told.to_dict())


def amend(call: Call) -> Response:
    """Correct the outcome of a round; the log keeps both."""
    number, body = call.round, cast(bodies.TellBody, call.body)
    told = call.study.amend(number, cast(Outcome, body.outcome), body.weights)
    call.service.metrics.amendments.inc()
    return json_answer(told.to_dict())


def tell_many(call: Call) -> Response:
    """Tell several outcomes: all or none."""
    body = cast(bodies.TellManyBody, call.body)
    told = call.study.tell_many([(one.id, one.outcome, one.weights) for one in body.rounds])
    call.service.metrics.tells.inc(len(told))
    return json_answer({"rounds": [one.to_dict() for one in told]})


def tell_outside(call: Call) -> Response:
    """Tell a round that the study did not propose: history, a warm start. With a key, a retry is safe."""
    body = cast(bodies.TellOutsideBody, call.body)
    told = call.study.tell_outside(body.weights, cast(Outcome, body.outcome), key=body.key)
    call.service.metrics.tells.inc()
    return json_answer(told.to_dict())


def explain(call: Call) -> Response:
    """Say why these weights: what each option contributes to mean and risk."""
    return json_answer(call.study.explain().to_dict())


def estimates(call: Call) -> Response:
    """Show estimated means, covariances and correlations."""
    return json_answer(call.study.estimates().to_dict())


def frontier(call: Call) -> Response:
    """Show the best mixtures on today's estimates, what ask proposes, and how uncertain both are."""
    return json_answer(call.study.frontier(points=cast(bodies.FrontierQuery, call.query).points).to_dict())


def history(call: Call) -> Response:
    """Show what was played and earned, for charts."""
    return json_answer(call.study.history(points=cast(bodies.HistoryQuery, call.query).points).to_dict())


def export(call: Call) -> Response:
    """Download all rounds as a file."""
    form = cast(bodies.ExportQuery, call.query).format
    study = call.study
    content = study.export(format=form)
    name = quote(f"{study.name}.{form}", safe="")
    return Response(
        content,
        headers={"Content-Type": _FILES[form], "Content-Disposition": f"attachment; filename*=UTF-8''{name}"},
    )


def get_changes(call: Call) -> Response:
    """List what was changed in a study's configuration."""
    return json_answer({"changes": [change.to_dict() for change in call.study.changes()]})


def change(call: Call) -> Response:
    """Change ρ, retire, restore or add an option: exactly one of these."""
    ((what, value),) = cast(bodies.ChangeBody, call.body).given.items()
    study = call.study
    do: dict[str, Callable[[Any], Any]] = {
        "risk_aversion": study.set_risk_aversion,
        "retire": study.retire,
        "restore": study.restore,
        "add": study.add_option,
    }
    return json_answer(do[what](value).to_dict())


def fork(call: Call) -> Response:
    """Replay the history into another learner: what it would advise now, not how it would have performed."""
    body = cast(bodies.ForkBody, call.body)
    with said_before():
        return json_answer(call.study.fork(body.learner, name=body.name).to_dict())


def verify(call: Call) -> Response:
    """Check that the log, told again to a fresh learner, gives the stored state."""
    return json_answer(call.study.verify().to_dict())


def _lease(body: bodies.CreateBody | bodies.AskBody) -> dict[str, Any]:
    """Return the lease as an argument, if one was sent: null means for ever, nothing means the usual."""
    return {"lease": body.lease_seconds} if "lease_seconds" in body.model_fields_set else {}


_STUDY = "/studies/{name}"
_ROUND = "/studies/{name}/rounds/{round_id}"
_A = answers
_B = bodies

_OPERATIONS: tuple[Operation, ...] = (
    Operation("GET", "/health", health, None, _A.HealthAnswer, needs=Service.try_store),
    Operation("GET", "/version", version, None, _A.VersionAnswer, needs=Service.know_tokens),
    Operation("GET", "/metrics", metrics, "read", None, slow=True),
    Operation("GET", "/studies", get_studies, "read", _A.StudiesAnswer),
    Operation("POST", "/studies", create_study, "admin", _A.SummaryAnswer, 201, _B.CreateBody, slow=True),
    Operation("GET", _STUDY, get_study, "read", _A.SummaryAnswer),
    Operation("POST", f"{_STUDY}/ask", ask, "tell", _A.RoundAnswer, body=_B.AskBody),
    Operation("GET", f"{_STUDY}/rounds", get_rounds, "read", _A.RoundsAnswer, query=_B.RoundsQuery),
    Operation("GET", _ROUND, get_round, "read", _A.RoundAnswer),
    Operation("POST", f"{_ROUND}/tell", tell, "tell", _A.RoundAnswer, body=_B.TellBody),
    Operation("POST", f"{_ROUND}/amend", amend, "tell", _A.RoundAnswer, body=_B.TellBody, slow=True),
    Operation("POST", f"{_STUDY}/tell_many", tell_many, "tell", _A.ManyRoundsAnswer, body=_B.TellManyBody, slow=True),
    Operation("POST", f"{_STUDY}/tell_outside", tell_outside, "tell", _A.RoundAnswer, body=_B.TellOutsideBody),
    Operation("GET", f"{_STUDY}/explain", explain, "read", _A.ExplanationAnswer, slow=True),
    Operation("GET", f"{_STUDY}/estimates", estimates, "read", _A.EstimatesAnswer, slow=True),
    Operation("GET", f"{_STUDY}/frontier", frontier, "read", _A.FrontierAnswer, query=_B.FrontierQuery, slow=True),
    Operation("GET", f"{_STUDY}/history", history, "read", _A.HistoryAnswer, query=_B.HistoryQuery, slow=True),
    Operation("GET", f"{_STUDY}/export", export, "read", None, query=_B.ExportQuery, slow=True),
    Operation("GET", f"{_STUDY}/changes", get_changes, "read", _A.ChangesAnswer),
    Operation("POST", f"{_STUDY}/changes", change, "admin", _A.ChangeAnswer, body=_B.ChangeBody, slow=True),
    Operation("POST", f"{_STUDY}/fork", fork, "admin", _A.ForkAnswer, body=_B.ForkBody, slow=True),
    Operation("GET", f"{_STUDY}/verify", verify, "read", _A.VerificationAnswer, slow=True),
)


def _with_the_study_of_now(run: Callable[[Call], Response]) -> Callable[[Call], Response]:
    """Let a route go on with the study that has its name now, if the one in memory is no longer in the store.

    That is so after a restore from a copy. Whatever touches a study finds out before it changes anything.
    """

    @wraps(run)
    def run_again(call: Call) -> Response:
        try:
            return run(call)
        except StudyGone:
            call.service.forget(call.path["name"])
            return run(call)

    return run_again


OPERATIONS: tuple[Operation, ...] = tuple(
    replace(operation, run=_with_the_study_of_now(operation.run)) for operation in _OPERATIONS
)
