"""Studies under random use, right and wrong, by two objects at once, against a simple model of what must come of it."""

from __future__ import annotations

import copy
import math
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import select

import covbandit as cb
from covbandit.errors import Conflict, CovbanditError, InvalidInput, NotFound
from covbandit.studies import Round, Store, Study, records, repository, summary, transactions
from covbandit.studies.schema import changes, rounds, states, studies, tells
from stores import sqlite_url
from study_workers import in_memory

LEARNERS: dict[str, Callable[..., cb.Learner]] = {
    "all": cb.MCEmpirical,
    "chosen": cb.PairUCB,
    "total": cb.MCETE,
}
MOST_OPTIONS = 5
REVISION = list(studies.c).index(studies.c.revision)
LEASE = 100.0

Payload = tuple[list[float], Any]
"""Weights played and outcome, as the log keeps them: in option order, None where nothing was seen."""

# The model ------------------------------------------------------------------------------------------------------------


@dataclass
class ModelRound:
    client: str | None
    key: str | None
    source: str
    asked: list[float | None]
    expires: float
    told: list[Payload] = field(default_factory=list)
    late: bool = False

    def status(self, now: float) -> str:
        if self.told:
            return "told"
        return "open" if now < self.expires else "expired"


@dataclass
class Model:
    """What a study is, without a database: a list of rounds and a list of what happened."""

    feedback: str
    kind: str
    options: list[str]
    risk_aversion: float
    retired: list[str] = field(default_factory=list)
    rounds: list[ModelRound] = field(default_factory=list)
    log: list[tuple[str, Any]] = field(default_factory=list)  # ("told", round's number) or ("retired", options)

    def learner(self) -> cb.Learner:
        """Return a fresh learner that was told the log, with corrections in the place of what they correct."""
        made = LEARNERS[self.feedback](
            n_options=len(self.options), options=self.options, risk_aversion=self.risk_aversion
        )
        for what, which in self.log:
            if what == "retired":
                made.set_retired(which)
            else:
                made._tell_seen(*self._seen(self.rounds[which - 1].told[-1]))
        return made

    def _seen(self, payload: Payload) -> tuple[np.ndarray, Any]:
        played, outcome = payload
        weights = np.array([*played, *[0.0] * (len(self.options) - len(played))])
        if not isinstance(outcome, list):
            return weights, outcome
        rewards = np.full(len(self.options), np.nan)
        for i, value in enumerate(outcome):
            if value is not None:
                rewards[i] = value / played[i] if self.kind == "amount" else value
        return weights, rewards

    def open_rounds(self, now: float) -> list[int]:
        return [k for k, each in enumerate(self.rounds, 1) if each.status(now) == "open"]

    # What must come of a call: each returns whether anything changes, or raises as the study must.

    def ask(self, client: str | None, key: str | None, lease: float | None, now: float) -> tuple[int, bool]:
        if key is not None:
            for number, each in enumerate(self.rounds, 1):
                if each.key == key:
                    shared = client is not None and each.client is not None and client != each.client
                    if each.source != "asked" or shared:
                        raise Conflict
                    taken = client is not None and each.client is None
                    each.client = each.client or client
                    return number, taken
        elif client is not None:
            mine = [k for k in self.open_rounds(now) if self.rounds[k - 1].client == client]
            mine = [k for k in mine if self.rounds[k - 1].key is None]
            if mine:
                return mine[-1], False
        weights = self.learner().ask(len(self.open_rounds(now))).tolist()
        asked = [None if name in self.retired else w for name, w in zip(self.options, weights, strict=True)]
        self.rounds.append(ModelRound(client, key, "asked", asked, math.inf if lease is None else now + lease))
        return len(self.rounds), True

    def tell(self, number: int, payload: Payload, now: float) -> bool:
        found = self.found(number)
        if found.told:
            if self._padded(payload) not in (self._padded(found.told[0]), self._padded(found.told[-1])):
                raise Conflict
            return False
        self._try([*self.log, ("told", number)], number, payload)
        found.late = found.status(now) == "expired"
        found.told.append(payload)
        self.log.append(("told", number))
        return True

    def tell_outside(self, payload: Payload, key: str | None) -> bool:
        for number, each in enumerate(self.rounds, 1):
            if key is not None and each.key == key:
                if each.source != "outside":
                    raise Conflict
                return self.tell(number, payload, 0.0)
        self.rounds.append(ModelRound(None, key, "outside", list(payload[0]), math.inf))
        try:
            return self.tell(len(self.rounds), payload, 0.0)
        except CovbanditError:
            self.rounds.pop()
            raise

    def amend(self, number: int, payload: Payload) -> bool:
        found = self.found(number)
        if not found.told:
            raise Conflict
        if self._padded(payload) == self._padded(found.told[-1]):
            return False
        self._try(self.log, number, payload)
        found.told.append(payload)
        return True

    def found(self, number: int) -> ModelRound:
        if not 1 <= number <= len(self.rounds):
            raise NotFound
        return self.rounds[number - 1]

    def _try(self, log: list[tuple[str, Any]], number: int, payload: Payload) -> None:
        """Raise what the learner would."""
        tried = copy.deepcopy(self)
        tried.log = log
        tried.rounds[number - 1].told.append(payload)
        tried.learner()

    def _padded(self, payload: Payload) -> Payload:
        played, outcome = payload
        missing = len(self.options) - len(played)
        if isinstance(outcome, list):
            outcome = [*outcome, *[None] * missing]
        return [*played, *[0.0] * missing], outcome

    # Payloads

    def shown(self, payload: Payload) -> Any:
        """Return an outcome as a user tells it."""
        _, outcome = payload
        if not isinstance(outcome, list):
            return outcome
        return {name: value for name, value in zip(self.options, outcome, strict=False) if value is not None}


