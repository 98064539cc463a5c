"""A study behind a service, with the methods of `covbandit.Study`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from uuid import uuid4

import numpy as np

from covbandit.allocation import Allocator
from covbandit.core import validation
from covbandit.core.validation import known_name
from covbandit.errors import InvalidInput, NotFound, Unsupported
from covbandit.learners import Explanation, Learner
from covbandit.learners.protocol.serialization import class_name
from covbandit.service.client.connection import Answer, Connection, as_json
from covbandit.studies import (
    Change,
    Fork,
    Frontier,
    History,
    RiskAversionCheck,
    Round,
    StudyEstimates,
    StudySummary,
    Verification,
)
from covbandit.studies.configuration import Configuration
from covbandit.studies.export import as_format, keep
from covbandit.studies.ledger import OWN_LEASE
from covbandit.studies.risk_aversion import too_early
from covbandit.studies.study import Lease, Outcome, as_lease

if TYPE_CHECKING:
    from covbandit.allocation import ByName

_AT_ONCE = 1_000  # rounds in one answer


class RemoteStudy:
    """A study behind a service, made by `Client.create` and `Client.open`.

    It has the methods of `covbandit.Study`, with the same arguments, answers and exceptions. Outcomes and weights are
    best given by option name; a sequence costs one more request, for the names.
    """

    def __init__(self, connection: Connection, name: str) -> None:
        self._connection = connection
        self._name = name
        self._path = path_of(name)

    def __repr__(self) -> str:
        return f"RemoteStudy({self._name!r}, url={self._connection.url!r})"

    # What it is ------------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The study's name."""
        return self._name

    @property
    def options(self) -> tuple[str, ...]:
        """The options in use."""
        return self.summary().options

    @property
    def retired(self) -> tuple[str, ...]:
        """The options no longer in use."""
        return self.summary().retired

    @property
    def outcome(self) -> str:
        """How outcomes are told: ``"per_unit"`` or ``"amount"``."""
        return self.summary().outcome

    @property
    def feedback(self) -> str:
        """What the learner sees: ``"all"``, ``"chosen"`` or ``"total"``."""
        return self.summary().feedback

    @property
    def risk_aversion(self) -> float | None:
        """ρ, if the learner has one."""
        return self.summary().risk_aversion

    @property
    def revision(self) -> int:
        """A number that every ask, tell and change raises."""
        return self.summary().revision

    @property
    def lease(self) -> timedelta | None:
        """How long a round stays open for its client."""
        found = self.summary().lease_seconds
        return None if found is None else timedelta(seconds=found)

    def summary(self) -> StudySummary:
        """Return the study at a glance."""
        return StudySummary.from_dict(self._get("").data)

    def risk_aversion_check(self) -> RiskAversionCheck:
        """Say whether ρ lies in the range in which it matters; see `covbandit.Study.risk_aversion_check`.

        It is that of the summary, to which up to a twentieth of the told rounds may have been added.
        """
        found = self.summary()
        return found.risk_aversion_check or too_early(found.risk_aversion)

    # Ask and tell ----------------------------------------------------------------------------------------------------

    def ask(self, client: str | None = None, key: str | None = None, lease: Lease | object = OWN_LEASE) -> Round:
        """Propose weights for a round; see `covbandit.Study.ask`.

        Without client and key a key is made up, so that a repeated request does not open a second round.
        """
        if client is None and key is None:
            key = _new_key()
        body: dict[str, Any] = {name: value for name, value in (("client", client), ("key", key)) if value is not None}
        if lease is not OWN_LEASE:
            body["lease_seconds"] = as_lease(lease)
        return Round.from_dict(self._post("/ask", body).data)

    def tell(self, round_id: int, outcome: Outcome, weights: ByName | None = None) -> Round:
        """Tell what happened in a round; see `covbandit.Study.tell`."""
        return Round.from_dict(self._post(f"{_round(round_id)}/tell", self._told(outcome, weights)).data)

    def tell_many(self, entries: Iterable[Sequence[Any]]) -> list[Round]:
        """Tell many rounds, all of them or none; see `covbandit.Study.tell_many`."""
        told = []
        for k, entry in enumerate(entries):
            if isinstance(entry, str | Mapping) or not 2 <= len(entry) <= 3:
                raise InvalidInput(f"entry {k} must be (round_id, outcome) or (round_id, outcome, weights): {entry!r}")
            told.append({"id": _number(entry[0]), **self._told(entry[1], entry[2] if len(entry) == 3 else None)})
        found = self._post("/tell_many", {"rounds": told}).data["rounds"]
        return [Round.from_dict(each) for each in found]

    def tell_outside(self, weights: ByName, outcome: Outcome, key: str | None = None) -> Round:
        """Tell a round that was not asked for; see `covbandit.Study.tell_outside`.

        Without a key one is made up, so that a repeated request is not counted twice.
        """
        body = {**self._told(outcome, weights), "key": _new_key() if key is None else key}
        return Round.from_dict(self._post("/tell_outside", body).data)

    def amend(self, round_id: int, outcome: Outcome, weights: ByName | None = None) -> Round:
        """Correct a round that was told; see `covbandit.Study.amend`."""
        return Round.from_dict(self._post(f"{_round(round_id)}/amend", self._told(outcome, weights)).data)

    # Change ----------------------------------------------------------------------------------------------------------

    def set_risk_aversion(self, risk_aversion: float) -> Change:
        """Change ρ; see `covbandit.Study.set_risk_aversion`."""
        return self._change({"risk_aversion": float(risk_aversion)}, "risk_aversion")

    def retire(self, option: str) -> Change:
        """Take an option out of use; see `covbandit.Study.retire`."""
        return self._change({"retire": option}, "retired")

    def restore(self, option: str) -> Change:
        """Bring a retired option back into use; see `covbandit.Study.restore`."""
        return self._change({"restore": option}, "restored")

    def add_option(self, option: str) -> Change:
        """Add an option; see `covbandit.Study.add_option`."""
        return self._change({"add": option}, "added")

    def close(self) -> None:
        """Do nothing: the connection is the client's, which closes it."""

    def changes(self) -> list[Change]:
        """Return what was changed, oldest first; the first one is the creation."""
        return [Change.from_dict(each) for each in self._get("/changes").data["changes"]]

    # Look ------------------------------------------------------------------------------------------------------------

    def round(self, round_id: int) -> Round:
        """Return one round."""
        return Round.from_dict(self._get(_round(round_id)).data)

    def rounds(self, after: int = 0, limit: int | None = None, status: str | None = None) -> list[Round]:
        """Return rounds in order of their last change; see `covbandit.Study.rounds`. Many are fetched in pieces."""
        after = validation.as_count(after, "after")
        limit = None if limit is None else validation.as_count(limit, "limit", 1)
        found: list[Round] = []
        while limit is None or len(found) < limit:
            wanted = _AT_ONCE if limit is None else min(_AT_ONCE, limit - len(found))
            query = {"after": after, "limit": wanted} | ({} if status is None else {"status": status})
            page = self._get("/rounds", query).data
            found += [Round.from_dict(each) for each in page["rounds"]]
            if not page["more"]:
                break
            after = page["revision"]
        return found

    def explain(self) -> Explanation:
        """Say why: what each option contributes to the mean and the risk of the weights proposed now."""
        return _explanation(self._get("/explain").data)

    def estimates(self) -> StudyEstimates:
        """Return what the learner believes of each option and pair."""
        return StudyEstimates.from_dict(self._get("/estimates").data)

    def frontier(self, points: int = 40) -> Frontier:
        """Return the efficient frontier by the learner's estimates, with the current and the optimal point."""
        return Frontier.from_dict(self._get("/frontier", {"points": points}).data)

    def history(self, points: int = 400) -> History:
        """Return the course of the study: weights, rewards and risk over the told rounds."""
        return History.from_dict(self._get("/history", {"points": points}).data)

    def export(self, path: str | Path | None = None, format: str | None = None) -> bytes:
        """Write all rounds to a file here, or return what would be in it; see `covbandit.Study.export`."""
        kind = as_format(format, path)
        content = self._get("/export", {"format": kind}).content
        if path is not None:
            keep(content, path)
        return content

    def fork(self, learner: Learner | Allocator | Mapping[str, Any], name: str | None = None) -> Fork:
        """Tell the history to another learner, and see what it would advise now; see `covbandit.Study.fork`.

        Making it a study of its own is repeated after a lost answer only if it was not done yet.
        """
        body: dict[str, Any] = {"learner": described(learner)}
        if not isinstance(learner, Mapping):
            Configuration.of(self.estimates().options, learner)  # refuses what does not fit these options
        if name is not None:
            body["name"] = name
        return _fork(self._post("/fork", body, lambda: self._forked(body)).data)

    def _forked(self, body: Mapping[str, Any]) -> Answer | None:
        """Return the fork, if it was made into a study already."""
        if "name" not in body:
            return None
        try:
            there = StudySummary.from_dict(self._connection.send("GET", path_of(body["name"])).data)
        except NotFound:
            return None
        data = self._post("/fork", {"learner": body["learner"]}).data  # what it would be: the same, if that is ours
        if there.learner != data["learner"] or there.told < data["rounds_replayed"]:
            return None
        return Answer(as_json({**data, "study": body["name"]}), self._connection.url)

    def verify(self, progress: Callable[[int], None] | None = None) -> Verification:
        """Let the service tell the whole log to a fresh learner and compare with the stored state.

        Parameters
        ----------
        progress : callable, optional
            Called once, at the end, with the number of rounds told again.
        """
        found = self._get("/verify").data
        if found["difference"] is None:
            found["difference"] = float("nan")
        verified = Verification.from_dict(found)
        if progress is not None:
            progress(verified.rounds)
        return verified

    # Inside ----------------------------------------------------------------------------------------------------------

    def _get(self, path: str, query: Mapping[str, Any] | None = None) -> Answer:
        return self._connection.send("GET", self._path + path, query=query)

    def _post(self, path: str, body: Mapping[str, Any], recall: Callable[[], Answer | None] | None = None) -> Answer:
        return self._connection.send("POST", self._path + path, body, recall=recall)

    def _change(self, body: Mapping[str, Any], kind: str) -> Change:
        before = self.revision
        ((what, value),) = body.items()
        told_as = "risk_aversion" if what == "risk_aversion" else "option"

        def made() -> Answer | None:
            for change in self.changes():
                made_of = change.detail.get(told_as)
                same = made_of == value or known_name(made_of, [value]) is not None
                if change.revision > before and change.kind == kind and same:
                    return Answer(as_json(change.to_dict()), self._connection.url)
            return None

        return Change.from_dict(self._post("/changes", body, made).data)

    def _told(self, outcome: object, weights: object) -> dict[str, Any]:
        body: dict[str, Any] = {"outcome": self._plain(outcome, "outcome")}
        if weights is not None:
            body["weights"] = self._plain(weights, "weights")
        return body

    def _plain(self, values: Any, what: str) -> Any:
        """Return an outcome or weights as they travel: by option name, or one number."""
        if hasattr(values, "items"):
            pairs = list(values.items())
            if len(dict(pairs)) < len(pairs):
                raise InvalidInput(f"{what}: an option is named twice in {[name for name, _ in pairs]}")
            return {_text(name, what): _as_number(value) for name, value in pairs}
        if np.ndim(values) == 0:
            return _as_number(values)
        if isinstance(values, str) or np.ndim(values) != 1:
            raise InvalidInput(f"{what} must be given by option name, such as {{'SPY': 0.1}}, got {values!r}")
        names, entries = self.estimates().options, [_as_number(value) for value in values]
        if len(names) != len(entries):
            raise InvalidInput(f"{what} must have {len(names)} entries, one per option, got {len(entries)}")
        pairs = list(zip(names, entries, strict=True))
        return {name: value for name, value in pairs if value is not None and value == value}


