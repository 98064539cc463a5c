"""How stores of older versions become those of this one: one file a step, run with Alembic inside one transaction.

================================  ================================================================
file in ``versions/``             what it adds
================================  ================================================================
``0001_studies.py``               studies, rounds, tells, changes and states
``0002_tokens.py``                tokens
``0003_state_ids_and_names.py``   ids of states; names of studies written in one spelling
================================  ================================================================
"""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection

from covbandit.studies.schema import SCHEMA


def migrate(connection: Connection, to: str = SCHEMA) -> None:
    """Run the missing steps up to a version, in the transaction that the connection is in."""
    from alembic.migration import MigrationContext
    from alembic.operations import Operations
    from alembic.script import ScriptDirectory

    scripts = ScriptDirectory(str(Path(__file__).parent))
    context = MigrationContext.configure(connection)
    steps = list(scripts.iterate_revisions(to, context.get_current_revision()))
    with Operations.context(context):
        for step in reversed(steps):
            step.module.upgrade()
            context.stamp(scripts, step.revision)
