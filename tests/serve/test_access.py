"""Which clients may use which port, by the rules at the top of `serve/access.py`."""

import asyncio
import os
import socket
import ssl
import stat
from base64 import b64encode
from pathlib import Path

import pytest

from peerlock.core.errors import UsageError
from peerlock.runtime.certificates import issue, new_authority
from peerlock.runtime.tls import Files, client_context
from peerlock.serve import http
from peerlock.serve.access import Gate, Keys, Tokens, bound_to_path, tokens_in
from peerlock.serve.ports import CLIENTS, most_clients
from tests.support.http import served

TOKEN, OTHER = "0123456789abcdef", "fedcba9876543210"


@pytest.fixture
def tokens(tmp_path: Path) -> Path:
    return written(tmp_path / "tokens", f"{TOKEN}\n\n{OTHER}\n")


def written(path: Path, text: str, mode: int = 0o600) -> Path:
    path.write_text(text)
    path.chmod(mode)
    return path


def basic(token: str) -> str:
    return "Basic " + b64encode(f"user:{token}".encode()).decode()


def test_a_token_is_shown_as_bearer_or_as_password(tokens: Path) -> None:
    async def main() -> None:
        keys = Keys(tokens_in(str(tokens)))
        async with served("127.0.0.1:0", "127.0.0.1:0", keys) as there:
            for port, path in (
                ("api", "/v1/status"),
                ("web", "/"),
                ("metrics", "/metrics"),
            ):
                for shown, status in (
                    (f"Bearer {TOKEN}", 200),
                    (f"bearer {OTHER}", 200),
                    (basic(TOKEN), 200),
                    (basic("wrong"), 401),
                    (f"Bearer {TOKEN[:-1]}", 401),
                    ("Bearer ", 401),
                    ("Basic !!!", 401),
                    ("", 401),
                ):
                    async with there.client(port) as client:
                        told = await client.ask("GET", path, Authorization=shown)
                        assert told[0] == status, (port, shown)
                        assert status == 200 or await client.has_ended()
            async with there.client("metrics") as probe:
                assert (await probe.ask("GET", "/healthz"))[0] == 200
                assert (await probe.ask("GET", "/readyz"))[0] == 200

    asyncio.run(main())


def test_tokens_are_replaced_without_a_restart(tokens: Path) -> None:
    known = Tokens(tokens)
    written(tokens, "a brand new token of ours\n")
    assert known.admit(b"Bearer a brand new token of ours")
    assert not known.admit(f"Bearer {TOKEN}".encode())
    tokens.unlink()
    assert known.admit(b"Bearer a brand new token of ours")  # the last ones count
    written(tokens, "short\n")
    assert not known.admit(b"Bearer short")


