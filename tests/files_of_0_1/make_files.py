"""Writes the files of this folder: saved learners, allocators, moments, results, a journal and a store of version 0.1.

``tests/test_files_of_0_1.py`` loads them and goes on with them, so that whatever somebody wrote with 0.1 stays usable
with the same numbers, bit for bit on the machine named in ``made_by.json`` and within tolerances elsewhere.

**Do not run this again.** The files are what commit 70d082a wrote; written by a later version they would guard nothing.
Run it only at that commit, or copy it into a folder of its own for files of another version::

    cd tests
    python -m files_of_0_1.make_files

A learner class that came later has no file of 0.1; the test wants one nevertheless, from the version that brings it.
Add it to `cases` and write its files alone, which then name the machine that wrote them::

    python -m files_of_0_1.make_files --new-learners

Files that are there are never written over. Everything is seeded and the store's clock is set, so on one machine it
writes the same again. Beside each file stands what loading it and going on gave (``*.expected.json``); floats are
written such that they come back with every bit.
"""

from __future__ import annotations

import json
import os
import random
import secrets
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import covbandit as cb
from covbandit.studies import Store, Study
from covbandit.studies.tokens import create_token, list_tokens, revoke_token
from old_files import (
    JOURNAL,
    MORE_REPLICATIONS,
    REPLICATIONS,
    go_on_with_allocator,
    go_on_with_learner,
    go_on_with_moments,
    go_on_with_study,
    is_own,
    look_at_result,
    look_at_study,
    machine,
    records,
    restored_store,
    rewards,
    simulations,
    tell_allocator,
    tell_round,
    tell_study,
    totals,
    without_warnings,
)
from own_learners_of_0_1 import CompiledInverseVariance, InverseVariance

HERE = Path(__file__).parent
COMMIT = "70d082a"

OWN_DESIGN = [
    [0.8, 0.1, 0.1],
    [0.1, 0.8, 0.1],
    [0.1, 0.1, 0.8],
    [0.4, 0.4, 0.2],
    [0.4, 0.2, 0.4],
    [0.2, 0.4, 0.4],
    [1.0, 0.0, 0.0],
]
SINGLES_AND_PAIRS = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0.5, 0.5, 0], [0.25, 0, 0.75], [0, 0.5, 0.5]]
GAMMA = [[0.5, 0.1, 0.0], [0.1, 0.75, 0.25], [0.0, 0.25, 1.0]]
NAMES = ["Süd", "Nord", 'Ost\'s "best"', "Ω", "west"]


# Learners -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A learner, and what happens to it before it is saved."""

    make: Callable[[], cb.Learner]
    told: tuple[int, ...]  # rounds after which it is saved
    retired: tuple[int, ...] = ()  # set after half of them
    missing: bool = False  # whether rewards are missing, from the third round on
    restored_after: int | None = None  # rounds of going on after which the retired options come back


