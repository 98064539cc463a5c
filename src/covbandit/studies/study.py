"""Studies: durable ask and tell."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Self

from sqlalchemy import Connection

from covbandit.allocation import Allocator, ByName
from covbandit.core import validation
from covbandit.core.tables import Table
from covbandit.errors import InvalidInput, NotFound
from covbandit.kernels.jit.compilation import CompilationNeeded, compiled
from covbandit.learners import Explanation, Learner
from covbandit.studies import export as files
from covbandit.studies.configuration import Configuration, as_name
from covbandit.studies.estimates import Frontier, StudyEstimates, estimates_of, frontier_of
from covbandit.studies.fork import Fork, PreparedFork, prepare_fork, write_fork
from covbandit.studies.history import Course, History
from covbandit.studies.ledger import OWN_LEASE, Ledger, OwnLease
from covbandit.studies.outcomes import as_outcome_kind
from covbandit.studies.records import Change, Round, StudySummary, Verification
from covbandit.studies.replay import Progress, verify
from covbandit.studies.repository import (
    changes_in,
    create_study,
    find_study_by_name,
    lines_of_log,
    rounds_in,
    study_names,
    tells_in,
    told_rounds,
)
from covbandit.studies.risk_aversion import ENOUGH, RiskAversionCheck, check_risk_aversion, too_early
from covbandit.studies.rows import StudyRow, TellRow
from covbandit.studies.store import DEFAULT_STORE, Store, opened
from covbandit.studies.summary import summary_of

StoreLike = str | Path | Store
Lease = timedelta | float | None
Outcome = Mapping[str, float] | Sequence[float] | float

DEFAULT_LEASE = timedelta(days=30)


class Study:
    r"""A durable study: ask for weights now, tell what happened later, from anywhere.

    Made by `Study.create` and found again by `Study.open`. Every ask and tell is one transaction of a database; what
    was acknowledged survives crashes, and what is repeated is not counted twice. Several processes and machines may
    work on one study at once. Objects may be shared by threads.

    Examples
    --------
    >>> import covbandit as cb
    >>> import tempfile, pathlib
    >>> store = f"sqlite:///{pathlib.Path(tempfile.mkdtemp()) / 'studies.db'}"
    >>> learner = cb.MCEmpirical(n_options=2, risk_aversion=0.5)
    >>> study = cb.Study.create("funds", ["SPY", "TLT"], learner, outcome="per_unit", store=store)
    >>> proposed = study.ask(client="desk-1")
    >>> proposed.weights
    {'SPY': 0.5, 'TLT': 0.5}
    >>> proposed.allocate(10_000)
    {'SPY': 5000, 'TLT': 5000}
    >>> study.tell(proposed.id, {"SPY": 1.0, "TLT": 0.2}).reward
    0.6

    Telling the same again changes nothing; telling something else is refused, unless it is a correction:

    >>> study.tell(proposed.id, {"SPY": 9.9, "TLT": 0.2})
    Traceback (most recent call last):
    covbandit.errors.Conflict: round 1 of 'funds' was told otherwise at ...
    >>> study.amend(proposed.id, {"SPY": 0.9, "TLT": 0.2}).amendments
    1
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._course: tuple[tuple[int, tuple[str, ...]] | None, Course] = (None, Course())
        self._course_end: TellRow | None = None  # the last line of the log that the course has taken in
        self._risk: tuple[tuple[Configuration, tuple[str, int] | None], int, RiskAversionCheck] | None = None
        self._course_lock = threading.Lock()  # two threads must not take in the same rounds

    # Making and finding ----------------------------------------------------------------------------------------------

    @classmethod
    def create(
        cls,
        name: str,
        options: Sequence[str],
        learner: Learner | Allocator | Mapping[str, Any],
        outcome: str,
        store: StoreLike = DEFAULT_STORE,
        *,
        lease: Lease = DEFAULT_LEASE,
    ) -> Self:
        """Create a study.

        Parameters
        ----------
        name : str
            Up to 200 printable characters without ``/``. Names are compared in Unicode's composed form (NFC), and this
            one is kept so: whether an é was typed as one character or as two makes no difference.
        options : sequence of str
            The options' names. They are compared in the same way, and shown as they are given here.
        learner : Learner, Allocator or mapping
            A fresh learner; what it has been told already would be missing in the log. A mapping describes one:
            ``{"class": "PairUCB", "risk_aversion": 0.0002}`` or, for the default one,
            ``{"feedback": "chosen", "risk_aversion": 0.0002}``. ρ is in 1 / (unit of reward); that one is for amounts
            in the thousands.
        outcome : {"per_unit", "amount"}
            What will be told: the reward per unit of weight (a return, a rate), as in the paper; or what each option
            earned at its weight (a sum of money), which is divided by the weight, and refused where the weight was 0.
        store : str, path or Store
            ``"sqlite:///covbandit.db"`` by default, made if need be; or ``"postgresql://user:password@host/database"``.
        lease : timedelta, seconds or None
            How long a round stays open for its client; None for ever.

        Raises
        ------
        Conflict
            If there is a study of that name.
        """
        configuration = Configuration.of(options, learner)
        validation.require_distinct(configuration.options)
        kind = as_outcome_kind(outcome)
        name = as_name(name, "study name", in_address=True)
        seconds = as_lease(lease)
        place, ours = opened(store, create=True)
        try:
            with place.write() as connection:
                create_study(connection, name, configuration, kind, seconds, {})
            return cls(_ledger(place, name))
        except BaseException:
            if ours:
                place.close()
            raise

    @classmethod
    def open(cls, name: str, store: StoreLike = DEFAULT_STORE) -> Self:
        """Open a study that was created before, here or elsewhere.

        Raises
        ------
        NotFound
            If there is none of that name; the message names those there are.
        StoreSchemaError
            If the store was written by an older or a newer version of covbandit.
        """
        place, ours = opened(store)
        try:
            return cls(_ledger(place, name))
        except BaseException:
            if ours:
                place.close()
            raise

    def close(self) -> None:
        """Close the connections to the store; the next call opens new ones."""
        self._ledger.store.close()

    # What it is ------------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The study's name."""
        return self._ledger.name

    @property
    def store(self) -> Store:
        """Where the study lives."""
        return self._ledger.store

    @property
    def outcome(self) -> str:
        """How outcomes are told: ``"per_unit"`` or ``"amount"``."""
        return self._ledger.kind

    @property
    def options(self) -> tuple[str, ...]:
        """The options in use."""
        return self._configuration().in_use

    @property
    def retired(self) -> tuple[str, ...]:
        """The options no longer in use."""
        return self._configuration().retired

    @property
    def feedback(self) -> str:
        """What the learner sees: ``"all"``, ``"chosen"`` or ``"total"``."""
        return self._configuration().learner_class.feedback

    @property
    def risk_aversion(self) -> float | None:
        """ρ, if the learner has one."""
        return self._configuration().arguments.get("risk_aversion")

    @property
    def revision(self) -> int:
        """A number that every ask, tell and change raises."""
        return int(self._row().revision)

    @property
    def lease(self) -> timedelta | None:
        """How long a round stays open for its client."""
        seconds = self._row().lease
        return None if seconds is None else timedelta(seconds=seconds)

    @property
    def learner(self) -> Learner:
        """A copy of the learner, with everything told so far."""
        with self._ledger.learner_now() as (learner, _):
            return learner.clone()

    def __reduce__(self) -> tuple[Any, ...]:
        """Let other processes have the study: they open it themselves."""
        return type(self).open, (self.name, self.store.address)

    def __repr__(self) -> str:
        return f"Study({self.name!r}, store={self.store.url!r})"

    def summary(self) -> StudySummary:
        """Return the study at a glance."""
        with self._ledger.reading() as (connection, row):
            found = summary_of(connection, row)
        if found.feedback == "unknown":  # its class is not imported here, so nothing can be computed
            return found
        if found.risk_aversion is None or found.told < ENOUGH:  # no need to read the learner's statistics
            return replace(found, risk_aversion_check=too_early(found.risk_aversion))
        return replace(found, risk_aversion_check=self._risk_check(roughly=True))

    # Ask and tell ----------------------------------------------------------------------------------------------------

    def ask(self, client: str | None = None, key: str | None = None, lease: Lease | object = OWN_LEASE) -> Round:
        """Propose weights for a round.

        Without arguments a new round is opened each time. Rounds that are still open count as outstanding: schedules
        and random draws advance by as many.

        Parameters
        ----------
        client : str, optional
            Who asks. As long as this client's round is open, it is returned again: asking may be repeated after a
            crash or a lost answer.
        key : str, optional
            What the round is for, such as ``"2026-W46"``. The same key always returns the same round, and a new key
            opens a new one even while older ones wait for their outcome.
        lease : timedelta, seconds or None, optional
            How long this round stays open, instead of the study's lease.

        Returns
        -------
        Round
            With ``id``, ``weights`` by option name, ``status`` and ``expires``.
        """
        client = None if client is None else as_name(client, "client")
        key = None if key is None else as_name(key, "key")
        return self._ledger.ask(client, key, lease if isinstance(lease, OwnLease) else as_lease(lease))

    def tell(self, round_id: int, outcome: Outcome, weights: ByName | None = None) -> Round:
        """Tell what happened in a round; early or late, in any order.

        Telling the same again changes nothing. A round whose lease has ended may still be told.

        Parameters
        ----------
        round_id : int
            ``id`` of the round that `ask` returned.
        outcome : mapping, sequence or float
            By option name: with feedback ``"all"`` of every option in use, with ``"chosen"`` of exactly those with
            weight; with ``"total"`` one number. In a sequence, None or NaN stands for options not seen. What is not
            known is not zero: a round is told when it is known.
        weights : mapping or sequence, optional
            What was really played, if not what was asked; it must sum to one.

        Returns
        -------
        Round

        Raises
        ------
        InvalidInput
            If anything cannot be used.
        NotFound
            If there is no such round.
        Conflict
            If it was told otherwise; see `amend`.
        """
        return self._ledger.tell([(round_id, outcome, weights)])[0]

    def tell_many(self, entries: Iterable[Sequence[Any]]) -> list[Round]:
        """Tell many rounds in one transaction: all of them or, if one is refused, none.

        Parameters
        ----------
        entries : iterable of (round_id, outcome) or (round_id, outcome, weights)
            As for `tell`, in the order in which they are to be learned.
        """
        checked = []
        for k, entry in enumerate(entries):
            if isinstance(entry, str | Mapping) or not 2 <= len(entry) <= 3:
                raise InvalidInput(f"entry {k} must be (round_id, outcome) or (round_id, outcome, weights): {entry!r}")
            checked.append((entry[0], entry[1], entry[2] if len(entry) == 3 else None))
        return self._ledger.tell(checked)

    def tell_outside(self, weights: ByName, outcome: Outcome, key: str | None = None) -> Round:
        """Tell a round that was not asked for: history, or what others played.

        Parameters
        ----------
        weights : mapping or sequence
            What was played; it must sum to one.
        outcome : mapping, sequence or float
            As for `tell`. With feedback ``"all"``, None stands for an option without weight that did not exist yet.
        key : str, optional
            Makes it safe to repeat: the same key is taken in once.
        """
        return self._ledger.tell_outside(weights, outcome, None if key is None else as_name(key, "key"))

    def amend(self, round_id: int, outcome: Outcome, weights: ByName | None = None) -> Round:
        """Correct a round that was told.

        The correction is appended to the log, which keeps both; the statistics follow as if the round had been told so
        in its place. That tells the whole log again, so it takes time in proportion to the number of rounds.
        """
        return self._ledger.amend(round_id, outcome, weights)

    # Change ----------------------------------------------------------------------------------------------------------

    def set_risk_aversion(self, risk_aversion: float) -> Change:
        """Change ρ. The learner is as if it had been so from the beginning; rounds already asked keep their weights.

        That tells the whole log again, so it takes time in proportion to the number of rounds.
        """
        return self._ledger.reconfigure(
            "risk_aversion",
            {"risk_aversion": risk_aversion},
            lambda now: now.with_risk_aversion(risk_aversion),
        )

    def retire(self, option: str) -> Change:
        """Take an option out of use: it gets weight 0 from now on and keeps its statistics.

        Rounds already asked keep their weights, and are told as they were played.
        """
        return self._ledger.retire("retired", option, lambda now: now.without(option))

    def restore(self, option: str) -> Change:
        """Bring a retired option back into use, with its statistics."""
        return self._ledger.retire("restored", option, lambda now: now.again_with(option))

    def add_option(self, option: str) -> Change:
        """Add an option. It starts unseen, and is explored by the learner's own rule.

        With full information it is seen whatever its weight, so it has none until it was seen twice with every other
        option. Semi-bandit learners pull it as in their start-up; learners from totals play the actions of their design
        that contain it.
        """
        return self._ledger.reconfigure("added", {"option": option}, lambda now: now.and_also(option))

    def changes(self) -> list[Change]:
        """Return what was changed, oldest first; the first one is the creation."""
        with self._ledger.reading() as (connection, row):
            return changes_in(connection, row.id)

    # Look ------------------------------------------------------------------------------------------------------------

    def round(self, round_id: int) -> Round:
        """Return one round."""
        return self._ledger.find(round_id)

    def rounds(self, after: int = 0, limit: int | None = None, status: str | None = None) -> list[Round]:
        """Return rounds in order of their last change.

        Parameters
        ----------
        after : int
            Only those that changed since this revision of the study.
        limit : int, optional
            No more than so many; go on with ``after=`` the revision of the last one.
        status : {"open", "told", "expired"}, optional
            Only those.
        """
        if status not in (None, "open", "told", "expired"):
            raise InvalidInput(f'status must be "open", "told" or "expired", got {status!r}')
        after = min(validation.as_count(after, "after"), 2**62)
        limit = None if limit is None else min(validation.as_count(limit, "limit", 1), 2**31)
        with self._ledger.reading() as (connection, row):
            return rounds_in(connection, row, after, limit, status)

    def explain(self) -> Explanation:
        """Say why: what each option contributes to the mean and the risk of the weights proposed now."""
        with self._ledger.learner_now() as (learner, _):
            return learner.explain()

    def estimates(self) -> StudyEstimates:
        """Return what the learner has estimated of each option and pair."""
        with self._ledger.learner_now() as (learner, configuration):
            return estimates_of(learner, configuration)

    def frontier(self, points: int = 40) -> Frontier:
        """Return the efficient frontier by the learner's estimates, with the current and the optimal point."""
        with self._ledger.learner_now() as (learner, configuration):
            copy = learner.clone()
        return frontier_of(copy, configuration, points)

    def risk_aversion_check(self) -> RiskAversionCheck:
        """Say whether ρ lies in the range in which it matters by the learner's estimates, and what that range is.

        A ρ in another unit than the rewards is often off by a factor of a thousand, and then does not matter: the
        weights follow the best mean, or are those of least variance, whatever exactly ρ is.

        Examples
        --------
        >>> import covbandit as cb
        >>> import tempfile, pathlib
        >>> store = pathlib.Path(tempfile.mkdtemp()) / "studies.db"
        >>> learner = cb.MCEmpirical(n_options=2, risk_aversion=0.4)
        >>> study = cb.Study.create("ads", ["search", "social"], learner, outcome="per_unit", store=store)
        >>> for k in range(10):  # rewards in the thousands
        ...     told = study.tell_outside([0.5, 0.5], [9000 + 500 * (k % 3), 8000 - 300 * (k % 2)])
        >>> check = study.risk_aversion_check()
        >>> check.verdict, f"{check.low:.4f}", f"{check.high:.4f}"
        ('too large', '0.0048', '0.0913')
        """
        return self._risk_check(roughly=False)

    def history(self, points: int = 400) -> History:
        """Return the course of the study: weights, rewards and risk over the told rounds."""
        with self._course_lock, self._ledger.reading() as (connection, row):
            configuration = Configuration.from_text(row.configuration)
            # What was read before holds as long as nothing was corrected: corrections are tells without a new round.
            basis = (row.n_tells - row.n_told, configuration.options)
            # And as long as its last line is in the log: restored from a copy, the log may have gone on otherwise.
            end = None if self._course_end is None else self._course_end.number
            lines = lines_of_log(connection, row.id, (end, row.n_tells))
            if self._course[0] != basis or self._course_end not in lines:
                self._course = (basis, Course())
            course = self._course[1]
            self._course_end = next((line for line in lines if line.number == row.n_tells), None)
            new = told_rounds(connection, self._ledger.study, len(configuration.options), course.last)
            course.extend(new, self._ledger.kind)
            full = self._ledger.kind == "per_unit" and configuration.learner_class.feedback == "all"
            kinds = {change.kind for change in changes_in(connection, row.id)}
        with self._course_lock:
            if full and self._course[1] is course and course.only_from_outside and not kinds & {"retired", "restored"}:
                course.imagine(configuration)
            return course.history(configuration.options, full, points)

    def export(self, path: str | Path | None = None, format: str | None = None) -> bytes:
        """Write all rounds to a file, or return what would be in it.

        Parameters
        ----------
        path : str or path, optional
            Where to; its ending tells the format.
        format : {"csv", "json", "parquet"}, optional
            CSV and Parquet have a row per round with its latest outcome. JSON has everything: configuration, every
            outcome ever told, corrections and what they correct, and changes.
        """
        kind = files.as_format(format, path)
        check = self.summary().risk_aversion_check if kind == "json" else None
        with self._ledger.reading() as (connection, row):
            configuration = Configuration.from_text(row.configuration)
            found = sorted(rounds_in(connection, row), key=lambda each: each.id)
            content: Table | dict[str, Any]
            if kind == "json":
                content = files.document_of(
                    replace(summary_of(connection, row), risk_aversion_check=check),
                    json.loads(row.configuration),
                    found,
                    tells_in(connection, row.id),
                    changes_in(connection, row.id),
                )
            else:
                content = files.table_of(found, configuration.options, configuration.learner_class.feedback == "total")
        written = files.written(content, kind)
        if path is not None:
            files.keep(written, path)
        return written

    def fork(self, learner: Learner | Allocator | Mapping[str, Any], name: str | None = None) -> Fork:
        """Tell the history to another learner, and see what it would advise now.

        That is not how it would have performed: the rounds are those that this study's learner chose.

        Parameters
        ----------
        learner : Learner, Allocator or mapping
            A fresh one over the same options, which can read this study's feedback: outcomes of all options also show
            those of the chosen ones, and both show the total.
        name : str, optional
            Make it a study of its own in the same store, with the history as rounds told from outside.
        """
        if name is None:
            with self._ledger.reading() as (connection, row):
                return self._prepare_fork(connection, row, learner).fork
        return self._fork_as(as_name(name, "study name", in_address=True), learner)

    def verify(self, progress: Progress | None = None) -> Verification:
        """Tell the whole log to a fresh learner and compare with the stored state; check counters against the log.

        Parameters
        ----------
        progress : callable, optional
            Called now and then with the number of rounds told again.
        """
        with self._ledger.reading() as (connection, row):
            return verify(connection, row, progress)

    # Inside ----------------------------------------------------------------------------------------------------------

    def _risk_check(self, roughly: bool) -> RiskAversionCheck:
        """Return the check of ρ, from memory if nothing was told since.

        With `roughly`, one from memory also does if at most a twentieth of its rounds was added since, so that
        summaries stay cheap while rounds are told.
        """
        with self._ledger.learner_now() as (learner, configuration):
            basis = (configuration, self._ledger.state_in_memory)
            told = learner.rounds_told
            kept = self._risk
            if kept is not None and (
                kept[0] == basis
                or (roughly and kept[0][0] == configuration and kept[1] >= ENOUGH and kept[1] <= told <= 1.05 * kept[1])
            ):
                return kept[2]
            copy = learner.clone()
        # The learner is free again: other threads ask and tell meanwhile.
        found = check_risk_aversion(copy, configuration.retired)
        self._risk = (basis, told, found)
        return found

    def _prepare_fork(self, connection: Connection, row: StudyRow, learner: object) -> PreparedFork:
        return prepare_fork(connection, row.id, Configuration.from_text(row.configuration), row.outcome, learner)

    def _fork_as(self, name: str, learner: object) -> Fork:
        while True:
            try:
                with self._ledger.changing() as (connection, row):
                    made = self._prepare_fork(connection, row, learner)
                    write_fork(connection, name, made, row)
                return made.as_study(name)
            except CompilationNeeded as needed:  # not while others wait for the store
                compiled(needed.kernel)

    def _compile(self) -> None:
        """Compile, or load, the learner's kernels now; else the first ask does."""
        self._ledger.compile()

    def _row(self) -> StudyRow:
        with self._ledger.reading() as (_, row):
            return row

    def _configuration(self) -> Configuration:
        return Configuration.from_text(self._row().configuration)


def _ledger(store: Store, name: object) -> Ledger:
    with store.read() as connection:
        row = None
        if isinstance(name, str) and name.isprintable():  # others cannot have been given, nor always be looked for
            row = find_study_by_name(connection, name)
        if row is None:
            there = ", ".join(map(repr, study_names(connection, 10))) or "none"
            raise NotFound(f"there is no study {name!r} in {store.url}; there are: {there}")
    return Ledger(store, row)


def as_lease(lease: object) -> float | None:
    """Return a lease in seconds, None for ever."""
    if lease is None:
        return None
    if isinstance(lease, timedelta):
        lease = lease.total_seconds()
    return validation.as_positive(lease, "lease")