@pytest.mark.parametrize(
    ("text", "mode", "words"),
    [
        ("short\n", 0o600, "16 characters or more"),
        ("\n", 0o600, "openssl rand"),
        (f"{TOKEN}\n", 0o644, "chmod 600"),
    ],
)
def test_a_token_file_must_be_of_use(
    tmp_path: Path, text: str, mode: int, words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        tokens_in(str(written(tmp_path / "t", text, mode)))
    with pytest.raises(UsageError, match="cannot read"):
        tokens_in(str(tmp_path / "none"))


@pytest.mark.parametrize(
    ("where", "needs_key", "with_token", "words"),
    [
        ("127.0.0.1:0", True, False, "needs --token-file FILE or --tls DIR"),
        ("0.0.0.0:0", False, False, "needs --token-file FILE or --tls DIR"),
        ("example.org:0", False, False, "needs --token-file FILE or --tls DIR"),
        ("0.0.0.0:0", True, True, "in clear text"),
        ("10.0.0.1:0", False, True, "in clear text"),
        ("nowhere:x", True, True, "invalid address"),
    ],
)
def test_a_port_is_not_opened_to_everybody(
    tokens: Path, where: str, needs_key: bool, with_token: bool, words: str
) -> None:
    keys = Keys(tokens_in(str(tokens)) if with_token else None)
    with pytest.raises(UsageError, match=words):
        Gate(where, keys, needs_key)


def test_the_metrics_may_be_open_to_other_machines_but_not_with_a_token_in_clear(
    tokens: Path,
) -> None:
    Gate("0.0.0.0:0", Keys(), False, open_elsewhere=True)
    with pytest.raises(UsageError, match="in clear text"):
        Gate("0.0.0.0:0", Keys(tokens_in(str(tokens))), False, open_elsewhere=True)


def test_on_loopback_a_web_site_cannot_read_the_live_page() -> None:
    async def main() -> None:
        async with served(web="127.0.0.1:0") as there, there.client("web") as client:
            for host, status in (
                ("127.0.0.1:1234", 200),
                ("localhost", 200),
                ("[::1]:80", 200),
            ):
                assert (await client.ask("GET", "/", Host=host))[0] == status
            assert (await client.ask("GET", "/", Host="evil.example:80"))[0] == 403

    asyncio.run(main())


# Unix sockets


def test_the_sockets_permissions_are_as_asked_for(tmp_path: Path) -> None:
    async def main(mode: int) -> None:
        where = tmp_path / "s"
        async with served(f"unix:{where}", keys=Keys(socket_mode=mode)):
            assert stat.S_IMODE(where.stat().st_mode) == mode
        assert not where.exists()

    before = os.umask(0o022)
    try:
        asyncio.run(main(0o600))
        asyncio.run(main(0o660))
    finally:
        os.umask(before)


def test_a_socket_is_never_open_to_others_for_a_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes = []
    monkeypatch.setattr(
        "peerlock.serve.access.os.chmod",
        lambda path, mode: modes.append(stat.S_IMODE(os.stat(path).st_mode)),
    )
    before = os.umask(0)
    try:
        bound_to_path(str(tmp_path / "s"), 0o660).close()
    finally:
        os.umask(before)
    assert modes == [0o600]


def test_a_socket_that_was_left_behind_is_replaced_and_one_in_use_is_not(
    tmp_path: Path,
) -> None:
    where = f"unix:{tmp_path}/s"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(f"{tmp_path}/s")

    async def main() -> None:
        async with served(where):
            with pytest.raises(UsageError, match="Address already in use"):
                async with served(where):
                    pass

    asyncio.run(main())
    (tmp_path / "s").write_text("a file")
    with pytest.raises(UsageError, match="Address already in use"):
        asyncio.run(main())
    with pytest.raises(UsageError, match=r"cannot listen at unix:.*path too long"):
        asyncio.run(Gate(f"unix:/{'x' * 200}", Keys(), True).listen())


# Certificates


@pytest.fixture
def certificates(tmp_path: Path) -> Path:
    folder = tmp_path / "certs"
    new_authority(folder)
    for name in ("127.0.0.1", "client"):
        issue(folder, name)
    return folder


def without_certificate(folder: Path) -> ssl.SSLContext:
    made = ssl.create_default_context(cafile=folder / "ca.pem")
    made.check_hostname = False
    return made


def test_over_tls_a_certificate_or_a_token_is_shown(
    certificates: Path, tokens: Path
) -> None:
    async def main(keys: Keys, token_counts: bool) -> None:
        mine = client_context(Files.of_host(certificates, "client"), check_hostname=False)
        async with served("127.0.0.1:0", keys=keys) as there:
            async with there.client("api", mine) as client:
                assert (await client.ask("GET", "/v1/status"))[0] == 200
            anonymous = without_certificate(certificates)
            async with there.client("api", anonymous) as client:
                assert (await client.ask("GET", "/healthz"))[0] == 200
                client.headers = {"Authorization": f"Bearer {TOKEN}"}
                status, _ = await client.ask("GET", "/v1/status")
                assert status == (200 if token_counts else 401)
            async with there.client("api") as plain:  # without TLS
                plain.send("GET", "/healthz")
                assert (await plain.reader.read(5))[:5] != b"HTTP/"

    asyncio.run(main(Keys(None, str(certificates)), False))
    asyncio.run(main(Keys(tokens_in(str(tokens)), str(certificates)), True))


def test_over_tls_a_client_that_reads_stays(
    certificates: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An idle connection, a stream, and one on which many requests come at once."""
    monkeypatch.setattr(http, "TICK", 0.01)

    async def main() -> None:
        mine = client_context(Files.of_host(certificates, "client"), check_hostname=False)
        async with (
            served("127.0.0.1:0", keys=Keys(None, str(certificates))) as there,
            there.client("api", mine) as idle,
            there.client("api", mine) as stream,
        ):
            stream.send("POST", "/v1/sessions", Accept="text/event-stream")
            await stream.head()
            session = f"/v1/sessions/{(await stream.event())[1]['session']}"
            assert (await idle.ask("GET", "/v1/openapi.json"))[0] == 200
            monkeypatch.setattr(http, "PATIENCE", 0.1)
            for _ in range(3):
                assert (await idle.ask("PUT", f"{session}/locks/x"))[0] == 200
                assert (await stream.event())[0] == "held"
                await asyncio.sleep(0.2)
                assert (await idle.ask("DELETE", f"{session}/locks/x"))[0] == 200
            monkeypatch.setattr(http, "PATIENCE", 5.0)
            for _ in range(100):
                idle.send("GET", "/v1/openapi.json")
            for _ in range(100):
                assert (await idle.answer())[0] == 200

    asyncio.run(main())


def test_handshakes_count_as_strangers(certificates: Path) -> None:
    async def main() -> None:
        async with served("127.0.0.1:0", keys=Keys(None, str(certificates))) as there:
            flood = [await there.client().__aenter__() for _ in range(40)]
            for silent in flood[:20]:
                assert await silent.has_ended()
            mine = client_context(Files.of_host(certificates, "client"), False)
            async with there.client("api", mine) as client:
                assert (await client.ask("GET", "/v1/status"))[0] == 200
            for silent in flood:
                await silent.__aexit__()

    asyncio.run(main())


def test_half_of_the_descriptors_are_left_to_the_locks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda _: (100, 100))
    assert most_clients() == 50
    monkeypatch.setattr("resource.getrlimit", lambda _: (10**6, 10**6))
    assert most_clients() == CLIENTS


def test_certificates_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no directory"):
        Gate("127.0.0.1:0", Keys(None, str(tmp_path / "none")), True)
