"""The ledger of one study: each ask, tell, correction and change is one transaction.

It moves the log and the learner's statistics together, all of it or nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
from sqlalchemy import Connection

from covbandit.errors import Conflict, InvalidInput, NotFound
from covbandit.studies.configuration import Configuration
from covbandit.studies.database_errors import damaged
from covbandit.studies.outcomes import Listed, Observation, as_played, as_told, padded
from covbandit.studies.records import Change, Round, moment
from covbandit.studies.repository import (
    add_change,
    earliest_expiry,
    ended_leases,
    find_open_round,
    find_payload,
    find_round,
    find_round_by_key,
    mark_expired,
)
from covbandit.studies.rows import NEVER, ChangeRow, Payload, RoundRow, TellRow
from covbandit.studies.transactions import StudyTransactions, Transaction, compiled_before

Entry = tuple[object, object, object]
"""A round's number, its outcome, and the weights really played or None, as a user gave them."""


class OwnLease:
    """Stands for a lease that is not given: the study's own holds."""


OWN_LEASE = OwnLease()


class Ledger(StudyTransactions):
    """The ledger of one study in a store."""

    def find(self, round_id: object) -> Round:
        """Return one round."""
        with self.reading() as (connection, row):
            found = self._found(connection, round_id)
            return Round.of(found, self.name, self.kind, Configuration.from_text(row.configuration).options)

    # Ask -------------------------------------------------------------------------------------------------------------

    @compiled_before
    def ask(self, client: str | None, key: str | None, lease: float | OwnLease | None = OWN_LEASE) -> Round:
        """Return the client's open round or the key's round, or a new one."""
        with self._writing() as transaction:
            found = self._asked_before(transaction, client, key)
            if found is not None:
                if client is not None and found.client is None:  # its first client: from now on it is nobody else's
                    found = self._taken_over(transaction, found, client)
                    self._keep(transaction)
                return self._record(found)
            self._end_leases(transaction)
            learner = self._synchronised(transaction.connection, transaction.row)
            if self._unsaved:  # rebuilt from the log, since the stored state cannot be read: store it now
                transaction.learner = learner
            study, now = transaction.study, transaction.now
            outstanding = int(study.n_open)
            weights = learner.ask(outstanding).tolist()
            options, retired = self._configuration.options, set(self._configuration.retired)
            seconds = transaction.row.lease if isinstance(lease, OwnLease) else lease
            study.n_rounds += 1
            study.revision += 1
            study.n_open += 1
            asked = RoundRow(
                study_id=self.study,
                number=study.n_rounds,
                source="asked",
                status="open",
                client=client,
                key=key,
                asked_at=now,
                expires_at=NEVER if seconds is None else min(now + seconds, NEVER),
                outstanding=outstanding,
                weights=json.dumps([None if name in retired else w for name, w in zip(options, weights, strict=True)]),
                revision=study.revision,
                first_tell=None,
                last_tell=None,
                amendments=0,
                late=0,
            )
            study.next_expiry = min(study.next_expiry, asked.expires_at)
            transaction.batch.add_round(asked)
            self._keep(transaction)
            return self._record(asked)

    def _asked_before(self, transaction: Transaction, client: str | None, key: str | None) -> RoundRow | None:
        """Return the round that this client or key has already, None if a new one is to be opened."""
        if key is not None:
            found = find_round_by_key(transaction.connection, self.study, key)
            if found is not None and found.source != "asked":
                raise Conflict(f"key {key!r} belongs to round {found.number}, told from outside; take another key")
            if found is not None and client is not None and found.client is not None and found.client != client:
                raise Conflict(
                    f"key {key!r} belongs to round {found.number} of client {found.client!r}, and clients do not share "
                    "rounds; take another key"
                )
            return found
        if client is not None:
            return find_open_round(transaction.connection, self.study, client, transaction.now)
        return None

    def _taken_over(self, transaction: Transaction, found: RoundRow, client: str) -> RoundRow:
        """Write down who is the client of a round that had none."""
        transaction.study.revision += 1
        taken = replace(found, client=client, revision=transaction.study.revision)
        transaction.batch.change_round(taken, "client", "revision")
        return taken

    def _end_leases(self, transaction: Transaction) -> None:
        """Mark the open rounds whose lease has ended: they are no longer outstanding."""
        connection, study, now = transaction.connection, transaction.study, transaction.now
        if now < study.next_expiry:
            return
        # Each has a revision of its own: a client that reads changes in pieces goes on after the last one it has seen.
        revisions = {}
        for number in ended_leases(connection, self.study, now):
            study.revision += 1
            revisions[number] = study.revision
        if revisions:
            mark_expired(connection, self.study, revisions)
        study.n_open -= len(revisions)
        study.next_expiry = earliest_expiry(connection, self.study)

    # Tell ------------------------------------------------------------------------------------------------------------

    @compiled_before
    def tell(self, entries: Sequence[Entry]) -> list[Round]:
        """Take in the outcomes of rounds, all of them or none; one told before in the same words changes nothing."""
        answers: list[tuple[RoundRow, Observation | None]] = []
        with self._writing() as transaction:
            study = transaction.study
            for round_id, outcome, weights in entries:
                transaction.batch.send(transaction.connection)  # the same round may be told twice
                found = self._found(transaction.connection, round_id)
                with _named(found.number, len(entries) > 1):
                    told = self._told(found, outcome, weights)
                if found.first_tell is not None:
                    self._require_same(transaction.connection, found, told)
                    answers.append((found, None))
                    continue
                self._absorb(transaction, "told", found.number, told)
                study.n_open -= found.status == "open"
                answer = replace(
                    found,
                    status="told",
                    first_tell=study.n_tells,
                    last_tell=study.n_tells,
                    revision=study.revision,
                    late=int(found.status == "expired" or transaction.now >= found.expires_at),
                    told_at=transaction.now,
                )
                transaction.batch.change_round(answer, "status", "first_tell", "last_tell", "revision", "late")
                answers.append((answer, told))
            self._keep(transaction)
            return [self._record(row, told) for row, told in answers]

    @compiled_before
    def tell_outside(self, weights: object, outcome: object, key: str | None) -> Round:
        """Take in a round that the study did not propose."""
        with self._writing() as transaction:
            if key is not None:
                found = find_round_by_key(transaction.connection, self.study, key)
                if found is not None:
                    if found.source != "outside":
                        raise Conflict(f"key {key!r} belongs to round {found.number}, which was asked for; tell that")
                    self._require_same(transaction.connection, found, self._told(found, outcome, weights))
                    return self._record(found)
            study, options = transaction.study, self._configuration.options
            played = as_played(weights, options)
            needed = self._seen_whatever_their_weight([0.0] * len(options))
            told = as_told(outcome, self._learner.feedback, self.kind, played, options, needed, may_be_unknown=True)
            study.n_rounds += 1
            number = study.n_rounds
            self._absorb(transaction, "outside", number, told)
            row = RoundRow.from_outside(self.study, number, study.n_tells, key, transaction.now, played, study.revision)
            transaction.batch.add_round(row)
            self._keep(transaction)
            return self._record(row, told)

    @compiled_before
    def amend(self, round_id: object, outcome: object, weights: object) -> Round:
        """Append a correction, and let the statistics follow as if it had been told so at once."""
        with self._writing() as transaction:
            study = transaction.study
            found = self._found(transaction.connection, round_id)
            if found.first_tell is None:
                raise Conflict(f"round {found.number} of {self.name!r} has not been told yet; tell it")
            told = self._told(found, outcome, weights, correcting=True)
            if _same(self._told_before(found), told):
                return self._record(found)
            # A fresh learner is told it first: a value that it refuses then raises here, and not amid the replay.
            self._configuration.build()._tell_seen(np.array(told.played), told.rewards)
            self._append(transaction, "amended", found.number, told)
            amended = replace(
                found,
                last_tell=study.n_tells,
                amendments=found.amendments + 1,
                revision=study.revision,
                told_at=transaction.now,
            )
            transaction.batch.change_round(amended, "last_tell", "amendments", "revision")
            transaction.batch.send(transaction.connection)  # so that the replay below reads it
            study.n_amended += int(found.amendments == 0)
            transaction.learner = self._rebuilt(transaction.connection)
            self._keep(transaction)
            return self._record(amended, told)

    # How what a user tells is checked. A repeated tell is checked against the options that there were when its round
    # was asked for, so that it is accepted again even if options were added since.

    def _told(self, found: RoundRow, outcome: object, weights: object, correcting: bool = False) -> Observation:
        """Return what was told: the weights played and what came of them, for all options of today."""
        options = self._configuration.options
        size = len(options)
        asked, n_then = self._asked_then(found)
        if weights is not None:
            played = as_played(_stretched(weights, n_then, size, 0.0), options)
        elif correcting:
            played = [w or 0.0 for w in padded(self._told_before(found).read()[0], size, 0.0)]
        else:
            played = [w or 0.0 for w in asked]
        return as_told(
            _stretched(outcome, n_then, size, None),
            self._learner.feedback,
            self.kind,
            played,
            options,
            self._needed(found, asked, correcting),
            may_be_unknown=found.source == "outside",
        )

    def _asked_then(self, found: RoundRow) -> tuple[Listed, int]:
        """Return what was asked then: the weights for all options of today, and how many options there were.

        Options that were not in use then have None.
        """
        then: Listed = json.loads(found.weights)
        return padded(then, len(self._configuration.options), None), len(then)

    def _needed(self, found: RoundRow, asked: Listed, correcting: bool) -> list[bool]:
        """Return what is needed: which options must have an outcome under full information, whatever their weight.

        If the round was told before, a repetition needs nothing, since it is compared with what was told; a correction
        needs what was known.
        """
        needed = self._seen_whatever_their_weight(asked)
        told = found.told
        before = None if told is None else told.read()[1]
        if not isinstance(before, list):
            return needed
        if not correcting:
            return [False] * len(asked)
        known = padded(before, len(asked), None)
        return [must and value is not None for must, value in zip(needed, known, strict=True)]

    def _seen_whatever_their_weight(self, asked: Listed) -> list[bool]:
        """Return which options full information shows although they have no weight: those in use, then and now.

        Told in amounts, an option without weight has none that could be divided; it is not seen in that round.
        """
        retired = self._configuration.retired
        return [
            self.kind != "amount" and w is not None and name not in retired
            for w, name in zip(asked, self._configuration.options, strict=True)
        ]

    def _absorb(self, transaction: Transaction, kind: str, number: int, told: Observation) -> None:
        """Let the learner learn from a round, and write it into the log."""
        if transaction.learner is None:
            transaction.learner = self._synchronised(transaction.connection, transaction.row)
            self._state_in_memory = None  # until this is committed, memory and store may differ
        transaction.learner._tell_seen(np.array(told.played), told.rewards)
        transaction.study.n_told += 1
        transaction.study.last_told_at = transaction.now
        self._append(transaction, kind, number, told)

    def _append(self, transaction: Transaction, kind: str, number: int, told: Observation) -> None:
        """Write a line of the log."""
        study = transaction.study
        study.revision += 1
        study.state_revision = study.revision
        study.n_tells += 1
        played, outcome = json.dumps(told.played), json.dumps(told.told)
        line = TellRow(self.study, study.n_tells, number, kind, transaction.now, played, outcome)
        transaction.batch.add_tell(line)

    def _require_same(self, connection: Connection, found: RoundRow, told: Observation) -> None:
        """Refuse an outcome other than what was told first, or corrected to."""
        if _same(self._told_before(found), told):
            return
        first = find_payload(connection, self.study, found.first_tell)
        if found.amendments and _same(first, told):
            return
        when = f"{moment(found.told_at):%Y-%m-%d %H:%M:%S} UTC"
        raise Conflict(
            f"round {found.number} of {self.name!r} was told otherwise at {when}; "
            "if that was wrong, correct it with amend; nothing was changed"
        )

    # Change ----------------------------------------------------------------------------------------------------------

    @compiled_before
    def reconfigure(
        self, kind: str, detail: Mapping[str, object], how: Callable[[Configuration], Configuration]
    ) -> Change:
        """Log a change of ρ or a new option; the learner is as if it had been so from the beginning."""
        with self._writing() as transaction:
            configuration = how(self._configuration)
            if kind == "risk_aversion":
                detail = {**detail, "before": self._configuration.arguments.get("risk_aversion")}
            transaction.learner = self._rebuilt(transaction.connection, configuration)
            return self._changed(transaction, kind, detail, configuration)

    @compiled_before
    def retire(self, kind: str, option: str, how: Callable[[Configuration], Configuration]) -> Change:
        """Log that an option is retired or restored; the learner goes on from here without it, or with it."""
        with self._writing() as transaction:
            configuration = how(self._configuration)
            option = configuration.known(option)  # the log has it as the study spells it, or it would not be replayed
            transaction.learner = self._synchronised(transaction.connection, transaction.row)
            self._state_in_memory = None
            transaction.learner.set_retired(configuration.retired)
            return self._changed(transaction, kind, {"option": option}, configuration)

    def _changed(
        self, transaction: Transaction, kind: str, detail: Mapping[str, object], configuration: Configuration
    ) -> Change:
        """Write a change and the new configuration."""
        study = transaction.study
        study.revision += 1
        study.state_revision = study.revision
        study.configuration = configuration.to_text()
        row = ChangeRow(self.study, study.revision, transaction.now, kind, study.n_tells, json.dumps(detail))
        add_change(transaction.connection, row)
        self._keep(transaction)
        self._text = None  # the configuration must be read anew
        return Change.of(row)

    # Inside ----------------------------------------------------------------------------------------------------------

    def _found(self, connection: Connection, round_id: object) -> RoundRow:
        number = _as_number(round_id)
        found = find_round(connection, self.study, number)
        if found is None:
            raise NotFound(f"study {self.name!r} has no round {number}; its rounds are those that ask returned")
        if found.last_tell is not None:
            self._told_before(found)
        return found

    def _told_before(self, found: RoundRow) -> Payload:
        """Return what was told last of a round that was told."""
        told = found.told
        if told is None:
            raise damaged(self.store.url, f"round {found.number} of {self.name!r} was told, but its outcome is missing")
        return told

    def _record(self, found: RoundRow, told: Observation | None = None) -> Round:
        return Round.of(found, self.name, self.kind, self._configuration.options, told)


@contextmanager
def _named(number: int, among_others: bool) -> Iterator[None]:
    """Say which of several rounds was refused."""
    try:
        yield
    except InvalidInput as error:
        if not among_others:
            raise
        raise type(error)(f"round {number}: {error}; nothing was told") from None


def _same(before: Payload, told: Observation) -> bool:
    """Return True if weights and outcome are those that were told before, whatever options were added since."""
    weights, outcome = before.read()
    size = len(told.played)
    if isinstance(outcome, list):
        outcome = padded(outcome, size, None)
    return padded(weights, size, 0.0) == told.played and outcome == told.told


def _stretched(values: object, then: int, size: int, fill: float | None) -> object:
    """Return a list that was made for the options of then as one for those of now; all else as it is."""
    if then < size and isinstance(values, list | tuple | np.ndarray) and len(values) == then:
        return padded(list(values), size, fill)
    return values


def _as_number(round_id: object) -> int:
    if isinstance(round_id, bool) or not isinstance(round_id, int | np.integer):
        raise InvalidInput(f"round_id must be the whole number that ask returned, got {round_id!r}")
    return min(max(int(round_id), -1), 2**62)  # beyond what databases count to, there is no such round either
