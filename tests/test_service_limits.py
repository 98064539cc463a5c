"""What a connection may cost before there is a request: bytes, seconds, connections. All against a real process."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from covbandit.service.server import connections, requests
from covbandit.service.server.connections import HEAD_BYTES, MOST_HEADERS, ThrottledLog
from covbandit.service.server.requests import READ_AT_ONCE
from service_calls import LEARNER, OUTCOME, Process, calling, funds, long_study, new_store

MIB = 1 << 20
QUIET = ("--log-level", "warning")
FEW_FILES = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))"
IMPATIENT = """
from covbandit.service.server import connections
connections.HEAD_SECONDS = connections.BODY_SECONDS = 2.0
connections.BODY_BYTES_A_SECOND = 1e9
"""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    with new_store(tmp_path) as opened:
        funds(opened)
    return tmp_path / "studies.db"


@contextmanager
def connected(process: Process, buffer: int | None = None) -> Iterator[socket.socket]:
    """Connect; with a small buffer, the system takes little that is not read."""
    where = httpx.URL(process.url)
    with socket.socket() as line:
        if buffer is not None:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        line.settimeout(60)
        line.connect((where.host, where.port))
        yield line


def received(line: socket.socket) -> bytes:
    """Return all that comes until the other end closes."""
    found = b""
    with suppress(ConnectionError):
        while part := line.recv(65536):
            found += part
    return found


def one_answer(line: socket.socket) -> bytes:
    """Return one whole answer; the connection may stay open."""
    found = b""
    while b"\r\n\r\n" not in found:
        found += line.recv(65536)
    (size,) = re.findall(rb"content-length: (\d+)", found.lower())
    while len(found.partition(b"\r\n\r\n")[2]) < int(size):
        found += line.recv(65536)
    return found


def status(answer: bytes) -> int:
    return int(answer.split(None, 2)[1])


def body(answer: bytes) -> dict[str, str]:
    return dict(json.loads(answer.partition(b"\r\n\r\n")[2]))


def is_well(process: Process) -> bool:
    found = httpx.get(f"{process.url}/api/v1/health", timeout=60)
    return (found.status_code, found.json()["status"]) == (200, "ok")


def peak_memory(process: Process) -> int:
    """Return the most bytes that the process has had in memory."""
    text = Path(f"/proc/{process.child.pid}/status").read_text(encoding="utf-8")
    return 1024 * int(re.findall(r"VmHWM:\s+(\d+) kB", text)[0])


# Large bodies ---------------------------------------------------------------------------------------------------------


def repeated_key(size: int) -> bytes:
    """Return a body of about so many bytes with a key that is given twice, at its end."""
    keys = [f'"{k:x}":0' for k in range(size // 9)]
    return ("{" + ",".join([*keys, keys[-1]]) + "}").encode()


def test_others_are_answered_while_a_large_body_is_read(store: Path) -> None:
    sent = repeated_key(MIB - 100_000)
    assert 9 * MIB // 10 - 100_000 < len(sent) <= MIB
    answers: list[httpx.Response] = []

    def post() -> None:
        where, headers = f"{process.url}/api/v1/studies/funds/ask", {"Content-Type": "application/json"}
        answers.append(httpx.post(where, content=sent, headers=headers, timeout=300))

    with Process(store, *QUIET) as process:
        assert is_well(process)
        sending = threading.Thread(target=post)
        sending.start()
        looks = 0
        while sending.is_alive() or not looks:
            assert httpx.get(f"{process.url}/api/v1/health", timeout=60).status_code == 200
            looks += 1
        sending.join()
    assert answers[0].status_code == 400
    assert "twice" in answers[0].json()["message"]


def test_large_bodies_are_read_beside_the_event_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[tuple[int, str]] = []
    parse = requests.parse_json

    def noted(text: bytes) -> object:
        threads.append((len(text), threading.current_thread().name))
        return parse(text)

    monkeypatch.setattr(requests, "parse_json", noted)
    with new_store(tmp_path) as opened, calling(opened) as http:
        funds(opened)
        for size in (1_000, READ_AT_ONCE, READ_AT_ONCE + 1, 500_000):
            content = b'{"key": "x"}'.ljust(size)
            headers = {"Content-Type": "application/json"}
            found = http.post("/api/v1/studies/funds/ask", content=content, headers=headers)
            assert found.status_code == 200
    here = threading.current_thread().name
    assert [(size > READ_AT_ONCE) == (name != here) for size, name in threads] == [True] * 4


# Headers --------------------------------------------------------------------------------------------------------------

GET = b"GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\n"
LAST = GET + b"Connection: close\r\n"
POST = b"POST /api/v1/studies/funds/ask HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
ENDLESS = {
    "small headers": (GET, b"a: b\r\n", 431),
    "one header": (GET + b"X: ", b"x", 431),
    "one name": (GET + b"X", b"x", 431),
    "address": (b"GET /", b"x", 414),
    "empty lines": (b"", b"\r\n", 414),
    "trailers": (POST + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n", b"a: b\r\n", 431),
    "extension": (POST + b"Transfer-Encoding: chunked\r\n\r\n2;", b"x", 431),
}


def test_what_never_ends_is_refused_early(store: Path) -> None:
    """Of each kind 32 MiB are offered; little of it is taken, and memory stays what it was."""
    with Process(store, *QUIET) as process:
        assert is_well(process)
        before = peak_memory(process)
        for kind, (begin, again, expected) in ENDLESS.items():
            part = again * (MIB // len(again))
            with connected(process) as line:
                line.sendall(begin)
                with suppress(ConnectionError):
                    for _ in range(32):
                        line.sendall(part)
                answer = received(line)
            if answer:  # unless the system threw it away, because there was more to read
                assert status(answer) == expected, (kind, answer)
                assert body(answer)["error"] == "too_large"
            assert is_well(process), kind
            assert peak_memory(process) < before + 30 * MIB, kind
        page = httpx.get(f"{process.url}/api/v1/metrics", timeout=60).text
        refused = sum(float(n) for n in re.findall(r"^covbandit_refused_connections_total.* (\S+)$", page, re.M))
        assert refused == len(ENDLESS)
        _, errors = process.stop()
    assert errors.count("127.0.0.1 refused: ") == len(ENDLESS)
    assert "Traceback" not in errors


def test_the_limit_of_headers_is_exact(store: Path) -> None:
    with Process(store, *QUIET) as process:
        for extra, expected in ((0, 200), (1, 431)):
            filled = LAST + b"X: " + b"x" * (HEAD_BYTES - len(LAST) - 7 + extra) + b"\r\n\r\n"
            assert len(filled) == HEAD_BYTES + extra
            for parts in ([filled], [filled[:10], filled[10:40_000], filled[40_000:]]):
                with connected(process) as line:
                    for part in parts:
                        line.sendall(part)
                    answer = received(line)
                assert status(answer) == expected
        answer_headers = answer.partition(b"\r\n\r\n")[0].lower()
        assert b"connection: close" in answer_headers
        assert b"content-security-policy" in answer_headers
        for extra, expected in ((-2, 200), (-1, 431)):
            with connected(process) as line:
                line.sendall(LAST + b"a:b\r\n" * (MOST_HEADERS + extra) + b"\r\n")
                assert status(received(line)) == expected


def test_requests_may_be_sent_ahead(store: Path) -> None:
    """Bodies and requests that follow each other at once are told apart; the limit is for each head alone."""
    told = json.dumps({"outcome": OUTCOME}).encode().ljust(200_000)
    tell = b"POST /api/v1/studies/funds/rounds/4/tell HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    post = tell + f"Content-Length: {len(told)}\r\n\r\n".encode() + told
    get = GET + b"X: " + b"x" * 50_000 + b"\r\n\r\n"
    with Process(store, *QUIET) as process:
        with connected(process) as line:
            line.sendall(post + get + post + get * 5 + LAST + b"\r\n")
            answer = received(line)
        assert answer.count(b"HTTP/1.1 200 OK") == 9
        # So many that nobody would wait for the answers: the connection ends, and nobody else notices.
        with connected(process) as line:
            line.sendall((GET + b"\r\n") * 5_000)
            assert received(line).count(b"HTTP/1.1 200 OK") < 5_000
        assert is_well(process)
        _, errors = process.stop()
    assert "sent ahead" in errors
    assert "Traceback" not in errors


def test_what_is_not_http_is_refused_in_the_shape_of_all_errors(store: Path) -> None:
    with Process(store, *QUIET) as process:
        for sent in (b"nonsense\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc", b"GET / HTTP/9.9\r\n\r\n"):
            with connected(process) as line:
                line.sendall(sent)
                answer = received(line)
            assert (status(answer), body(answer)["error"]) == (400, "bad_request")
        # An upgrade that nobody here speaks is served as what it also is.
        with connected(process) as line:
            line.sendall(GET + b"Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n")
            assert status(one_answer(line)) == 200
        assert is_well(process)


# Seconds --------------------------------------------------------------------------------------------------------------


def test_whoever_is_slow_is_refused_and_whoever_is_idle_is_not(store: Path) -> None:
    with Process(store, *QUIET, preparing=IMPATIENT) as process:
        with connected(process) as line:
            line.sendall(GET)
            answer = received(line)
            assert (status(answer), body(answer)["error"]) == (408, "too_slow")
        with connected(process) as line:
            line.sendall(POST + b"Content-Length: 10\r\n\r\n{")
            answer = received(line)
            assert (status(answer), body(answer)["error"]) == (408, "too_slow")
        with connected(process) as line:  # nothing was asked, so nothing is answered
            assert received(line) == b""
        with connected(process) as line:  # nor if the lines are empty
            line.sendall(GET + b"\r\n")
            assert status(one_answer(line)) == 200
            line.sendall(b"\r\n")
            assert b"200" not in received(line)
        with connected(process) as line:  # between requests there is more time
            for _ in range(2):
                line.sendall(GET + b"\r\n")
                assert status(one_answer(line)) == 200
                time.sleep(3.0)  # longer than the head of a request may take
            line.sendall(GET)
            line.sendall(b"\r\n")
            assert status(one_answer(line)) == 200
        assert is_well(process)
        _, errors = process.stop()
    assert errors.count(" refused: ") >= 2
    assert "Traceback" not in errors


def test_a_body_that_comes_steadily_has_time(store: Path) -> None:
    steady = IMPATIENT.replace("1e9", "1")
    content = json.dumps({"key": "steady"}).encode()
    with Process(store, *QUIET, preparing=steady) as process, connected(process) as line:
        line.sendall(POST + f"Content-Length: {len(content)}\r\nConnection: close\r\n\r\n".encode())
        for k in range(0, len(content), 4):
            line.sendall(content[k : k + 4])
            time.sleep(0.75)
        assert status(received(line)) == 200


def test_the_rest_of_a_body_is_not_awaited_for_ever(store: Path) -> None:
    """The answer is there before the body: the connection ends soon after, however fast the rest keeps coming."""
    hurried = "from covbandit.service.server import connections; connections._DRAIN_SECONDS = 0.5"
    with Process(store, *QUIET, "--require-tokens", preparing=hurried) as process, connected(process) as line:
        line.sendall(POST + b"Transfer-Encoding: chunked\r\n\r\n")
        assert status(one_answer(line)) == 401
        with pytest.raises(ConnectionError):
            send_for_ever(line, b"1\r\nx\r\n")


def send_for_ever(line: socket.socket, part: bytes) -> None:
    while True:
        line.sendall(part)
        time.sleep(0.05)


def test_an_answer_that_nobody_takes_is_given_up(tmp_path: Path) -> None:
    """Whoever reads gets all of a long answer, however slowly; whoever does not read loses the connection."""
    with new_store(tmp_path) as opened:
        long_study(opened, 12_000)
    hurried = "from covbandit.service.server import connections; connections.KEEP_ALIVE_SECONDS = 2.0"
    sent = b"GET /api/v1/studies/long/export?format=json HTTP/1.1\r\nHost: localhost\r\n"
    with Process(tmp_path / "studies.db", *QUIET, preparing=hurried) as process:
        for end in (b"\r\n", b"Connection: close\r\n\r\n"):
            for reads in (True, False):
                with connected(process, buffer=65_536) as line:
                    line.sendall(sent + end)
                    found = line.recv(2_000)
                    if reads:
                        for _ in range(80):
                            found += line.recv(65_536)
                            time.sleep(0.05)
                    else:
                        time.sleep(12)
                    found += received(line)
                head, _, content = found.partition(b"\r\n\r\n")
                (size,) = re.findall(rb"content-length: (\d+)", head.lower())
                assert (len(content) == int(size)) == reads
        assert is_well(process)


# Connections ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "begin",
    [b"", GET, POST + b"Content-Length: 10\r\n\r\n{", GET + b"\r\n"],
    ids=["nothing", "half a head", "half a body", "idle"],
)
def test_many_connections_keep_nobody_out(store: Path, begin: bytes) -> None:
    """More connections than the process may open files, none of which ends; then others come, and are served."""
    with Process(store, *QUIET, preparing=FEW_FILES) as process, ExitStack() as open_until_the_end:
        for _ in range(400):
            line = open_until_the_end.enter_context(connected(process))
            with suppress(ConnectionError):  # it had to give way at once
                line.sendall(begin)
        for k in range(5):
            assert is_well(process)
            asked = httpx.post(f"{process.url}/api/v1/studies/funds/ask", json={"key": f"{k}"}, timeout=60)
            assert asked.status_code == 200
            made = {"name": f"new {k}", "options": ["a", "b"], "outcome": "per_unit", "learner": LEARNER}
            assert httpx.post(f"{process.url}/api/v1/studies", json=made, timeout=60).status_code == 201
        _, errors = process.stop()
    lines = errors.count(" refused: ")
    assert (0 < lines < 100) if begin.count(b"\r\n") > 1 and begin != GET + b"\r\n" else lines == 0
    assert "Traceback" not in errors


def test_connections_are_counted_by_the_files_that_may_be_open() -> None:
    code = """
import resource, sys
soft, hard = map(int, sys.argv[1:])
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
from covbandit.service.server.connections import most_connections
print(most_connections(), resource.getrlimit(resource.RLIMIT_NOFILE)[0])
"""

    def counted(soft: int, hard: int) -> list[int]:
        command = [sys.executable, "-c", code, str(soft), str(hard)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
        return [int(each) for each in done.stdout.split()]

    assert counted(300, 1_000) == [1_000 - 96 - connections.QUEUE, 1_000]
    assert counted(128, 128) == [32, 128]


def test_a_flood_of_refusals_does_not_flood_the_log(caplog: pytest.LogCaptureFixture) -> None:
    now = 0.0
    lines = ThrottledLog(most=3, clock=lambda: now)
    for k in range(100):
        lines.say(f"line {k}")
    assert [record.getMessage() for record in caplog.records] == ["line 0", "line 1", "line 2"]
    now = 1.0
    lines.say("later")
    assert caplog.records[-1].getMessage() == "later (and 97 more before)"
    now = 100.0
    for k in range(100):
        lines.say(f"again {k}")
    assert len(caplog.records) == 4 + 3
