"""Studies, their rounds, everything told, and the learners' statistics."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def _study() -> sa.Column[int]:
    return sa.Column("study_id", _ID, sa.ForeignKey("studies.id"), primary_key=True, autoincrement=False)


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "studies",
        sa.Column("id", _ID, primary_key=True, autoincrement=True),
        sa.Column("name", sa.String(200), nullable=False, unique=True),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("outcome", sa.String(16), nullable=False),
        sa.Column("configuration", sa.Text, nullable=False),
        sa.Column("lease", sa.Double),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.Column("state_revision", sa.BigInteger, nullable=False),
        sa.Column("n_rounds", sa.BigInteger, nullable=False),
        sa.Column("n_tells", sa.BigInteger, nullable=False),
        sa.Column("n_told", sa.BigInteger, nullable=False),
        sa.Column("n_open", sa.BigInteger, nullable=False),
        sa.Column("n_amended", sa.BigInteger, nullable=False),
        sa.Column("next_expiry", sa.Double, nullable=False),
        sa.Column("last_told_at", sa.Double),
    )
    op.create_table(
        "states",
        _study(),
        sa.Column("state", sa.LargeBinary, nullable=False),
        sa.Column("versions", sa.Text, nullable=False),
    )
    op.create_table(
        "rounds",
        _study(),
        sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("source", sa.String(16), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("client", sa.String(200)),
        sa.Column("key", sa.String(200)),
        sa.Column("asked_at", sa.Double, nullable=False),
        sa.Column("expires_at", sa.Double, nullable=False),
        sa.Column("outstanding", sa.BigInteger, nullable=False),
        sa.Column("weights", sa.Text, nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.Column("first_tell", sa.BigInteger),
        sa.Column("last_tell", sa.BigInteger),
        sa.Column("amendments", sa.Integer, nullable=False),
        sa.Column("late", sa.Integer, nullable=False),
    )
    op.create_index("rounds_by_revision", "rounds", ["study_id", "revision"])
    for name, columns, where in (
        ("rounds_by_key", ["key"], "key IS NOT NULL"),
        ("rounds_open", ["expires_at"], "status = 'open'"),
        ("rounds_of_client", ["client", "expires_at"], "status = 'open' AND key IS NULL"),
    ):
        op.create_index(
            name,
            "rounds",
            ["study_id", *columns],
            unique=name == "rounds_by_key",
            sqlite_where=sa.text(where),
            postgresql_where=sa.text(where),
        )
    op.create_table(
        "tells",
        _study(),
        sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("round", sa.BigInteger, nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("told_at", sa.Double, nullable=False),
        sa.Column("played", sa.Text, nullable=False),
        sa.Column("outcome", sa.Text, nullable=False),
    )
    op.create_table(
        "changes",
        _study(),
        sa.Column("revision", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("changed_at", sa.Double, nullable=False),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("n_tells", sa.BigInteger, nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
    )
