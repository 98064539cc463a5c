"""Writes a store of the newest schema, used in every way there is, as SQL text: ``schema-0003.sql`` and the like.

Tests restore these files, upgrade them and go on with the studies in them; so a store that somebody wrote with an older
version stays usable. When a migration is added, before it changes anything::

    python tests/store_fixtures/make_fixture.py

and commit the new file. Files that are there already are never written again: they are what older versions wrote. A
revision before the newest one is written with its number as argument, by this version's code on the tables of then;
that works as long as the code does not need what came later.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
from pathlib import Path

import covbandit as cb
from covbandit.studies import Store, Study
from covbandit.studies import store as stores
from covbandit.studies.migrations import migrate
from covbandit.studies.schema import SCHEMA
from covbandit.studies.tokens import create_token

HERE = Path(__file__).parent


def use_studies(store: Store) -> None:
    """Do everything that can be done with studies."""
    options = ["Süd", "Nord", 'Ost\'s "best"']
    full = Study.create("full information", options, cb.MCEmpirical(n_options=3, risk_aversion=0.7), "per_unit", store)
    play(full, rounds=12)
    full.tell_outside([0.2, 0.3, 0.5], [0.1, 0.2, 0.3], key="history")
    full.amend(3, [9.0, -1.0, 0.125])
    full.ask("patient", key="2026-W46")
    full.ask("nobody", lease=1e-9)
    full.set_risk_aversion(1.3)
    full.add_option("new")
    play(full, rounds=4)
    full.retire("Nord")
    play(full, rounds=4)
    full.ask("waiting")

    semi = Study.create("campaign", ["a", "b", "c"], cb.PairUCB(n_options=3, risk_aversion=0.5), "amount", store)
    play(semi, rounds=15)
    semi.retire("c")
    play(semi, rounds=3)
    semi.restore("c")
    semi.ask("waiting")

    total = Study.create(
        "treatment", ["x", "y"], cb.MCETE(n_options=2, risk_aversion=0.5), "per_unit", store, lease=None
    )
    play(total, rounds=20)
    total.ask("waiting")

    drawn = Study.create("drawn", ["x", "y"], cb.GradientTS(n_options=2, risk_aversion=0.5, seed=3), "per_unit", store)
    play(drawn, rounds=6)

    Study.create("unused", ["x", "y"], cb.LinearFI(n_options=2), "per_unit", store)


def play(study: Study, rounds: int) -> None:
    for k in range(rounds):
        asked = study.ask(f"client {k % 2}")
        values = {name: round(0.1 * i + 0.37 * (k % 4) - 0.21 * (k % 3), 3) for i, name in enumerate(asked.weights)}
        if study.feedback == "total":
            study.tell(asked.id, values["x"])
        elif study.feedback == "chosen":
            study.tell(asked.id, {name: values[name] for name, w in asked.weights.items() if w > 0})
        else:
            study.tell(asked.id, {name: values[name] for name in study.options})


def main(revision: str) -> None:
    target = HERE / f"schema-{revision}.sql"
    if target.exists():
        sys.exit(f"{target} is there already; it stays as it was written")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "store.db"
        file.touch()
        with Store.of_any_schema(file) as empty, empty.write() as connection:
            migrate(connection, to=revision)
        stores.SCHEMA = revision
        with Store(file) as store:
            use_studies(store)
            if revision >= "0002":
                create_token(store, "reader", "read")
        with sqlite3.connect(file) as dumped:
            lines = [line for line in dumped.iterdump() if "sqlite_sequence" not in line]
        dumped.close()
    target.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{target}: {len(lines)} lines")


if __name__ == "__main__":
    main(*(sys.argv[1:] or [SCHEMA]))
