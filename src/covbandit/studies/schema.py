"""The tables of a store. Migrations create and change them; these definitions are what queries are written against.

=============  ======================================================================================================
table          holds
=============  ======================================================================================================
studies        one row a study: configuration, counters, and its revision, which every ask, tell and change raises
states         the learner's statistics, moved by the same transaction as the tells they come from, under a random id
rounds         one row a round: who asked, what was proposed, until when, and what it is now
tells          every outcome ever told, in order and never changed; a correction is a row that points to the same round
changes        what was changed in the configuration, and when
tokens         who may use the service; hashes only
=============  ======================================================================================================

Times are seconds since 1970, UTC. Weights and outcomes are JSON in option order, with every digit.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    text,
)

SCHEMA = "0003"
"""The newest migration: what this version of covbandit reads and writes."""

metadata = MetaData()

_ID = BigInteger().with_variant(Integer, "sqlite")  # SQLite numbers rows by itself only under this type
# Small indices of the few rounds that are looked for, so that history costs nothing. A query must name these conditions
# literally, or a database does not see that the index holds all that is wanted.
_OPEN = text("status = 'open'")
_KEYED = text("key IS NOT NULL")
_ASKED = text("status = 'open' AND key IS NULL")

studies = Table(
    "studies",
    metadata,
    Column("id", _ID, primary_key=True, autoincrement=True),
    Column("name", String(200), nullable=False, unique=True),
    Column("created_at", Double, nullable=False),
    Column("outcome", String(16), nullable=False),  # per_unit, amount
    Column("configuration", Text, nullable=False),  # JSON: learner's class and arguments, options, retired ones
    Column("lease", Double),  # seconds; null: rounds stay open for ever
    Column("revision", BigInteger, nullable=False),
    Column("state_revision", BigInteger, nullable=False),  # the revision of the last change of the learner's state
    Column("n_rounds", BigInteger, nullable=False),
    Column("n_tells", BigInteger, nullable=False),  # rows of tells, corrections included
    Column("n_told", BigInteger, nullable=False),
    Column("n_open", BigInteger, nullable=False),
    Column("n_amended", BigInteger, nullable=False),
    Column("next_expiry", Double, nullable=False),  # no lease of an open round ends before
    Column("last_told_at", Double),
    Column("state_id", String(32), nullable=False, server_default=""),  # random, anew with each state: see transactions
)

states = Table(
    "states",
    metadata,
    Column("study_id", _ID, ForeignKey("studies.id"), primary_key=True, autoincrement=False),
    Column("state", LargeBinary, nullable=False),  # see covbandit.studies.packed_state
    Column("versions", Text, nullable=False),  # JSON: what computed it
    Column("state_id", String(32), nullable=False, server_default=""),  # that of the study's row, or they do not fit
)

rounds = Table(
    "rounds",
    metadata,
    Column("study_id", _ID, ForeignKey("studies.id"), primary_key=True, autoincrement=False),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("source", String(16), nullable=False),  # asked, outside
    Column("status", String(16), nullable=False),  # open, told, expired
    Column("client", String(200)),
    Column("key", String(200)),
    Column("asked_at", Double, nullable=False),
    Column("expires_at", Double, nullable=False),
    Column("outstanding", BigInteger, nullable=False),
    Column("weights", Text, nullable=False),  # null for an option that was retired
    Column("revision", BigInteger, nullable=False),
    Column("first_tell", BigInteger),  # of tells: where in the order of tells it stands
    Column("last_tell", BigInteger),  # of tells: the outcome that counts
    Column("amendments", Integer, nullable=False),
    Column("late", Integer, nullable=False),
    Index("rounds_by_revision", "study_id", "revision"),
    Index("rounds_by_key", "study_id", "key", unique=True, sqlite_where=_KEYED, postgresql_where=_KEYED),
    Index("rounds_open", "study_id", "expires_at", sqlite_where=_OPEN, postgresql_where=_OPEN),
    Index("rounds_of_client", "study_id", "client", "expires_at", sqlite_where=_ASKED, postgresql_where=_ASKED),
)

tells = Table(
    "tells",
    metadata,
    Column("study_id", _ID, ForeignKey("studies.id"), primary_key=True, autoincrement=False),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("round", BigInteger, nullable=False),
    Column("kind", String(16), nullable=False),  # told, outside, amended
    Column("told_at", Double, nullable=False),
    Column("played", Text, nullable=False),  # weights
    Column("outcome", Text, nullable=False),  # as it was told: by option, null where unseen; or one total
)

changes = Table(
    "changes",
    metadata,
    Column("study_id", _ID, ForeignKey("studies.id"), primary_key=True, autoincrement=False),
    Column("revision", BigInteger, primary_key=True, autoincrement=False),
    Column("changed_at", Double, nullable=False),
    Column("kind", String(32), nullable=False),  # created, risk_aversion, retired, restored, added
    Column("n_tells", BigInteger, nullable=False),  # rows of tells before it
    Column("detail", Text, nullable=False),
)

tokens = Table(
    "tokens",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("label", String(200), nullable=False),
    Column("scope", String(16), nullable=False),  # read, tell, admin
    Column("hash", String(64), nullable=False),
    Column("created_at", Double, nullable=False),
    Column("revoked_at", Double),
)
