"""The models of request bodies and query strings.

Types are checked here, strictly; whether values make sense is for the study to judge. Names, docstrings and field
descriptions are part of the OpenAPI description.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

MOST_OPTIONS = 1_000
"""Of a study created over HTTP: statistics take room for every pair of options."""

_MOST_TELLS = 1_000  # in one request
_LARGEST = 2**53  # what every reader of JSON keeps exact

Outcome = Annotated[
    float | dict[str, float | None],
    Field(
        description="By option name, or one number if the study sees totals only. Leave out options that were not "
        "seen: what is not known is not zero.",
    ),
]
Weights = Annotated[
    dict[str, float] | None,
    Field(description="The weights really played, by option name, if not those asked; they sum to 1."),
]
Key = Annotated[str | None, Field(description="The same key again gives the same round: a retry opens no second one.")]
Lease = Annotated[
    float | None,
    Field(description="Seconds until the round counts as expired; it may still be told. null: never."),
]
Learner = Annotated[
    dict[str, Any],
    Field(
        description='Either {"feedback": "all" | "chosen" | "total", ...}, for the default learner with the '
        'arguments of covbandit.allocator, or {"class": "PairUCB", ...} with the arguments of that learner. '
        "risk_aversion is in 1 / (unit of reward): about 2 for returns as fractions, 0.0002 for amounts in the "
        "thousands.",
        examples=[{"feedback": "chosen", "risk_aversion": 0.0002, "min_weight": 0.1}],
    ),
]


class Body(BaseModel):
    """The body of a request."""

    model_config = ConfigDict(extra="forbid", strict=True)


class CreateBody(Body):
    """A new study."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "name": "funds",
                    "options": ["SPY", "TLT", "GLD"],
                    "outcome": "per_unit",
                    "learner": {"feedback": "all", "risk_aversion": 2.0},
                    "lease_seconds": 604800,
                }
            ]
        }
    )
    name: str = Field(description="1 to 200 printable characters without / and \\; part of the study's address.")
    options: list[str] = Field(description="The options' names.", max_length=MOST_OPTIONS)
    outcome: Literal["per_unit", "amount"] = Field(
        description="per_unit: reward per unit of weight, as returns are. amount: what each option earned at its "
        "weight; it is divided by the weight."
    )
    learner: Learner
    lease_seconds: float | None = Field(
        default=None,
        description="How long a round stays open: 30 days unless given, null for ever.",
    )


class AskBody(Body):
    """A question for weights. Without client and key, every request opens a new round."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"client": "desk-1"}, {"key": "2026-W46"}, {}]})
    client: str | None = Field(
        default=None, description="Who asks: gets the same round until it is told or its lease ends."
    )
    key: Key = None
    lease_seconds: Lease = None


class TellBody(Body):
    """The outcome of a round, or its correction."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"outcome": {"SPY": 0.012, "TLT": -0.003, "GLD": 0.004}}, {"outcome": 0.007}],
        }
    )
    outcome: Outcome
    weights: Weights = None


class ToldRound(TellBody):
    """One of several outcomes."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"id": 1, "outcome": 0.007}]})
    id: int = Field(ge=1, le=_LARGEST, description="The round's number.")


class TellManyBody(Body):
    """Several outcomes: all are told, in this order, or none."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"rounds": [{"id": 1, "outcome": {"SPY": 0.012, "TLT": -0.003, "GLD": 0.004}}]}]
        }
    )
    rounds: list[ToldRound] = Field(max_length=_MOST_TELLS)


class TellOutsideBody(Body):
    """A round that the study did not propose, such as one from before the study existed."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "weights": {"SPY": 0.6, "TLT": 0.4},
                    "outcome": {"SPY": 0.01, "TLT": 0.002, "GLD": -0.001},
                    "key": "2025-12",
                }
            ]
        }
    )
    weights: dict[str, float] = Field(description="The weights played, by option name; they sum to 1.")
    outcome: Outcome
    key: Key = None


class ChangeBody(Body):
    """A change of a study: exactly one of the four."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"risk_aversion": 0.5}, {"retire": "TLT"}, {"restore": "TLT"}, {"add": "GLD"}]}
    )
    risk_aversion: float | None = Field(default=None, description="The new ρ.")
    retire: str | None = Field(default=None, description="An option that gets weight 0 from now on.")
    restore: str | None = Field(default=None, description="A retired option to use again.")
    add: str | None = Field(default=None, description="A new option.")

    @model_validator(mode="after")
    def _exactly_one(self) -> ChangeBody:
        if len(self.given) != 1:
            raise ValueError("give exactly one of risk_aversion, retire, restore, add")
        return self

    @property
    def given(self) -> dict[str, Any]:
        """What is to be changed, and how."""
        return self.model_dump(exclude_none=True)


class ForkBody(Body):
    """Another learner for the same history."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"learner": {"class": "MCEmpirical", "risk_aversion": 5.0}, "name": "bolder"}]}
    )
    learner: Learner
    name: str | None = Field(default=None, description="Keep the fork as a study of this name.")


class Query(BaseModel):
    """What stands after the question mark."""

    model_config = ConfigDict(extra="forbid")


class RoundsQuery(Query):
    """Which rounds."""

    after: int = Field(default=0, ge=0, le=_LARGEST, description="Only rounds that changed after this revision.")
    limit: int = Field(default=200, ge=1, le=1_000, description="At most so many, in order of revision.")
    status: Literal["open", "told", "expired"] | None = Field(default=None, description="Only those.")


class FrontierQuery(Query):
    """How fine."""

    points: int = Field(default=40, ge=2, le=200, description="Points on the frontier.")


class HistoryQuery(Query):
    """How fine."""

    points: int = Field(default=400, ge=2, le=10_000, description="At most so many rounds; totals count all.")


class ExportQuery(Query):
    """In which form."""

    format: Literal["csv", "json", "parquet"] = Field(default="csv", description="Kind of file.")