def path_of(name: object) -> str:
    """Return the address of a study."""
    if not isinstance(name, str) or name in ("", ".", "..") or "/" in name:
        raise InvalidInput(f"study name must be text without / that is not . or .., got {name!r}")
    try:
        return f"/studies/{quote(name, safe='')}"
    except UnicodeEncodeError:
        raise InvalidInput(f"study name is no text: {name!r}") from None


def described(learner: Learner | Allocator | Mapping[str, Any]) -> dict[str, Any]:
    """Return a learner as plain data, to be built again by the service.

    Raises
    ------
    InvalidInput
        If it is no learner, or has been told something already.
    Unsupported
        If its class is not one of covbandit's: the service runs no code of others.
    """
    if isinstance(learner, Allocator):
        learner = learner.learner
    if isinstance(learner, Mapping):
        return {str(name): _plain_argument(value) for name, value in learner.items()}
    if not isinstance(learner, Learner):
        raise InvalidInput(
            "learner must be a covbandit learner, an allocator, or a mapping such as "
            f"{{'feedback': 'all', 'risk_aversion': 0.4}}, got {type(learner).__name__}"
        )
    if ":" in class_name(type(learner)):
        raise Unsupported(
            f"a service knows covbandit's own learners only, not {type(learner).__name__}; use covbandit.Study with it"
        )
    if learner.rounds_told:
        raise InvalidInput(
            f"the learner was told {learner.rounds_told} rounds already, which the study's log would lack; give a "
            "fresh one, and tell its history by tell_outside"
        )
    given = {name: value for name, value in learner.config().items() if name not in ("options", "n_options")}
    return {"class": class_name(type(learner)), **{name: _plain_argument(value) for name, value in given.items()}}