def cases() -> dict[str, Case]:
    """Return learners of every class, in every configuration that takes another way through the code."""
    everything: dict[str, Case] = {
        "FixedWeights": Case(lambda: cb.FixedWeights(weights=[0.4, 0.3, 0.1, 0.1, 0.1]), (0, 6), retired=(1,)),
        "FixedWeights, equal": Case(lambda: cb.FixedWeights(n_options=3), (4,)),
        "InverseVariance": Case(lambda: InverseVariance(n_options=3, options=NAMES[:3]), (1, 9)),
        "InverseVariance, retired": Case(lambda: InverseVariance(n_options=3), (9,), retired=(0,), restored_after=9),
        "CompiledInverseVariance": Case(lambda: CompiledInverseVariance(n_options=3), (1, 9)),
        "CompiledInverseVariance, retired": Case(
            lambda: CompiledInverseVariance(n_options=3), (9,), retired=(0,), restored_after=9
        ),
    }
    held = ([0.5, 0.2, 0.1, 0.1, 0.1], 12)
    full: dict[str, Callable[..., cb.Learner]] = {
        "LinearFI": lambda **more: cb.LinearFI(n_options=5, **more),
        "MCEmpirical": lambda **more: cb.MCEmpirical(n_options=5, risk_aversion=2.0, **more),
        "ShrunkEmpirical": lambda **more: cb.ShrunkEmpirical(n_options=5, risk_aversion=2.0, **more),
        "OGD": lambda **more: cb.OGD(n_options=5, risk_aversion=2.0, **more),
        "OGD, plugin": lambda **more: cb.OGD(n_options=5, risk_aversion=2.0, gradient="plugin", **more),
    }
    for name, make in full.items():
        everything[name] = Case(make, (1, 30))
        if name in ("MCEmpirical", "ShrunkEmpirical"):
            everything[f"{name}, hold"] = Case(lambda make=make: make(hold=held, options=NAMES), (3,))
        everything[f"{name}, retired"] = Case(make, (20,), retired=(0, 4), restored_after=12)
        everything[f"{name}, missing"] = Case(make, (4, 24), missing=True)
        everything[f"{name}, missing and retired"] = Case(make, (20,), (1, 2), missing=True, restored_after=12)
    limits: dict[str, dict[str, Any]] = {
        "MCEmpirical, half-life": {"half_life": 15.0},
        "MCEmpirical, max_weight": {"max_weight": [0.3, 0.4, 0.5, 0.6, 0.2]},
        "MCEmpirical, min_weight": {"min_weight": 0.2},
        "MCEmpirical, half-life, min_weight": {"half_life": 15.0, "min_weight": 0.3},
        "ShrunkEmpirical, min_weight": {"min_weight": 0.2},
        "OGD, min_weight": {"min_weight": 0.2},
        "OGD, strong": {"step": "strong", "curvature": 0.05, "variance_bound": 2.0},
        "OGD, plugin, min_weight": {"min_weight": 0.2},
    }
    for name, arguments in limits.items():
        base = full["OGD, plugin" if "plugin" in name else name.partition(",")[0]]
        everything[name] = Case(lambda base=base, arguments=arguments: base(**arguments), (12,))
    for name in ("MCEmpirical, half-life", "MCEmpirical, max_weight", "ShrunkEmpirical, min_weight"):
        everything[f"{name}, missing and retired"] = Case(
            everything[name].make, (20,), (1,), missing=True, restored_after=12
        )

    few = {"n_options": 3, "risk_aversion": 0.5, "min_weight": 0.25}
    many = {"n_options": 5, "risk_aversion": 2.0, "min_weight": 0.15, "radius_scale": (0.1, 0.2)}
    wide = {"variance_bound": 4.0}
    everything |= {
        "MCUCB": Case(lambda: cb.MCUCB(**few, **wide), (4, 40)),
        "MCUCB, radius_scale": Case(lambda: cb.MCUCB(**many), (5, 60)),
        "MCUCB, cap_upper": Case(lambda: cb.MCUCB(**few, cap_upper=True, regularization=1.0), (30,)),
        "MCUCB, retired": Case(lambda: cb.MCUCB(**few), (20,), (2,), restored_after=12),
        "MCUCB, one at a time": Case(lambda: cb.MCUCB(**few | {"min_weight": 0.6}), (20,)),
        "MCUCB, no min_weight": Case(lambda: cb.MCUCB(**few | {"min_weight": None}), (20,)),
        "MCUCBGamma": Case(lambda: cb.MCUCBGamma(**few, **wide), (4, 40)),
        "MCUCBGamma, gamma": Case(lambda: cb.MCUCBGamma(**few, gamma=GAMMA), (30,)),
        "MCUCBGamma, radius_scale": Case(lambda: cb.MCUCBGamma(**many), (60,)),
        "MCUCBGamma, retired": Case(lambda: cb.MCUCBGamma(**few, gamma=GAMMA), (20,), (0,), restored_after=12),
        "OLSUCBC": Case(lambda: cb.OLSUCBC(n_options=5, min_weight=0.15, **wide), (5, 40)),
        "OLSUCBC, gamma": Case(lambda: cb.OLSUCBC(n_options=3, min_weight=0.25, gamma=GAMMA), (20,)),
        "OLSUCBC, retired": Case(lambda: cb.OLSUCBC(n_options=3), (20,), (1,), restored_after=12),
        "PairUCB": Case(lambda: cb.PairUCB(n_options=5, risk_aversion=2.0, min_weight=0.3), (2, 40)),
        "PairUCB, no min_weight": Case(lambda: cb.PairUCB(n_options=3, risk_aversion=0.5, min_weight=None), (1, 20)),
        "PairUCB, one at a time": Case(lambda: cb.PairUCB(n_options=5, risk_aversion=2.0, min_weight=0.6), (3, 30)),
        "PairUCB, retired": Case(lambda: cb.PairUCB(**few), (20,), (1,), restored_after=12),
        "PairUCB, hold": Case(lambda: cb.PairUCB(**few, hold=([0.5, 0.5, 0.0], 8), bonus=1.0), (3,)),
    }

    for name, kind in {"MCETE": cb.MCETE, "OGDETE": cb.OGDETE}.items():
        three: dict[str, Any] = {"n_options": 3, "risk_aversion": 0.5}
        everything |= {
            name: Case(lambda kind=kind, three=three: kind(**three), (4, 60)),
            f"{name}, five options": Case(lambda kind=kind: kind(n_options=5, risk_aversion=2.0), (60,)),
            f"{name}, exact": Case(lambda kind=kind, three=three: kind(**three, indefinite="exact"), (22, 30)),
            f"{name}, five options, exact": Case(
                lambda kind=kind: kind(n_options=5, risk_aversion=2.0, indefinite="exact"), (44,)
            ),
            f"{name}, design": Case(lambda kind=kind, three=three: kind(**three, design=OWN_DESIGN), (4, 60)),
            f"{name}, design, exact": Case(
                lambda kind=kind, three=three: kind(**three, design=OWN_DESIGN, indefinite="exact"), (40,)
            ),
            f"{name}, retired": Case(lambda kind=kind, three=three: kind(**three), (30,), (1,), restored_after=12),
            f"{name}, design, retired": Case(
                lambda kind=kind, three=three: kind(**three, design=SINGLES_AND_PAIRS), (30,), (2,), restored_after=12
            ),
            f"{name}, hold": Case(lambda kind=kind, three=three: kind(**three, hold=([0.5, 0.5, 0.0], 8)), (3,)),
        }
    ts: dict[str, Any] = {"n_options": 3, "risk_aversion": 0.5, "start_up": 12}
    everything |= {
        "OGDETE, variance_bound": Case(lambda: cb.OGDETE(n_options=3, risk_aversion=0.5, variance_bound=4.0), (30,)),
        "LinearFB": Case(lambda: cb.LinearFB(n_options=3), (4, 60)),
        "LinearFB, design": Case(lambda: cb.LinearFB(n_options=3, design=OWN_DESIGN), (40,)),
        "LinearFB, retired": Case(lambda: cb.LinearFB(n_options=3), (30,), (0,), restored_after=12),
        "GradientTS": Case(lambda: cb.GradientTS(n_options=3, risk_aversion=0.5, seed=11), (7, 60)),
        "GradientTS, four options": Case(lambda: cb.GradientTS(n_options=4, risk_aversion=2.0, seed=12), (60,)),
        "GradientTS, start-up ends": Case(lambda: cb.GradientTS(**ts, seed=13), (10,)),
        "GradientTS, forced": Case(lambda: cb.GradientTS(**ts, seed=14, forced=1.0), (40,)),
        "GradientTS, curvature_sampling": Case(lambda: cb.GradientTS(**ts, curvature_sampling=0.0), (40,)),
        "GradientTS, other arguments": Case(
            lambda: cb.GradientTS(
                **ts,
                seed=15,
                start_radius=0.75,
                refresh=0.2,
                sampling=0.5,
                least_sampling=1.0,
                curvature_sampling=1.5,
                prior=2.0,
                clip=1.0,
            ),
            (40,),
        ),
        "GradientTS, retired": Case(lambda: cb.GradientTS(**ts, seed=16), (30,), (1,), restored_after=12),
        "GradientTS, hold": Case(lambda: cb.GradientTS(**ts, hold=([0.5, 0.25, 0.25], 8)), (3, 30)),
    }
    return everything