SPLITS = [
    [1.0],
    [0.5, 0.5],
    [0.25, 0.75],
    [0.5, 0.25, 0.25],
    [0.25, 0.25, 0.25, 0.25],
]

NO_NUMBERS = ["many", None, [1.0, [2.0]], math.nan, math.inf, -math.inf, 1j]
NO_IDS = ["1", 1.5, None, True, [1], {}]
NO_ROUNDS = [0, -1, 10**30]
NO_NAMES = ["", " blank", "two\nlines", 5, "x" * 201]
NO_AVERSIONS = [-1.0, math.nan, math.inf, "high", None, [1.0]]
NO_WEIGHTS: list[Any] = [
    {"north": 0.7},
    {"north": 1.5, "east": -0.5},
    {"north": math.nan, "east": 1.0},
    {"north": 1.0, "nowhere": 0.0},
    {"north": "all"},
    [1.0],
    "north",
    1.0,
    [],
]

# The machine ----------------------------------------------------------------------------------------------------------


class Use(RuleBasedStateMachine):
    """Two objects of one study, used at random."""

    store: Store
    names = count()
    changed = refused_or_repeated = told = 0  # calls and rounds of all runs, to see that there were enough

    def __init__(self) -> None:
        super().__init__()
        self.now = 1_000_000.0
        clock = SimpleNamespace(time=lambda: self.now)
        self.patches = [
            mock.patch.object(module, "time", clock) for module in (records, repository, summary, transactions)
        ]
        for patch in self.patches:
            patch.start()

    @initialize(
        data=st.data(), feedback=st.sampled_from(sorted(LEARNERS)), kind=st.sampled_from(["per_unit", "amount"])
    )
    def create(self, data: st.DataObject, feedback: str, kind: str) -> None:
        if feedback != "chosen":
            kind = "per_unit"  # amounts suit those who see what they chose
        options = ["north", "east", "south"]
        self.name = f"study {next(self.names)}"
        self.model = Model(feedback, kind, options, 0.5)
        learner = LEARNERS[feedback](n_options=3, risk_aversion=0.5)
        one = Study.create(self.name, options, learner, kind, self.store, lease=LEASE)
        self.studies = [one, Study.open(self.name, self.store)]
        self.kept = self.contents()
        self.play_some(data, 5)

    # What is in the store

    def contents(self) -> list[Any]:
        """Return every row of the study."""
        with self.store.read() as connection:
            mine = connection.execute(select(studies).where(studies.c.name == self.name)).one()
            found: list[Any] = [tuple(mine)]
            for table in (states, rounds, tells, changes):
                wanted = select(table).where(table.c.study_id == mine.id).order_by(*table.primary_key.columns)
                found += [tuple(row) for row in connection.execute(wanted)]
        return [tuple(bytes(v) if isinstance(v, memoryview) else v for v in row) for row in found]

    def happens(self, expected: Callable[[Model], Any], call: Callable[[], Any]) -> Any:
        """Make a call that must do to the study what it does to the model; refused ones change nothing."""
        tried = copy.deepcopy(self.model)
        try:
            changed = expected(tried)
        except CovbanditError as refusal:
            with pytest.raises(type(refusal)):
                call()
            assert self.contents() == self.kept
            Use.refused_or_repeated += 1
            return None
        answer = call()
        now = self.contents()
        assert (now != self.kept) == changed
        assert (now[0][REVISION] > self.kept[0][REVISION]) == changed
        self.model, self.kept = tried, now
        Use.changed += changed
        Use.refused_or_repeated += not changed
        return answer

    def refused(self, error: type[CovbanditError], call: Callable[[], Any]) -> None:
        def expected(_: Model) -> bool:
            raise error

        self.happens(expected, call)

    # Choices

    def study(self, data: st.DataObject) -> Study:
        return data.draw(st.sampled_from(self.studies), label="object")

    def number(self, data: st.DataObject) -> int:
        """Choose a round, rather one of the last."""
        size = len(self.model.rounds)
        return data.draw(st.integers(max(1, size - 6), size) | st.integers(1, size), label="round")

    def payload(self, data: st.DataObject, played: list[float], needed: list[bool], unknown: bool) -> Payload:
        """Choose an outcome that fits weights."""
        model = self.model
        value = st.integers(-8, 8).map(lambda k: k / 4)
        if model.feedback == "total":
            return played, data.draw(value, label="total")
        outcome: list[float | None] = []
        for w, must in zip(played, needed, strict=True):
            seen = w > 0 or (model.feedback == "all" and (must or data.draw(st.booleans())))
            if seen and w == 0 and unknown and data.draw(st.booleans()):
                seen = False
            outcome.append(data.draw(value) if seen else None)
        return played, outcome

    def played(self, data: st.DataObject) -> list[float]:
        """Choose weights."""
        size = len(self.model.options)
        split = data.draw(st.sampled_from([split for split in SPLITS if len(split) <= size]), label="split")
        order = data.draw(st.permutations(range(size)), label="order")
        weights = [0.0] * size
        for i, w in zip(order, split, strict=False):
            weights[i] = w
        return weights

    def of_round(self, data: st.DataObject, number: int, amending: bool = False) -> tuple[Payload, bool]:
        """Choose a payload for a round, and whether its weights are given."""
        model = self.model
        found = model.rounds[number - 1]
        missing = len(model.options) - len(found.asked)
        asked = [*found.asked, *[None] * missing]
        given = data.draw(st.integers(0, 3), label="weights given") == 0
        if given:
            played = self.played(data)
        elif amending and found.told:
            played = model._padded(found.told[-1])[0]
        else:
            played = [w or 0.0 for w in asked]
        needed = [w is not None and name not in model.retired for w, name in zip(asked, model.options, strict=True)]
        return self.payload(data, played, needed, unknown=False), given

    def by_name(self, values: list[float], data: st.DataObject) -> Any:
        if data.draw(st.booleans(), label="by name"):
            return {name: w for name, w in zip(self.model.options, values, strict=True) if w > 0}
        return values

    def wrong_outcome(self, data: st.DataObject, played: list[float]) -> Any:
        """Choose an outcome that no round can have."""
        model = self.model
        wrong = data.draw(st.sampled_from(NO_NUMBERS), label="wrong")
        if model.feedback == "total":
            return data.draw(st.sampled_from([wrong, {"north": 1.0}, [1.0, 2.0]]), label="wrong total")
        held = [name for name, w in zip(model.options, played, strict=True) if w > 0]
        right = dict.fromkeys(held if model.feedback == "chosen" else model.options, 0.5)
        which = data.draw(st.integers(0, 5), label="which")
        if which == 0:
            return {**right, data.draw(st.sampled_from(held)): wrong}
        if which == 1:
            right.pop(data.draw(st.sampled_from(held)))
            return right
        if which == 2:
            return {**right, "nowhere": 1.0}
        if which == 3:
            return [1.0] * (len(model.options) + 1)
        if which == 4:
            return "north"
        return 1.0

    # Rules: ask and tell

    @rule(data=st.data(), size=st.integers(2, 6))
    def play(self, data: st.DataObject, size: int) -> None:
        self.play_some(data, size)

    def play_some(self, data: st.DataObject, size: int) -> None:
        for _ in range(size):
            self.ask_for(self.study(data), None, None, "own")
            number = len(self.model.rounds)
            payload, given = self.of_round(data, number)
            self.tell_payload(self.study(data), number, payload, payload[0] if given else None)

    @rule(
        data=st.data(),
        client=st.sampled_from(["ann", "bob", "eve", None]),
        key=st.sampled_from([*[None] * 4, "k0", "k1", "k2", "k3"]),
        lease=st.sampled_from(["own", "own", 30.0, None]),
    )
    def ask(self, data: st.DataObject, client: str | None, key: str | None, lease: Any) -> None:
        self.ask_for(self.study(data), client, key, lease)

    def ask_for(self, study: Study, client: str | None, key: str | None, lease: Any) -> None:
        seconds = LEASE if lease == "own" else lease
        outstanding = len(self.model.open_rounds(self.now))
        given = {} if lease == "own" else {"lease": lease}
        number = 0

        def expected(model: Model) -> bool:
            nonlocal number
            number, changed = model.ask(client, key, seconds, self.now)
            return changed

        size = len(self.model.rounds)
        found: Round | None = self.happens(expected, lambda: study.ask(client, key, **given))
        if found is None:
            return
        assert found.id == number
        asked = [*self.model.rounds[number - 1].asked, *[None] * 9]
        assert found.weights == {name: asked[i] or 0.0 for i, name in enumerate(found.weights)}
        if number > size:
            assert found.outstanding == outstanding
            assert found.status == "open"

    @precondition(lambda self: self.model.rounds)
    @rule(data=st.data())
    def tell(self, data: st.DataObject) -> None:
        study, number = self.study(data), self.number(data)
        payload, given = self.of_round(data, number)
        weights = self.by_name(payload[0], data) if given else None
        self.tell_payload(study, number, payload, weights)

    @precondition(lambda self: self.model.open_rounds(self.now))
    @rule(data=st.data())
    def tell_open(self, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from(self.model.open_rounds(self.now)), label="open round")
        payload, given = self.of_round(data, number)
        self.tell_payload(self.study(data), number, payload, payload[0] if given else None)

    @precondition(lambda self: any(each.told for each in self.model.rounds))
    @rule(data=st.data())
    def tell_again(self, data: st.DataObject) -> None:
        told = [k for k, each in enumerate(self.model.rounds, 1) if each.told]
        number = data.draw(st.sampled_from(told), label="told round")
        before = self.model.rounds[number - 1].told
        payload = data.draw(st.sampled_from([before[0], before[-1]]), label="payload")
        study = self.study(data)
        if isinstance(payload[1], list) and data.draw(st.booleans(), label="as lists"):  # of the options of then
            self.happens(
                lambda model: model.tell(number, payload, self.now), lambda: study.tell(number, payload[1], payload[0])
            )
        else:
            weights = self.by_name(self.model._padded(payload)[0], data)
            self.tell_payload(study, number, payload, weights)

    def tell_payload(self, study: Study, number: int, payload: Payload, weights: Any) -> None:
        outcome = self.model.shown(payload)
        found: Round | None = self.happens(
            lambda model: model.tell(number, payload, self.now), lambda: study.tell(number, outcome, weights)
        )
        if found is not None:
            assert found == study.round(number)

    @precondition(lambda self: self.model.rounds)
    @rule(data=st.data(), size=st.integers(0, 4), spoilt=st.sampled_from([False, False, True]))
    def tell_many(self, data: st.DataObject, size: int, spoilt: bool) -> None:
        study = self.study(data)
        batch = []
        for _ in range(size):
            number = self.number(data)
            payload, given = self.of_round(data, number)
            batch.append((number, payload, payload[0] if given else None))
        entries: list[tuple[Any, ...]] = [
            (number, self.model.shown(payload), weights) for number, payload, weights in batch
        ]
        if spoilt:
            entries.append((data.draw(st.sampled_from(NO_ROUNDS)), 0.5))

        def expected(model: Model) -> bool:
            changed = [model.tell(number, payload, self.now) for number, payload, _ in batch]
            if spoilt:
                raise NotFound
            return any(changed)

        found: list[Round] | None = self.happens(expected, lambda: study.tell_many(entries))
        if found is not None:
            assert [each.id for each in found] == [number for number, _, _ in batch]

    @rule(data=st.data(), key=st.sampled_from([None, "k0", "k1", "h0", "h1"]))
    def tell_outside(self, data: st.DataObject, key: str | None) -> None:
        study, played = self.study(data), self.played(data)
        needed = [name not in self.model.retired for name in self.model.options]
        payload = self.payload(data, played, needed, unknown=True)
        outcome: Any = payload[1]
        weights = self.by_name(played, data)
        if self.model.feedback == "all":
            outcome = dict(zip(self.model.options, outcome, strict=True))  # None where unknown
        self.happens(
            lambda model: model.tell_outside(payload, key), lambda: study.tell_outside(weights, outcome, key=key)
        )

    @precondition(lambda self: self.model.rounds)
    @rule(data=st.data())
    def amend(self, data: st.DataObject) -> None:
        study, number = self.study(data), self.number(data)
        payload, given = self.of_round(data, number, amending=True)
        outcome = self.model.shown(payload)
        weights = payload[0] if given else None
        found: Round | None = self.happens(
            lambda model: model.amend(number, payload), lambda: study.amend(number, outcome, weights)
        )
        if found is not None:
            assert found == study.round(number)

    # Rules: what cannot be used

    @precondition(lambda self: self.model.rounds)
    @rule(data=st.data(), amend=st.booleans())
    def tell_nonsense(self, data: st.DataObject, amend: bool) -> None:
        study = self.study(data)
        told = [k for k, each in enumerate(self.model.rounds, 1) if each.told or not amend]
        if not told:
            return
        number = data.draw(st.sampled_from(told), label="round")
        call: Any = study.amend if amend else study.tell
        played = self.played(data)
        if data.draw(st.booleans(), label="wrong weights"):
            right = 0.5 if self.model.feedback == "total" else {"north": 0.5}
            weights = data.draw(st.sampled_from(NO_WEIGHTS), label="weights")
            self.refused(InvalidInput, lambda: call(number, right, weights))
        else:
            wrong = self.wrong_outcome(data, played)
            self.refused(InvalidInput, lambda: call(number, wrong, played))
            self.refused(InvalidInput, lambda: study.tell_many([(number, wrong, played)]))
            self.refused(InvalidInput, lambda: study.tell_outside(played, wrong))

    @rule(
        data=st.data(),
        wrong=st.sampled_from(NO_IDS),
        missing=st.sampled_from(NO_ROUNDS),
        name=st.sampled_from(NO_NAMES),
        aversion=st.sampled_from(NO_AVERSIONS),
    )
    def nonsense(self, data: st.DataObject, wrong: Any, missing: int, name: Any, aversion: Any) -> None:
        study = self.study(data)
        self.refused(InvalidInput, lambda: study.ask(name))
        self.refused(InvalidInput, lambda: study.ask("ann", key=name))
        self.refused(InvalidInput, lambda: study.ask("ann", lease=-1.0))
        self.refused(InvalidInput, lambda: study.set_risk_aversion(aversion))
        for call in (study.tell, study.amend):
            self.refused(InvalidInput, lambda call=call: call(wrong, 0.5))  # type: ignore[misc]
            for number in (missing, len(self.model.rounds) + 1):
                self.refused(NotFound, lambda call=call, number=number: call(number, 0.5))  # type: ignore[misc]

    # Rules: changes

    @rule(data=st.data(), risk_aversion=st.sampled_from([0.0, 0.25, 0.5, 2.0]))
    def set_risk_aversion(self, data: st.DataObject, risk_aversion: float) -> None:
        study = self.study(data)

        def expected(model: Model) -> bool:
            model.risk_aversion = risk_aversion
            model.learner()
            return True

        self.happens(expected, lambda: study.set_risk_aversion(risk_aversion))

    @rule(data=st.data(), option=st.sampled_from(["north", "east", "south", "new 4", "nowhere"]))
    def retire(self, data: st.DataObject, option: str) -> None:
        study = self.study(data)

        def expected(model: Model) -> bool:
            if option not in model.options:
                raise NotFound
            if option in model.retired or len(model.retired) + 1 == len(model.options):
                raise InvalidInput
            model.retired = [*model.retired, option]
            model.log.append(("retired", model.retired))
            model.learner()
            return True

        self.happens(expected, lambda: study.retire(option))

    @rule(data=st.data(), option=st.sampled_from(["north", "east", "south", "new 4", "nowhere"]))
    def restore(self, data: st.DataObject, option: str) -> None:
        study = self.study(data)

        def expected(model: Model) -> bool:
            if option not in model.options:
                raise NotFound
            if option not in model.retired:
                raise InvalidInput
            model.retired = [name for name in model.retired if name != option]
            model.log.append(("retired", model.retired))
            model.learner()
            return True

        self.happens(expected, lambda: study.restore(option))

    @rule(data=st.data(), old=st.sampled_from([False, False, True]))
    def add_option(self, data: st.DataObject, old: bool) -> None:
        study = self.study(data)
        size = len(self.model.options)
        if not old and size == MOST_OPTIONS:
            return
        option = data.draw(st.sampled_from(self.model.options)) if old else f"new {size + 1}"

        def expected(model: Model) -> bool:
            if option in model.options:
                raise InvalidInput
            model.options = [*model.options, option]
            model.learner()
            return True

        self.happens(expected, lambda: study.add_option(option))

    # Rules: time and objects

    @rule(seconds=st.sampled_from([1.0, 30.0, 70.0, 100.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule(which=st.integers(0, 1))
    def open_again(self, which: int) -> None:
        self.studies[which] = Study.open(self.name, self.store)

    # What always holds

    @invariant()
    def rounds_are_as_in_the_model(self) -> None:
        if not hasattr(self, "model"):
            return
        model = self.model
        found = sorted(self.studies[0].rounds(), key=lambda each: each.id)
        assert [each.id for each in found] == list(range(1, len(model.rounds) + 1))
        for each, expected in zip(found, model.rounds, strict=True):
            assert (each.client, each.key, each.source) == (expected.client, expected.key, expected.source)
            assert each.status == expected.status(self.now)
            assert each.late == expected.late
            assert each.amendments == max(0, len(expected.told) - 1)
            if expected.told:
                played, outcome = expected.told[-1]
                assert list(each.played.values())[: len(played)] == played  # type: ignore[union-attr]
                assert each.outcome == model.shown((played, outcome))
        keyless = [each.client for each in found if each.status == "open" and each.client and each.key is None]
        assert len(keyless) == len(set(keyless))

    @invariant()
    def summary_and_configuration_are_as_in_the_model(self) -> None:
        if not hasattr(self, "model"):
            return
        model, summary = self.model, self.studies[1].summary()
        told = sum(bool(each.told) for each in model.rounds)
        assert (summary.rounds, summary.told) == (len(model.rounds), told)
        assert summary.amended == sum(len(each.told) > 1 for each in model.rounds)
        assert summary.open == len(model.open_rounds(self.now))
        assert summary.expired == len(model.rounds) - told - summary.open
        assert (summary.options, summary.retired) == (
            tuple(name for name in model.options if name not in model.retired),
            tuple(model.retired),
        )
        assert summary.risk_aversion == model.risk_aversion

    @invariant()
    def learners_are_as_a_fresh_one_that_was_told_the_log(self) -> None:
        if not hasattr(self, "model"):
            return
        fresh = self.model.learner()
        for study in self.studies:
            learner = study.learner
            assert learner.rounds_told == fresh.rounds_told
            for outstanding in (0, 2):
                assert learner.ask(outstanding).tobytes() == fresh.ask(outstanding).tobytes()

    def teardown(self) -> None:
        try:
            if hasattr(self, "model"):
                verified = self.studies[0].verify()
                assert verified.exact, verified.message
                assert verified.rounds == sum(bool(each.told) for each in self.model.rounds)
                Use.told += verified.rounds
        finally:
            for patch in self.patches:
                patch.stop()


@pytest.mark.parametrize(("kind", "examples"), [("sqlite", 80), ("postgresql", 6)])
def test_studies_do_what_the_model_does(
    kind: str, examples: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    with tempfile.TemporaryDirectory(dir=in_memory(tmp_path)) as folder:
        url = sqlite_url(Path(folder)) if kind == "sqlite" else request.getfixturevalue("postgres_url")
        chosen = settings(
            max_examples=examples,
            stateful_step_count=40,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate],  # no shrinking, which would take minutes of databases
        )
        with Store(url, create=True) as store:
            Use.store = store
            Use.changed = Use.refused_or_repeated = Use.told = 0
            run_state_machine_as_test(Use, settings=chosen)
            assert Use.changed >= 20 * examples
            assert Use.refused_or_repeated >= 15 * examples
            assert Use.told >= 8 * examples
