"""An id of each state, which no counter can take the place of; study names in one spelling."""

from unicodedata import normalize
from uuid import uuid4

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the ids, and write names in Unicode's composed form, as they are looked for from now on."""
    for table in ("studies", "states"):
        # The default is for the rows there are, and for a process of an older version that was not stopped.
        op.add_column(table, sa.Column("state_id", sa.String(32), nullable=False, server_default=""))
    connection = op.get_bind()
    studies = sa.table("studies", sa.column("id"), sa.column("name"), sa.column("state_id"))
    states = sa.table("states", sa.column("study_id"), sa.column("state_id"))
    found = connection.execute(sa.select(studies.c.id, studies.c.name).order_by(studies.c.id)).all()
    taken = {name for _, name in found}
    for study, name in found:
        composed = normalize("NFC", name)
        if composed in taken:  # that is this one already, or another study's: then this one keeps its own spelling
            composed = name
        taken.add(composed)
        values = {"state_id": uuid4().hex}
        connection.execute(sa.update(states).where(states.c.study_id == study).values(values))
        connection.execute(sa.update(studies).where(studies.c.id == study).values({**values, "name": composed}))