def write_learners(folder: Path, **origin: Any) -> None:
    """Write those that are not there yet."""
    folder.mkdir(exist_ok=True)
    for name, case in cases().items():
        for told in case.told:
            file = folder / f"{plain_name(name)}-{told}-rounds.json"
            if file.exists():
                continue
            with without_warnings():
                learner = case.make()
                for k in range(told):
                    if case.retired and k == told // 2:
                        learner.set_retired(case.retired)
                    tell_round(learner, learner.ask(), k, case.missing and k >= 2)
                if told == 0 and case.retired:
                    learner.set_retired(case.retired)
            learner.save(file)
            expect(
                file,
                **origin,
                case={"missing": case.missing, "restored_after": case.restored_after},
                **go_on_with_learner(cb.load_learner(file), case.missing, case.restored_after),
            )


def write_allocators(folder: Path) -> None:
    folder.mkdir()
    three, hold = NAMES[:3], ({"Süd": 0.75, "Nord": 0.25}, 4)
    made = {
        "all": cb.allocator(three, risk_aversion=0.5),
        "all, capped": cb.allocator(NAMES, risk_aversion=0.5, max_weight={"Süd": 0.25, "west": 0.5}),
        "all, min_weight": cb.allocator(NAMES, risk_aversion=0.5, min_weight=0.25, hold=hold),
        "chosen": cb.allocator(three, "chosen", risk_aversion=0.5, min_weight=0.25, hold=hold),
        "total": cb.allocator(three, "total", risk_aversion=0.5, seed=5),
    }
    for name, allocator in made.items():
        for _ in range(15):
            tell_allocator(allocator, allocator.ask())
        file = folder / f"{plain_name(name)}.json"
        allocator.save(file)
        expect(file, **go_on_with_allocator(cb.Allocator.load(file)))