def _plain_argument(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [_plain_argument(entry) for entry in value]
    return value


def _new_key() -> str:
    return f"auto-{uuid4().hex}"


def _number(round_id: object) -> int:
    if isinstance(round_id, bool) or not isinstance(round_id, int | np.integer):
        raise InvalidInput(f"round_id must be the whole number that ask returned, got {round_id!r}")
    return int(round_id)


def _round(round_id: object) -> str:
    return f"/rounds/{max(_number(round_id), 0)}"  # below 1 there is none: the service says so


def _as_number(value: Any) -> Any:
    """Return a number of NumPy's as Python's; anything else is left for the service to judge."""
    return value.item() if isinstance(value, np.generic | np.ndarray) and np.ndim(value) == 0 else value


def _text(name: object, what: str) -> str:
    if not isinstance(name, str):
        raise InvalidInput(f"{what}: options are named by text, got {name!r}")
    return name


def _explanation(data: Mapping[str, Any]) -> Explanation:
    columns = data["by_option"]
    weights = np.array(columns["weight"], dtype=np.float64)
    weights.flags.writeable = False
    return Explanation(
        learner=data["learner"],
        rounds=data["rounds"],
        options=tuple(columns["option"]),
        weights=weights,
        mean=data["mean"],
        variance=data["variance"],
        mean_contributions=tuple(columns["mean_contribution"]),
        risk_contributions=tuple(columns["risk_contribution"]),
        counts=tuple(columns["count"]),
        widths=tuple(columns["width"]),
        width_kind=data["width_kind"],
    )


def _fork(data: Mapping[str, Any]) -> Fork:
    return Fork(
        data["learner"],
        data["study"],
        data["rounds_replayed"],
        data["weights"],
        _explanation(data["explanation"]),
        data["note"],
    )
