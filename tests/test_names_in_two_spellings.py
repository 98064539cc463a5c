"""Names of studies and options are the same whether an é was typed as one character or as an e and an accent."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from unicodedata import normalize

import httpx
import pandas as pd
import pytest

import covbandit as cb
from covbandit.environments.histories import require_options
from covbandit.errors import Conflict, InvalidInput, NotFound
from covbandit.service.client import Client
from covbandit.service.server.app import create_app
from covbandit.studies import Store, Study, list_studies
from covbandit.studies.tokens import create_token
from service_calls import InProcess, calling, new_store

ONE = normalize("NFC", "Café")  # é as one character
TWO = normalize("NFD", "Café")  # e and an accent
THIRD = "tee"
assert ONE != TWO

Commands = Callable[..., tuple[int, str, str]]
FIXTURES = Path(__file__).parent / "store_fixtures"


def created(name: str, options: list[str], store: Any, feedback: str = "all") -> Study:
    return Study.create(name, options, {"feedback": feedback, "risk_aversion": 1.0}, "per_unit", store)


# Studies --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("made", "looked_for"), [(ONE, TWO), (TWO, ONE), (TWO, TWO)])
def test_a_study_is_found_by_either_spelling(store_url: str, made: str, looked_for: str) -> None:
    study = created(made, ["a", "b"], store_url)
    study.tell(study.ask().id, [1.0, 2.0])
    found = Study.open(looked_for, store_url)
    assert found.summary().told == 1
    assert study.name == found.name == ONE
    for name in (ONE, TWO):
        with pytest.raises(Conflict, match="there is a study"):
            created(name, ["a", "b"], store_url)
        with pytest.raises(Conflict, match="there is a study"):
            study.fork({"class": "LinearFI"}, name=name)
    assert study.fork({"class": "LinearFI"}, name=f"{TWO} 2").study == f"{ONE} 2"
    assert Study.open(f"{TWO} 2", store_url).name == f"{ONE} 2"
    with pytest.raises(NotFound):
        Study.open("Cafe", store_url)
    study.close()
    found.close()


def test_studies_over_http(tmp_path: Path) -> None:
    with new_store(tmp_path) as store, calling(store) as http:
        body = {"options": ["a", TWO], "learner": {"feedback": "all", "risk_aversion": 1.0}, "outcome": "per_unit"}
        assert http.post("/api/v1/studies", json={"name": TWO, **body}).status_code == 201
        assert http.post("/api/v1/studies", json={"name": ONE, **body}).status_code == 409
        for name in (ONE, TWO):
            path = httpx.URL(f"/api/v1/studies/{name}")
            asked = http.post(f"{path}/ask", json={"key": "k"})
            assert (asked.status_code, asked.json()["id"]) == (200, 1)
        for option in (ONE, TWO):
            told = http.post(f"/api/v1/studies/{ONE}/rounds/1/tell", json={"outcome": {"a": 1.0, option: 2.0}})
            assert (told.status_code, told.json()["status"]) == (200, "told"), told.text
        both = {"outcome": {"a": 1.0, ONE: 2.0, TWO: 2.0}}
        twice = http.post(f"/api/v1/studies/{ONE}/rounds/1/tell", json=both)
        assert (twice.status_code, "named twice" in twice.json()["message"]) == (422, True)
        for change in ({"retire": ONE}, {"restore": TWO}):
            assert http.post(f"/api/v1/studies/{TWO}/changes", json=change).status_code == 200
        assert http.post(f"/api/v1/studies/{TWO}/changes", json={"add": ONE}).status_code == 422
        outside = {"weights": {ONE: 1.0}, "outcome": {"a": 1.0, ONE: 0.0}, "key": "history"}
        assert http.post(f"/api/v1/studies/{TWO}/tell_outside", json=outside).status_code == 200
        assert http.get(f"/api/v1/studies/{TWO}/verify").json()["ok"]


def test_the_client_of_a_service(tmp_path: Path) -> None:
    with new_store(tmp_path) as store:
        app = create_app(store)
        with Client("http://localhost", transport=InProcess(app)) as client:
            made = client.create(TWO, ["a", ONE], {"feedback": "all", "risk_aversion": 1.0}, "per_unit")
            found = client.open(ONE)
            assert made.name == found.name == client.open(TWO).name == ONE
            assert found.tell(made.ask().id, {"a": 1.0, TWO: 2.0}).outcome == {"a": 1.0, ONE: 2.0}
            assert made.retire(TWO).detail == {"option": ONE}
        app.state.service.close()


def test_a_change_whose_answer_got_lost_is_recognised_in_either_spelling(tmp_path: Path) -> None:
    class Losing(InProcess):
        lost = 0

        def handle_request(self, request: httpx.Request) -> httpx.Response:
            answer = super().handle_request(request)
            if request.method == "POST" and request.url.path.endswith("/changes") and not self.lost:
                self.lost += 1
                raise httpx.ReadError("cut off")
            return answer

    with new_store(tmp_path) as store:
        app = create_app(store)
        with Client("http://localhost", transport=Losing(app)) as client:
            client._connection._sleep = lambda _: None
            study = client.create("s", ["a", ONE], {"feedback": "all", "risk_aversion": 1.0}, "per_unit")
            assert study.retire(TWO).detail == {"option": ONE}
            assert [change.kind for change in study.changes()] == ["created", "retired"]
        app.state.service.close()


# Options --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("own", [ONE, TWO])
def test_options_of_a_study(store_url: str, own: str) -> None:
    other = TWO if own == ONE else ONE
    study = created("s", [own, THIRD], store_url)
    asked = study.ask()
    assert list(asked.weights) == [own, THIRD]  # shown as they were given
    told = study.tell(asked.id, {other: 1.0, THIRD: 2.0}, weights={other: 1.0})
    assert (told.outcome, told.played) == ({own: 1.0, THIRD: 2.0}, {own: 1.0, THIRD: 0.0})
    assert study.tell(asked.id, {own: 1.0, THIRD: 2.0}, weights={own: 1.0}).revision == told.revision
    assert study.tell_outside({other: 1.0}, {other: 3.0, THIRD: 2.0}).played == {own: 1.0, THIRD: 0.0}
    assert study.amend(asked.id, pd.Series({other: 5.0, THIRD: 2.0})).outcome == {own: 5.0, THIRD: 2.0}
    with pytest.raises(InvalidInput, match="named twice"):
        study.tell_outside({THIRD: 1.0}, {other: 3.0, own: 3.0, THIRD: 2.0})
    with pytest.raises(InvalidInput, match="there is an option"):
        study.add_option(other)
    assert study.retire(other).detail == {"option": own}
    assert study.retired == (own,)
    with pytest.raises(InvalidInput, match="is retired already"):
        study.retire(own)
    with pytest.raises(InvalidInput, match="there, but retired"):
        study.add_option(other)
    study.tell(study.ask().id, {THIRD: 2.0})
    assert study.restore(other).detail == {"option": own}
    assert study.options == (own, THIRD)
    assert study.verify().exact  # which replays the log by the names in it
    again = Study.open("s", store_url)
    again.set_risk_aversion(2.0)
    assert again.verify().exact
    study.close()
    again.close()


@pytest.mark.parametrize("make", [created, lambda _, options, __: cb.allocator(options, "all", risk_aversion=1.0)])
def test_two_spellings_are_not_two_options(tmp_path: Path, make: Callable[..., Any]) -> None:
    with pytest.raises(InvalidInput, match=r"named twice, in two spellings"):
        make("s", [ONE, TWO], tmp_path / "s.db")


def test_the_learner_of_a_study_may_have_its_options_in_the_other_spelling(tmp_path: Path) -> None:
    learner = cb.allocator([TWO, THIRD], "all", risk_aversion=1.0)
    study = Study.create("s", [ONE, THIRD], learner, "per_unit", tmp_path / "s.db")
    assert study.options == (ONE, THIRD)
    assert study.learner.options == (ONE, THIRD)
    study.close()


def test_allocators_learners_and_caps() -> None:
    made = cb.allocator([ONE, THIRD], "all", risk_aversion=1.0, max_weight={TWO: 0.25})
    made.tell({TWO: 1.0}, {TWO: 5.0, THIRD: 1.0})
    made.tell({ONE: 1.0}, {ONE: 5.5, THIRD: 1.5})
    assert made.ask()[ONE] <= 0.25
    assert made.rounds_told == 2
    with pytest.raises(InvalidInput, match="named twice"):
        made.tell({TWO: 1.0}, {ONE: 1.0, TWO: 1.0, THIRD: 1.0})
    made.learner.set_retired([TWO])
    assert made.learner.retired == (ONE,)


def test_columns_of_histories() -> None:
    frame = pd.DataFrame({TWO: [0.1, 0.2, -0.1], THIRD: [0.3, 0.1, 0.2]})
    found = cb.data.read_returns(frame, kind="returns", unit="percent", options=[ONE, THIRD])
    assert found.values.tolist() == frame.values.tolist()
    assert found.select([ONE]).values[:, 0].tolist() == frame[TWO].tolist()
    moments = {"mean": [0.1, 0.2], "covariance": [[1.0, 0.0], [0.0, 1.0]], "risk_aversion": 1.0}
    require_options(found, cb.Problem(**moments, options=[ONE, THIRD]))
    with pytest.raises(InvalidInput, match="are not the history's"):
        require_options(found, cb.Problem(**moments, options=["Cafe", THIRD]))


# The command line -----------------------------------------------------------------------------------------------------


def test_the_command_line(command_line: Commands, tmp_path: Path) -> None:
    def run(*arguments: str) -> Any:
        code, out, err = command_line("study", *arguments, "--json")
        assert code == 0, err
        return json.loads(out)

    run(
        "create",
        TWO,
        "--options",
        f"{ONE},{THIRD}",
        "--outcome",
        "per_unit",
        "--feedback",
        "all",
        "--risk-aversion",
        "1",
    )
    run("ask", ONE, "--key", "k")
    assert run("tell", TWO, "1", f"{TWO}=1", f"{THIRD}=2")["outcome"] == {ONE: 1.0, THIRD: 2.0}
    assert run("retire", ONE, TWO)["detail"] == {"option": ONE}
    run("restore", ONE, ONE)
    told = run("outside", ONE, "--weights", f"{TWO}=0.5,{THIRD}=0.5", "--key", "h", f"{TWO}=1", f"{THIRD}=3")
    assert told["reward"] == 2.0
    Path("h.csv").write_text(f"key,played[{TWO}],outcome[{TWO}],outcome[{THIRD}]\nx,1,4,5\n", encoding="utf-8")
    assert run("outside", ONE, "--file", "h.csv")["rounds"][0]["outcome"] == {ONE: 4.0, THIRD: 5.0}
    twins = f"key,played[{TWO}],outcome[{TWO}],outcome[{ONE}],outcome[{THIRD}]\nx,1,4,4,5\n"
    Path("twins.csv").write_text(twins, encoding="utf-8")
    code, _, err = command_line("study", "outside", ONE, "--file", "twins.csv")
    assert (code != 0, "two columns" in " ".join(err.split())) == (True, True)


CREATE = ("study", "create", "s", "--options", f"{ONE},{THIRD}", "--outcome", "per_unit", "--risk-aversion", "1")


def test_the_same_history_in_another_spelling_is_not_counted_twice(command_line: Commands) -> None:
    command_line(*CREATE, "--feedback", "all")
    for name in (ONE, TWO):
        rounds = [{"weights": {name: 1.0}, "outcome": {name: 1.0, THIRD: 2.0}}]
        Path("h.json").write_text(json.dumps(rounds), encoding="utf-8")
        code, _, err = command_line("study", "outside", "s", "--file", "h.json")
        assert code == 0, err
    assert Study.open("s", "covbandit.db").summary().told == 1


def test_a_table_of_returns_and_weights_in_the_other_spelling(command_line: Commands) -> None:
    """The weights and the columns are those of one option, so its share of the total is not lost."""
    command_line(*CREATE, "--feedback", "total")
    Path("r.csv").write_text(f"date,{TWO},{THIRD}\n2026-01-01,1.0,3.0\n2026-01-02,2.0,5.0\n", encoding="utf-8")
    given = ("--weights", f"{TWO}=0.5,{THIRD}=0.5", "--kind", "returns", "--unit", "percent")
    code, out, err = command_line("study", "outside", "s", "--file", "r.csv", *given, "--json")
    assert code == 0, err
    assert [each["reward"] for each in json.loads(out)["rounds"]] == [2.0, 3.5]


# Stores of older versions ---------------------------------------------------------------------------------------------


@pytest.fixture
def older(tmp_path: Path) -> Path:
    """A store of the schema before names were compared so, in which studies and options have names of all kinds."""
    file = tmp_path / "older.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript((FIXTURES / "schema-0002.sql").read_text(encoding="utf-8"))
        for name, new in (("campaign", TWO), ("drawn", ONE), ("treatment", normalize("NFD", "Süd"))):
            connection.execute("UPDATE studies SET name = ? WHERE name = ?", (new, name))
        for table, column in (("studies", "configuration"), ("changes", "detail")):
            for b, new in ((r'"S\u00fcd"', TWO), ('"Nord"', ONE)):  # options that differ in their spelling only
                connection.execute(f"UPDATE {table} SET {column} = replace({column}, ?, ?)", (b, json.dumps(new)))
        connection.commit()
    with Store.of_any_schema(file) as store:
        store.upgrade()
    return file


def test_studies_of_older_stores_are_found_and_none_is_lost(older: Path) -> None:
    names = sorted([ONE, TWO, normalize("NFC", "Süd"), "full information", "unused"])
    assert [each.name for each in list_studies(older)] == names
    for spelling in ("NFC", "NFD"):
        with_totals = Study.open(normalize(spelling, "Süd"), older)  # type: ignore[arg-type]
        assert with_totals.feedback == "total"
        assert with_totals.verify().ok
    # Two that differ in nothing else keep their own names, and are told apart by them.
    campaign, drawn = Study.open(TWO, older), Study.open(ONE, older)
    assert (campaign.name, campaign.options) == (TWO, ("a", "b", "c"))
    assert (drawn.name, drawn.options) == (ONE, ("x", "y"))
    for study in (campaign, drawn):
        assert study.verify().ok
        study.ask()
    with calling(campaign.store, token=create_token(campaign.store, "reader", "read")) as http:
        first = http.get(f"/api/v1/studies/{TWO}")
        assert first.status_code == 200, first.text
        assert first.json()["options"] == ["a", "b", "c"]
        assert http.get(f"/api/v1/studies/{ONE}").json()["options"] == ["x", "y"]
        assert http.get(f"/api/v1/studies/{TWO}").json()["options"] == ["a", "b", "c"]
    for name in (ONE, TWO):
        with pytest.raises(Conflict):
            created(name, ["a", "b"], older)


def test_options_of_older_stores_that_differ_in_spelling_only_are_told_apart(older: Path) -> None:
    study = Study.open("full information", older)
    assert (study.options, study.retired) == ((TWO, 'Ost\'s "best"', "new"), (ONE,))
    assert study.verify().ok
    study.restore(ONE)
    asked = study.ask()
    told = study.tell(asked.id, {ONE: 1.0, TWO: 2.0, 'Ost\'s "best"': 3.0, "new": 4.0})
    assert told.outcome == {TWO: 2.0, ONE: 1.0, 'Ost\'s "best"': 3.0, "new": 4.0}
    study.retire(TWO)
    assert study.retired == (TWO,)
    assert study.verify().ok
    study.explain()
    study.fork({"class": "MCEmpirical", "risk_aversion": 1.0})
    study.close()