def write_moments(folder: Path) -> None:
    folder.mkdir()
    fitted = cb.AggregateMoments.fit(*totals(0, 60))
    held, summed = cb.AggregateMoments(3), cb.AggregateMoments(3, options=NAMES[:3])
    held.update_many(*totals(0, 40))
    summed.update_many(*totals(0, 230))  # of which the first 200 are kept as sums only
    for name, moments in {"fitted": fitted, "held": held, "summed": summed}.items():
        file = folder / f"{plain_name(name)}.json"
        moments.save(file)
        expect(file, **go_on_with_moments(cb.AggregateMoments.load(file)))


# Simulations ----------------------------------------------------------------------------------------------------------


def write_results(folder: Path) -> None:
    folder.mkdir()
    for name, arguments in simulations().items():
        result = cb.simulate(**arguments, replications=REPLICATIONS)
        file = folder / f"{plain_name(name)}.npz"
        result.save(file)
        more = cb.simulate(**arguments, replications=MORE_REPLICATIONS)
        loaded, continued = look_at_result(cb.SimulationResult.load(file)), look_at_result(more)
        del continued["specification"]  # as above
        expect(file, loaded=loaded, continued=continued)

    # Three replications, of which the last was cut off by a crash.
    arguments = simulations()["everything seen"]
    with tempfile.TemporaryDirectory() as temporary:
        journal = Path(temporary) / "it.journal"
        cb.simulate(**arguments, replications=REPLICATIONS + 1, journal=journal, workers=1)
        parts = records(journal.read_bytes())
    assert len(parts) == REPLICATIONS + 2
    (folder / "everything-seen.journal").write_bytes(b"".join([JOURNAL, *parts[:-1], parts[-1][:100]]))


# Studies --------------------------------------------------------------------------------------------------------------


def use_studies(store: Store) -> None:
    """Do everything that can be done with studies, and let every learner have one."""
    empirical = cb.MCEmpirical(n_options=3, risk_aversion=0.7)
    full = Study.create("full information", NAMES[:3], empirical, "per_unit", store)
    play(full, 8)
    full.tell_outside([0.2, 0.3, 0.5], [0.1, 0.2, 0.3], key="history")
    full.amend(3, [1.5, -1.0, 0.125])
    full.ask("patient", key="2026-W46", lease=None)
    full.ask("nobody", lease=1e-9)
    full.tell(full.ask("late", lease=1e-9).id, [0.5, 0.25, 0.0], weights=[0.5, 0.5, 0.0])
    full.set_risk_aversion(1.3)
    full.add_option("new")
    play(full, 4)
    full.retire("Nord")
    play(full, 4)
    full.ask("waiting", lease=None)
    full.ask("lapsed")  # its lease ends long before anybody reads this store
    full.fork(cb.ShrunkEmpirical(n_options=4, risk_aversion=0.5), "forked, all")
    full.fork(cb.PairUCB(n_options=4, risk_aversion=0.5, min_weight=0.25), "forked, chosen")

    semi = Study.create("campaign", ["a", "b", "c"], cb.PairUCB(n_options=3, risk_aversion=0.5), "amount", store)
    play(semi, 12)
    semi.retire("c")
    play(semi, 3)
    semi.restore("c")
    semi.add_option("d")
    play(semi, 3)
    semi.set_risk_aversion(1.0)
    semi.ask("waiting", lease=None)

    total = Study.create(
        "treatment", ["x", "y"], cb.MCETE(n_options=2, risk_aversion=0.5), "per_unit", store, lease=None
    )
    play(total, 12)
    total.tell_outside([0.5, 0.5], 0.25)
    total.amend(2, 0.75)
    total.add_option("z")
    play(total, 8)
    total.ask("waiting")

    history = Study.create("imported", NAMES, cb.MCEmpirical(n_options=5, risk_aversion=0.7), "per_unit", store)
    for k in range(10):
        row = rewards()[k].tolist()
        known = dict(zip(NAMES, [*row[:4], None if k < 5 else row[4]], strict=True))
        history.tell_outside([0.25, 0.25, 0.25, 0.25, 0.0], known, key=f"2019-{k + 1:02}")

    three: dict[str, Any] = {"n_options": 3}
    risky: dict[str, Any] = {"n_options": 3, "risk_aversion": 0.5}
    each: list[cb.Learner] = [
        cb.FixedWeights(weights=[0.5, 0.25, 0.25]),
        cb.GradientTS(**risky, seed=3, start_up=6),
        cb.LinearFB(**three),
        cb.LinearFI(**three),
        cb.MCEmpirical(**risky, half_life=15.0),
        cb.MCETE(**risky, design=SINGLES_AND_PAIRS),
        cb.MCUCB(**risky, min_weight=0.25),
        cb.MCUCBGamma(**risky, min_weight=0.25, gamma=GAMMA),
        cb.OGD(**risky, gradient="plugin"),
        cb.OGDETE(**risky),
        cb.OLSUCBC(**three, min_weight=0.25),
        cb.PairUCB(**risky, min_weight=0.25),
        cb.ShrunkEmpirical(**risky),
        InverseVariance(**three),
        CompiledInverseVariance(**three),
    ]
    for learner in each:
        study = Study.create(type(learner).__name__, ["a", "b", "c"], learner, "per_unit", store)
        play(study, 15)
        if not is_own(learner):
            study.retire("b")
            play(study, 3)
    Study.create("unused", ["x", "y"], cb.LinearFI(n_options=2), "per_unit", store)


