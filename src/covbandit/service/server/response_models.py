"""The models of responses. They document and test the responses, which the studies themselves write."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

_ROUND = {
    "id": 7,
    "study": "funds",
    "source": "asked",
    "status": "told",
    "client": "desk-1",
    "key": None,
    "weights": {"SPY": 0.5, "TLT": 0.3, "GLD": 0.2},
    "asked_at": "2026-11-16T08:00:00.000000Z",
    "expires": "2026-12-16T08:00:00.000000Z",
    "told_at": "2026-11-20T17:30:00.000000Z",
    "played": {"SPY": 0.5, "TLT": 0.3, "GLD": 0.2},
    "outcome": {"SPY": 0.012, "TLT": -0.003, "GLD": 0.004},
    "rewards": {"SPY": 0.012, "TLT": -0.003, "GLD": 0.004},
    "reward": 0.0059,
    "outstanding": 0,
    "late": False,
    "amendments": 0,
    "revision": 15,
}
_SUMMARY = {
    "name": "funds",
    "options": ["SPY", "TLT", "GLD"],
    "retired": [],
    "feedback": "all",
    "outcome": "per_unit",
    "learner": "ShrunkEmpirical(n_options=3, risk_aversion=2.0)",
    "learner_class": "ShrunkEmpirical",
    "risk_aversion": 2.0,
    "min_weight": None,
    "lease_seconds": 604800.0,
    "created_at": "2026-11-16T08:00:00.000000Z",
    "revision": 15,
    "rounds": 7,
    "told": 7,
    "open": 0,
    "expired": 0,
    "amended": 0,
    "last_told_at": "2026-11-20T17:30:00.000000Z",
    "remarks": [],
    "risk_aversion_check": {
        "known": True,
        "reason": None,
        "risk_aversion": 2.0,
        "low": 0.9,
        "high": 140.0,
        "verdict": "matters",
        "message": None,
    },
}
_CHANGE = {
    "at": "2026-11-20T17:30:00.000000Z",
    "kind": "retired",
    "detail": {"option": "TLT"},
    "revision": 16,
}
_EXPLANATION = {
    "learner": "ShrunkEmpirical",
    "rounds": 7,
    "mean": 0.0061,
    "variance": 0.00002,
    "standard_deviation": 0.0045,
    "width_kind": "standard error of the mean",
    "by_option": {
        "option": ["SPY", "TLT", "GLD"],
        "weight": [0.5, 0.3, 0.2],
        "mean_contribution": [0.005, 0.0001, 0.001],
        "risk_contribution": [0.000015, 0.000002, 0.000003],
        "count": [7, 7, 7],
        "width": [0.002, 0.001, 0.0015],
    },
}
_POINT = {
    "mean": 0.0061,
    "sd": 0.0045,
    "mean_error": 0.0012,
    "sd_error": 0.0006,
    "weights": {"SPY": 0.5, "TLT": 0.3, "GLD": 0.2},
}

Numbers = list[float | None]


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid")


def _example(value: Any) -> ConfigDict:
    return ConfigDict(extra="forbid", json_schema_extra={"examples": [value]})


class ErrorAnswer(_Answer):
    """Every answer that is not a success."""

    model_config = _example(
        {
            "error": "conflict",
            "message": "round 7 was told otherwise before",
            "hint": "Correct it with amend, or leave it as it is.",
        }
    )
    error: Literal[
        "bad_request",
        "unauthorized",
        "forbidden",
        "not_found",
        "conflict",
        "too_large",
        "too_slow",
        "invalid",
        "rate_limited",
        "unavailable",
        "internal",
    ] = Field(description="The kind of error, for programs.")
    message: str = Field(description="What is wrong, with the value and the cause, for people.")
    hint: str = Field(description="The way out.")


class HealthAnswer(_Answer):
    """The service answers, and so does its store."""

    model_config = _example({"status": "ok", "store": "ok"})
    status: Literal["ok"]
    store: Literal["ok"]


class VersionAnswer(_Answer):
    """What runs here."""

    model_config = _example({"version": "0.1.0", "api": "v1", "schema": "0003", "tokens": True})
    version: str
    api: Literal["v1"]
    schema_: str = Field(alias="schema", description="The version of the store's tables.")
    tokens: bool = Field(description="Whether a token is needed.")


class RiskAversionCheckAnswer(_Answer):
    """Whether ρ lies in the range in which it matters, by the estimates so far."""

    known: bool
    reason: str | None = Field(description="Why the range is not known yet.")
    risk_aversion: float | None
    low: float | None = Field(description="Up to here the best weights follow the best means, whatever ρ is.")
    high: float | None = Field(description="From here on they are those of least variance; null if there is no end.")
    verdict: Literal["matters", "too small", "too large"] | None
    message: str | None = Field(description="What to know, in words, if ρ lies outside the range.")


class SummaryAnswer(_Answer):
    """A study at a glance."""

    model_config = _example(_SUMMARY)
    name: str
    options: list[str] = Field(description="Those in use.")
    retired: list[str]
    feedback: Literal["all", "chosen", "total"]
    outcome: Literal["per_unit", "amount"]
    learner: str
    learner_class: str
    risk_aversion: float | None
    min_weight: float | None
    lease_seconds: float | None
    created_at: datetime
    revision: int = Field(description="Raised by every ask, tell and change.")
    rounds: int = Field(description="Asked ones and those told from outside.")
    told: int
    open: int
    expired: int
    amended: int
    last_told_at: datetime | None
    remarks: list[str] = Field(description="What follows from the learner's arguments and may not be meant.")
    risk_aversion_check: RiskAversionCheckAnswer | None = Field(
        description="Whether ρ matters, once every option in use was seen ten times (from totals: once there are "
        "enough rounds to estimate the covariances); null in lists of studies. It may be as old as a twentieth of the "
        "told rounds."
    )


class StudiesAnswer(_Answer):
    """All studies."""

    model_config = _example({"studies": [_SUMMARY]})
    studies: list[SummaryAnswer]


class RoundAnswer(_Answer):
    """One round."""

    model_config = _example(_ROUND)
    id: int
    study: str
    source: Literal["asked", "outside"]
    status: Literal["open", "told", "expired"]
    client: str | None
    key: str | None
    weights: dict[str, float] = Field(description="What was proposed.")
    asked_at: datetime
    expires: datetime | None
    told_at: datetime | None
    played: dict[str, float] | None
    outcome: dict[str, float] | float | None = Field(description="As it was told, the latest correction.")
    rewards: dict[str, float | None] | None = Field(description="Per unit of weight.")
    reward: float | None = Field(description="What the weights earned together, per unit.")
    outstanding: int
    late: bool
    amendments: int
    revision: int


class RoundsAnswer(_Answer):
    """Rounds in order of their last change."""

    model_config = _example({"rounds": [_ROUND], "revision": 15, "study_revision": 15, "more": False})
    rounds: list[RoundAnswer]
    revision: int = Field(description="Of the last round here; ask with after=revision for what came later.")
    study_revision: int = Field(
        description="Of the study now. If it is below the revision asked for, the store was restored from a copy: "
        "start again with after=0."
    )
    more: bool = Field(description="Whether more than `limit` rounds were found.")


class ManyRoundsAnswer(_Answer):
    """The rounds told."""

    model_config = _example({"rounds": [_ROUND]})
    rounds: list[RoundAnswer]


class OptionColumns(_Answer):
    """One entry per option in every list; null is unknown."""

    option: list[str]
    weight: Numbers
    mean_contribution: Numbers
    risk_contribution: Numbers
    count: Numbers
    width: Numbers


class ExplanationAnswer(_Answer):
    """Why these weights."""

    model_config = _example(_EXPLANATION)
    learner: str
    rounds: int
    mean: float | None
    variance: float | None
    standard_deviation: float | None
    width_kind: str
    by_option: OptionColumns


class EstimatesAnswer(_Answer):
    """What the learner believes of the options; null is unknown."""

    model_config = _example(
        {
            "options": ["SPY", "TLT"],
            "in_use": [True, True],
            "mean": [0.01, 0.001],
            "width": [0.002, 0.001],
            "width_kind": "standard error of the mean",
            "count": [7, 7],
            "covariance": [[0.0001, 0.0], [0.0, 0.00004]],
            "correlation": [[1.0, 0.0], [0.0, 1.0]],
        }
    )
    options: list[str]
    in_use: list[bool]
    mean: Numbers
    width: Numbers
    width_kind: str
    count: Numbers
    covariance: list[Numbers] | None
    correlation: list[Numbers] | None


class FrontierPoint(_Answer):
    """A mixture on the frontier."""

    risk_aversion: float | None
    mean: float | None
    sd: float | None
    weights: dict[str, float]


class MarkedPoint(_Answer):
    """A mixture, with one standard error each way."""

    mean: float | None
    sd: float | None
    mean_error: float | None
    sd_error: float | None
    weights: dict[str, float]


class FrontierAnswer(_Answer):
    """The best mixtures on today's estimates."""

    model_config = _example(
        {
            "known": True,
            "reason": None,
            "risk_aversion": 2.0,
            "points": [{"risk_aversion": 2.0, "mean": 0.0061, "sd": 0.0045, "weights": {"SPY": 0.5, "TLT": 0.5}}],
            "current": _POINT,
            "optimal": _POINT,
            "error_kind": "one standard error",
        }
    )
    known: bool
    reason: str | None = Field(description="Why it is not known yet.")
    risk_aversion: float | None
    points: list[FrontierPoint]
    current: MarkedPoint | None = Field(description="What ask proposes now.")
    optimal: MarkedPoint | None = Field(description="Best for the study's ρ on the estimates.")
    error_kind: str | None


