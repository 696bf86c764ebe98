"""`peerlock lab`: what it serves, to which visitors, and what it refuses."""

import http.client
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner

from peerlock.cli.lab import lab as command
from peerlock.core.errors import UsageError
from peerlock.lab.serve import Lab

INDEX = '<meta name="engine" content="browser"><script src="lab.js"></script>'


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    (tmp_path / "index.html").write_text(INDEX)
    (tmp_path / "lab.js").write_text("1;")
    with Lab(0, tmp_path) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def ask(
    lab: Lab, method: str, path: str, body: bytes | None = None, host: str | None = None
) -> tuple[int, str]:
    place = urlsplit(lab.address)
    connection = http.client.HTTPConnection("127.0.0.1", lab.server_port, timeout=20)
    connection.request(method, path, body, {"Host": host or place.netloc})
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    return response.status, text


def below(lab: Lab, path: str) -> str:
    return f"/{lab.secret}/{path}"


def test_the_page_is_told_that_python_runs_behind_it(lab: Lab) -> None:
    status, text = ask(lab, "GET", below(lab, ""))
    assert (status, 'name="engine" content="native"' in text) == (200, True)
    assert ask(lab, "GET", below(lab, "lab.js?1")) == (200, "1;")


def test_the_engine_answers_and_keeps_no_state_that_matters(lab: Lab) -> None:
    request = {"do": "play", "run": {"algorithm": "lamport", "nodes": 2, "moves": ["r1"]}}
    answers = [
        ask(lab, "POST", below(lab, "engine/play"), json.dumps(request).encode())
        for _ in range(2)
    ]
    assert answers[0] == answers[1]
    assert json.loads(answers[0][1])["answer"]["told"] == ["1 requests"]


def test_only_the_printed_address_is_served(lab: Lab) -> None:
    for path in ("/", "/lab.js", "/wrong/lab.js", below(lab, "../serve.py")):
        assert ask(lab, "GET", path)[0] == 404
    assert ask(lab, "POST", "/engine/play", b"{}")[0] == 404
    assert ask(lab, "GET", below(lab, ""), host="evil.example")[0] == 404
    assert ask(lab, "POST", below(lab, "engine/other"), b"{}")[0] == 404


def test_what_is_not_a_request_is_refused(lab: Lab) -> None:
    assert ask(lab, "POST", below(lab, "engine/play"), b"{") == (400, "this is not JSON")
    connection = http.client.HTTPConnection("127.0.0.1", lab.server_port, timeout=20)
    connection.putrequest("POST", below(lab, "engine/play"))
    connection.putheader("Content-Length", "2000001")
    connection.endheaders()
    assert connection.getresponse().status == 413
    connection.close()


def test_an_edit_that_loops_ends_with_its_visitor(lab: Lab) -> None:
    run = {"algorithm": "lamport", "nodes": 2, "moves": [], "source": "while True: pass"}
    body = json.dumps({"do": "play", "run": run}).encode()
    connection = http.client.HTTPConnection("127.0.0.1", lab.server_port, timeout=20)
    host = {"Host": urlsplit(lab.address).netloc}
    connection.request("POST", below(lab, "engine/play"), body, host)
    connection.getresponse().close()  # its head comes at once
    connection.close()

    request = b'{"do": "catalogue"}'
    assert ask(lab, "POST", below(lab, "engine/play"), request)[0] == 200


def test_a_page_that_is_not_built_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="run `make lab` in the source tree"):
        Lab(0, tmp_path)


def test_a_port_that_is_taken_is_one_line(lab: Lab) -> None:
    with pytest.raises(UsageError, match="use another --port"):
        Lab(lab.server_port, lab.page)


def test_the_help_says_what_the_address_is() -> None:
    shown = CliRunner().invoke(command, ["--help"]).output
    assert "--no-open" in shown
    assert "127.0.0.1" in shown