def play(study: Study, rounds: int) -> None:
    for k in range(rounds):
        tell_study(study, study.ask(f"client {k % 2}"), study.revision % 90)


@contextmanager
def same_ids_and_times() -> Iterator[None]:
    """Let ids and secrets be the same in every run, and the clock stand in 2020: leases that end have ended since."""
    drawn, now = random.Random(70), range(1_580_000_000, 1_590_000_000)
    with (
        mock.patch.object(os, "urandom", drawn.randbytes),
        mock.patch.object(secrets, "token_hex", lambda n: drawn.randbytes(n).hex()),
        mock.patch.object(secrets, "token_bytes", drawn.randbytes),
        mock.patch.object(time, "time", side_effect=map(float, now)),
    ):
        yield


def write_store(folder: Path) -> None:
    folder.mkdir()
    file = folder / "studies.sql"
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary) / "store.db"
        with same_ids_and_times(), without_warnings(), Store(place, create=True) as store:
            use_studies(store)
            tokens = {scope: create_token(store, f"for {scope}", scope) for scope in ("read", "tell", "admin")}
            revoke_token(store, tokens["tell"].split("_")[1])
            listed = [token.to_dict() for token in list_tokens(store)]
        with sqlite3.connect(place) as dumped:
            lines = [line for line in dumped.iterdump() if "sqlite_sequence" not in line]
        dumped.close()
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    expect(file, tokens=tokens, listed=listed)

    with tempfile.TemporaryDirectory() as temporary, Store(restored_store(file, Path(temporary) / "again.db")) as store:
        for summary in cb.studies.list_studies(store):
            study = cb.Study.open(summary.name, store)
            exports = summary.name in ("full information", "campaign", "treatment", "imported")
            expect(
                folder / plain_name(summary.name),
                study=summary.name,
                learner=summary.learner_class,
                exports=exports,
                before=look_at_study(study, exports),
                after=go_on_with_study(study),
            )


# ----------------------------------------------------------------------------------------------------------------------


def plain_name(name: str) -> str:
    """Return a name without blanks and commas, fit for a file."""
    return name.replace(",", "").replace(" ", "-")


def expect(file: Path, **found: Any) -> None:
    """Write beside a file what it gave: one entry to a line."""
    lines = [f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in found.items()]
    target = file.with_name(f"{file.name.removesuffix('.json')}.expected.json")
    target.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def main() -> None:
    made_by = HERE / "made_by.json"
    if sys.argv[1:] == ["--new-learners"] and made_by.exists():
        write_learners(HERE / "learners", machine=machine())
        return
    if made_by.exists():
        sys.exit(f"{HERE} holds the files of commit {COMMIT} already; they stay as they were written")
    write_learners(HERE / "learners")
    write_allocators(HERE / "allocators")
    write_moments(HERE / "moments")
    write_results(HERE / "results")
    write_store(HERE / "store")
    made_by.write_text(
        json.dumps({"covbandit": cb.__version__, "commit": COMMIT, "machine": machine()}, indent=1) + "\n",
        encoding="utf-8",
    )
    written = [file for file in HERE.rglob("*") if file.is_file()]
    print(f"{len(written)} files, {sum(file.stat().st_size for file in written):,} bytes")


if __name__ == "__main__":
    main()
