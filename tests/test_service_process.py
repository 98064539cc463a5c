"""The service as a process: start, refusals to start, limits on the wire, many clients at once, graceful stop."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from sqlalchemy import text

import covbandit as cb
from covbandit.cli.serve import serve
from covbandit.errors import InvalidInput, StoreSchemaError
from covbandit.service.client import Client
from covbandit.studies import Store, Study
from covbandit.studies.tokens import create_token, revoke_token
from service_calls import LEARNER, OPTIONS, OUTCOME, Process, funds, new_store


@pytest.fixture
def store(tmp_path: Path) -> Path:
    with new_store(tmp_path) as opened:
        funds(opened)
    return tmp_path / "studies.db"


def raw(url: str, text: bytes) -> bytes:
    """Send bytes as they are; return all that comes back until the other end closes, or nothing more comes."""
    where = httpx.URL(url)
    with socket.create_connection((where.host, where.port or 80), timeout=120) as line:
        line.sendall(text)
        line.shutdown(socket.SHUT_WR)
        found = b""
        while part := line.recv(65536):
            found += part
        return found


def test_start_limits_and_stop(tmp_path: Path) -> None:
    with Process(tmp_path / "new.db", "--body-limit", "1000", "--allow-host", "studies.example.org") as process:
        said = "\n".join(process.said)
        assert f"dashboard  {process.url}/" in said
        assert "new.db" in said
        assert "not needed" in said
        assert httpx.get(f"{process.url}/api/v1/health", timeout=60).json() == {"status": "ok", "store": "ok"}
        assert "server" not in httpx.get(f"{process.url}/", timeout=60).headers
        check_bodies(f"{process.url}/api/v1/studies")
        check_hosts(process.url)
        status, errors = process.stop()
    assert status == 0
    assert "stopped" in errors
    assert "GET /api/v1/health 200" in errors
    assert "Traceback" not in errors


def check_bodies(where: str) -> None:
    headers = {"Content-Type": "application/json"}
    create = json.dumps({"name": "new", "options": OPTIONS, "outcome": "per_unit", "learner": LEARNER}).encode()

    def in_parts() -> Iterator[bytes]:
        yield create
        for _ in range(100):
            yield b" " * 1_000

    assert httpx.post(where, content=create + b" " * 1_000, headers=headers, timeout=60).status_code == 413
    found = httpx.post(where, content=in_parts(), headers=headers, timeout=60)
    assert (found.status_code, found.json()["error"]) == (413, "too_large")
    assert httpx.get(where, timeout=60).json() == {"studies": []}
    assert httpx.post(where, content=create.ljust(1_000), headers=headers, timeout=60).status_code == 201


def check_hosts(url: str) -> None:
    for path in ("/", "/api/v1/health", "/api/v1/studies"):
        for name, status in (("evil.example", 400), ("studies.example.org", 200)):
            assert httpx.get(url + path, headers={"Host": name}, timeout=60).status_code == status
    for sent in (
        b"GET /api/v1/health HTTP/1.0\r\n\r\n",
        b"GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
        b"nonsense\r\n\r\n",
    ):
        assert b" 400 " in raw(url, sent).partition(b"\r\n")[0]


def test_tokens_limits_and_ctrl_c(store: Path) -> None:
    with Process(store, "--require-tokens", "--rate-limit", "0.02") as process:  # one request, the next 50 s later
        assert any("covbandit token create" in line for line in process.said)
        assert httpx.get(f"{process.url}/api/v1/studies", timeout=60).status_code == 401
        # Another address in a header is not believed: all of these count together.
        forged = [{"X-Forwarded-For": f"10.0.0.{k}", "Forwarded": f"for=10.0.0.{k}"} for k in range(3)]
        codes = [
            httpx.get(f"{process.url}/api/v1/version", headers=header, timeout=60).status_code for header in forged
        ]
        assert codes == [429, 429, 429]
        process.child.send_signal(signal.SIGINT)
        _, errors = process.child.communicate(timeout=120)
        assert (process.child.returncode, "Traceback" in errors) == (0, False)


def test_requests_in_flight_finish(store: Path) -> None:
    """Another process holds the store's only writer while the signal arrives: the tell has to wait, and is answered."""
    with Process(store) as process, Store(store) as opened:
        answers: list[httpx.Response] = []

        def tell() -> None:
            where = f"{process.url}/api/v1/studies/funds/rounds/4/tell"
            answers.append(httpx.post(where, json={"outcome": OUTCOME}, timeout=60))

        assert httpx.get(f"{process.url}/api/v1/studies/funds", timeout=60).json()["told"] == 3
        telling = threading.Thread(target=tell)
        with opened.write():
            telling.start()
            while "covbandit_requests_in_flight 2.0" not in httpx.get(f"{process.url}/api/v1/metrics", timeout=60).text:
                time.sleep(0.01)  # until the service has begun with it, besides this look at the figures
            process.child.send_signal(signal.SIGTERM)
            while takes_connections(process.url):
                time.sleep(0.01)
            assert process.child.poll() is None
        telling.join(60)
        _, errors = process.child.communicate(timeout=300)
    assert process.child.returncode == 0, errors
    assert answers[0].status_code == 200
    study = Study.open("funds", store=str(store))
    assert study.round(4).status == "told"
    assert study.verify().ok
    study.close()