class HistoryAnswer(_Answer):
    """What was played and earned, thinned; cumulative figures count all rounds."""

    model_config = _example(
        {
            "round": [1, 2],
            "place": [1, 2],
            "source": ["outside", "asked"],
            "told_at": ["2026-11-16T08:00:00.000000Z", "2026-11-17T08:00:00.000000Z"],
            "weights": {"SPY": [0.5, 0.6], "TLT": [0.5, 0.4]},
            "reward": [0.004, 0.002],
            "cumulative_reward": [0.004, 0.006],
            "risk": [None, 0.001],
            "equal_weights_cumulative_reward": [0.004, 0.005],
            "equal_weights_risk": [None, 0.0012],
            "asked_cumulative_reward": [0.0, 0.002],
            "asked_risk": [None, None],
            "asked_equal_weights_cumulative_reward": [0.0, 0.001],
            "asked_equal_weights_risk": [None, None],
            "told": 2,
            "asked": 1,
            "points": 2,
            "would_have_weights": None,
            "would_have_cumulative_reward": None,
            "would_have_risk": None,
        }
    )
    round: list[int]
    place: list[int] = Field(description="Where each stands in the order of telling, from 1.")
    source: list[Literal["asked", "outside"]]
    told_at: list[datetime]
    weights: dict[str, Numbers]
    reward: Numbers
    cumulative_reward: Numbers
    risk: Numbers = Field(description="Running standard deviation of the reward.")
    equal_weights_cumulative_reward: Numbers | None = Field(description="Known under full information only.")
    equal_weights_risk: Numbers | None
    asked_cumulative_reward: Numbers = Field(description="As above, over the rounds that the study had proposed.")
    asked_risk: Numbers
    asked_equal_weights_cumulative_reward: Numbers | None
    asked_equal_weights_risk: Numbers | None
    told: int
    asked: int = Field(description="Told rounds that the study had proposed.")
    points: int
    would_have_weights: dict[str, Numbers] | None = Field(
        description="As long as all told rounds came from outside and every option is seen: what the study would have "
        "proposed in each, knowing the rounds before it."
    )
    would_have_cumulative_reward: Numbers | None = Field(description="What that would have earned.")
    would_have_risk: Numbers | None


