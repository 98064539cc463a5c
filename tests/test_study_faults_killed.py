"""Processes that are killed at any moment, and many that work on one study at once."""

from __future__ import annotations

import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import make_url

import covbandit as cb
from covbandit.studies import Round, Study
from stores import KINDS, sqlite_url
from study_workers import OPTIONS, Nursery, entries, in_memory, is_corrected, outcome_of

KILLS = 25  # on each kind of store


@pytest.fixture(scope="module")
def nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    with Nursery(tmp_path_factory.mktemp("nursery") / "complaints") as found:
        yield found


def assert_kept(study: Study, acknowledged: dict[str, list[dict[str, Any]]]) -> dict[int, Round]:
    """Assert that what was acknowledged is in the store, once and as it was told; return the rounds by number."""
    found = study.rounds()
    by_id = {each.id: each for each in found}
    assert len(by_id) == len(found)
    for client, noted in acknowledged.items():
        last = {entry["round"]: entry for entry in noted}
        rounds_by_key = Counter(entry["key"] for entry in last.values() if entry["key"] is not None)
        assert all(times == 1 for times in rounds_by_key.values())
        for number, entry in last.items():
            kept = by_id[number]
            assert (kept.client, kept.key, kept.status) == (client, entry["key"], "told")
            allowed = [entry["outcome"]]
            if entry["told"] == "first":  # the correction may have been taken in without being acknowledged
                what = kept.key or f"{client}:{number}"
                allowed.append(outcome_of(what, kept.weights, study.feedback, corrected=True))
            assert kept.outcome in allowed
    verified = study.verify()
    assert verified.ok, verified.message
    assert verified.exact, verified.message
    return by_id


@pytest.mark.parametrize("learner_class", [cb.MCEmpirical, cb.PairUCB])
def test_nothing_acknowledged_is_lost_or_counted_twice_when_processes_are_killed(
    learner_class: type[cb.Learner], store_url: str, nursery: Nursery, tmp_path: Path
) -> None:
    learner = learner_class(n_options=3, risk_aversion=1.0)
    study = cb.Study.create("killed", OPTIONS, learner, outcome="per_unit", store=store_url)
    moments = random.Random(f"{learner_class.__name__} {study.store.is_sqlite}")
    clients = ["keyed", "named", "keyed too"]
    diaries = {client: tmp_path / f"{client}.diary" for client in clients}

    def start(client: str) -> int:
        return nursery.start(
            "play",
            store=store_url,
            study="killed",
            client=client,
            diary=str(diaries[client]),
            keyed=client.startswith("keyed"),
        )

    running = {client: start(client) for client in clients}
    survived = 0
    kills = KILLS // 2 + (KILLS % 2 and learner_class is cb.PairUCB)
    for _ in range(kills):
        time.sleep(moments.uniform(0.0, 0.2))
        victim = moments.choice(clients)
        nursery.kill(running[victim])
        acknowledged = {client: entries(diary) for client, diary in diaries.items()}
        assert_kept(study, acknowledged)
        asked = study.ask("survivor")
        assert study.tell(asked.id, outcome_of("survivor", asked.weights, study.feedback)).client == "survivor"
        survived += 1
        running[victim] = start(victim)
    for process in running.values():
        nursery.kill(process)

    acknowledged = {client: entries(diary) for client, diary in diaries.items()}
    by_id = assert_kept(study, acknowledged)
    told = [each for each in by_id.values() if each.status == "told"]
    assert sorted(by_id) == list(range(1, len(by_id) + 1))
    assert study.learner.rounds_told == len(told) == study.summary().told
    noted = {entry["round"] for each in acknowledged.values() for entry in each}
    assert len(told) - survived - len(noted) <= kills + len(clients)  # each kill may have swallowed one answer
    for client in clients:
        mine = [each for each in by_id.values() if each.client == client]
        assert sum(each.status == "open" for each in mine) <= 1
        if client.startswith("keyed"):  # each step once, without gaps
            steps = {f"{client}-{k}" for k in range(len(mine))}
            assert {each.key for each in mine} == steps
    assert any(is_corrected(each.key or f"{each.client}:{each.id}") for each in told)

    # Who was killed goes on where it stood.
    for client in clients:
        steps = sum(entry["told"] == "last" for entry in entries(diaries[client])) + 1
        process = nursery.start(
            "play",
            store=store_url,
            study="killed",
            client=client,
            diary=str(diaries[client]),
            keyed=client.startswith("keyed"),
            steps=steps,
        )
        assert nursery.wait(process) == 0, nursery.complaints.read_text(encoding="utf-8")
    acknowledged = {client: entries(diary) for client, diary in diaries.items()}
    assert_kept(study, acknowledged)
    study.close()


@pytest.fixture(params=KINDS)
def quick_store_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Return the URL of an empty store that does not wait for its disk: the order of events matters here."""
    if request.param == "sqlite":
        with tempfile.TemporaryDirectory(dir=in_memory(tmp_path)) as folder:
            yield sqlite_url(Path(folder))
    else:
        url = make_url(request.getfixturevalue("postgres_url"))
        url = url.update_query_dict({"options": "-c synchronous_commit=off"})
        yield url.render_as_string(hide_password=False)


def test_eight_processes_share_a_study(quick_store_url: str, nursery: Nursery) -> None:
    store_url = quick_store_url
    learner = cb.MCEmpirical(n_options=3, risk_aversion=1.0)
    study = cb.Study.create("shared", OPTIONS, learner, outcome="per_unit", store=store_url)
    clients = [f"client {k}" for k in range(8)]
    processes = [
        nursery.start("compete", store=store_url, study="shared", client=client, rounds=200) for client in clients
    ]
    assert [nursery.wait(process) for process in processes] == [0] * 8, nursery.complaints.read_text(encoding="utf-8")

    found = sorted(study.rounds(), key=lambda each: each.id)
    assert [each.id for each in found] == list(range(1, 1_601))
    assert {each.status for each in found} == {"told"}
    assert Counter(each.client for each in found) == dict.fromkeys(clients, 200)
    assert all(0 <= each.outstanding < 8 for each in found)
    for each in found:
        assert each.outcome == outcome_of(f"{each.client}:{each.id}", each.weights, study.feedback)
    summary = study.summary()
    assert (summary.rounds, summary.told, summary.open, summary.expired) == (1_600, 1_600, 0, 0)
    assert study.learner.rounds_told == 1_600
    verified = study.verify()
    assert verified.exact, verified.message
    study.close()