def takes_connections(url: str) -> bool:
    try:
        httpx.get(f"{url}/api/v1/health", timeout=60)
    except httpx.TransportError:
        return False
    return True


def test_other_machines_need_tokens(store: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="covbandit token create LABEL --scope admin --store"):
        serve(str(store), host="0.0.0.0", port=0)
    with Store(store) as opened:
        token = create_token(opened, "desk", "admin")
    with Process(store, "--host", "0.0.0.0") as process:
        assert any(line.split()[:2] == ["tokens", "needed"] for line in process.said)
        assert any("--allow-host" in line for line in process.said)
        here = process.url
        assert here.startswith("http://127.0.0.1:")
        assert httpx.get(f"{here}/api/v1/health", headers={"Host": "0.0.0.0"}, timeout=60).status_code == 400
        assert httpx.get(f"{here}/api/v1/studies", timeout=60).status_code == 401
        with Client(here, token) as client:
            assert [study.name for study in client.studies()] == ["funds"]
        with Store(store) as opened:
            revoke_token(opened, token.split("_")[1])
        # Without any valid token the service stays closed, once it has noticed.
        deadline = time.monotonic() + 120
        while (
            httpx.get(f"{here}/api/v1/studies", headers={"Authorization": f"Bearer {token}"}, timeout=60).status_code
            != 401
        ):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert httpx.get(f"{here}/api/v1/studies", timeout=60).status_code == 401
        status, errors = process.stop()
    assert status == 0
    assert token.split("_")[2] not in errors


def test_a_port_in_use_is_one_clear_error(store: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(InvalidInput, match=rf"port {port} of 127.0.0.1: address already in use"):
            serve(str(store), port=port)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"port": 70_000}, "port must be"),
        ({"port": -1}, "port must be"),
        ({"rate_limit": -1.0}, "rate limit"),
        ({"rate_limit": float("nan")}, "rate limit"),
        ({"body_limit": 0}, "body limit"),
        ({"log_level": "loud"}, "log level"),
        ({"host": "no such host.invalid"}, "token"),
    ],
)
def test_arguments_that_cannot_be_used(store: Path, arguments: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        serve(str(store), **arguments)  # type: ignore[arg-type]


def test_hosts_that_are_not_ours_are_refused(store: Path) -> None:
    with Store(store) as opened:
        create_token(opened, "desk", "admin")
    with pytest.raises(InvalidInput, match=r"not known|cannot listen"):
        serve(str(store), host="no-such-host.invalid", port=0)


def test_stores_of_another_version_are_refused(tmp_path: Path, store: Path) -> None:
    with Store(store) as opened, opened.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(StoreSchemaError, match="newer"):
        serve(str(store), port=0)


def test_sixteen_clients_at_once(store: Path) -> None:
    """Every client asks and tells; nobody sees an error, and every round is told exactly once."""
    each = 6
    with Process(store, "--log-level", "warning") as process:
        troubles: list[BaseException] = []

        def work(k: int) -> None:
            try:
                line = http.client.HTTPConnection("127.0.0.1", httpx.URL(process.url).port, timeout=60)
                for _ in range(each):
                    asked = call(line, "/api/v1/studies/funds/ask", {"client": f"client {k}"})
                    told = call(line, f"/api/v1/studies/funds/rounds/{asked['id']}/tell", {"outcome": OUTCOME})
                    assert told["status"] == "told"
                    assert told["client"] == f"client {k}"
                line.close()
            except BaseException as error:  # reported below, in the thread of the test
                troubles.append(error)

        def call(line: http.client.HTTPConnection, path: str, body: object) -> dict[str, object]:
            line.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
            found = line.getresponse()
            text = found.read()
            assert found.status == 200, text
            return dict(json.loads(text))

        threads = [threading.Thread(target=work, args=(k,)) for k in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert troubles == []
        with Client(process.url) as client:
            study = client.open("funds")
            assert study.summary().told == 3 + 16 * each
            assert study.verify().ok
            assert study.history().told == 3 + 16 * each
            made = client.create("made", OPTIONS, cb.MCEmpirical(n_options=3, risk_aversion=2.0), "per_unit")
            made.tell(made.ask().id, OUTCOME)
            there = made.ask(key="next").weights
        status, errors = process.stop()
    assert (status, "Traceback" in errors) == (0, False)
    with Store(store) as opened:
        here = Study.create("here", OPTIONS, LEARNER, "per_unit", store=opened)
        here.tell(here.ask().id, OUTCOME)
        assert here.ask(key="next").weights == there


def test_a_client_lives_through_a_restart(store: Path) -> None:
    """The service is killed and started again on its port, while a client asks and tells."""
    with Process(store) as process:
        port = httpx.URL(process.url).port
        client = Client(process.url, retries=20)
        study = client.open("funds")
        first = study.ask(key="before")
        process.child.kill()
        process.child.wait()
        with Process(store, "--port", str(port)) as again:
            assert again.url == process.url
            assert study.ask(key="before") == first
            assert study.tell(first.id, OUTCOME).status == "told"
            assert study.verify().ok
        client.close()