class ChangeAnswer(_Answer):
    """A change of a study's configuration."""

    model_config = _example(_CHANGE)
    at: datetime
    kind: str
    detail: dict[str, Any]
    revision: int


class ChangesAnswer(_Answer):
    """All changes, oldest first."""

    model_config = _example({"changes": [_CHANGE]})
    changes: list[ChangeAnswer]


class ForkAnswer(_Answer):
    """What another learner would advise now, having read the same history."""

    model_config = _example(
        {
            "learner": "MCEmpirical(n_options=3, risk_aversion=5.0)",
            "study": None,
            "rounds_replayed": 7,
            "weights": {"SPY": 0.4, "TLT": 0.4, "GLD": 0.2},
            "explanation": _EXPLANATION,
            "note": "What this learner would advise now, after the same history. Not how it would have performed: the "
            "rounds are those that another learner chose.",
        }
    )
    learner: str
    study: str | None
    rounds_replayed: int
    weights: dict[str, float]
    explanation: ExplanationAnswer
    note: str


class VerificationAnswer(_Answer):
    """Whether the log, told again to a fresh learner, gives the stored state."""

    model_config = _example(
        {"ok": True, "exact": True, "difference": 0.0, "rounds": 7, "message": "7 rounds told again: same bits"}
    )
    ok: bool
    exact: bool
    difference: float | None
    rounds: int
    message: str
