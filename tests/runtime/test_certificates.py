"""Certificates, as files and as what lets members in: over real TLS connections."""

import asyncio
import json
import os
import ssl
import stat
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from peerlock.cli.main import main
from peerlock.core.errors import UsageError
from peerlock.membership.engine import ClusterError
from peerlock.runtime import certificates
from peerlock.runtime.certificates import (
    alternative,
    issue,
    key_usage,
    new_authority,
    read_authority,
    renew_authority,
    retire_authorities,
    show,
)
from peerlock.runtime.questions import words
from peerlock.runtime.tls import Files, Mutual, client_context, server_context
from tests.support.listening import Listener
from tests.support.loops import on_each_loop

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
NAME = "db1.example"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """An authority and two hosts of it, which can be dialled on loopback."""
    directory = tmp_path / "certs"
    new_authority(directory)
    for host in ("db1", "db2"):
        issue(directory, host, ["127.0.0.1", f"{host}.example"])
    return directory


def files(directory: Path, host: str) -> Files:
    return Files.of_host(directory, host)


class Greeter(Listener):
    """It greets everybody who gets in, and sends back what they say."""

    def __init__(self, context: ssl.SSLContext) -> None:
        super().__init__(self._greet, context)
        self.context = context
        self.let_in = 0

    async def _greet(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.let_in += 1
        writer.write(b"welcome\n")
        while said := await reader.readline():
            writer.write(said)


@asynccontextmanager
async def dialled(
    listener: Greeter, context: ssl.SSLContext | None, name: str = NAME
) -> AsyncIterator[Streams]:
    reader, writer = await asyncio.open_connection(
        "127.0.0.1",
        listener.port,
        ssl=context,
        server_hostname=name if context else None,
    )
    try:
        yield reader, writer
    finally:
        writer.transport.abort()
        await asyncio.sleep(0)


async def greeting(
    listener: Greeter, context: ssl.SSLContext | None, name: str = NAME
) -> bytes:
    """What the listener tells us, if anything."""
    try:
        async with dialled(listener, context, name) as (reader, writer):
            if context is None:
                writer.write(b"not even a handshake\n")
            return await reader.read(100)
    except OSError:  # which TLS errors are
        return b""


async def serial_of(listener: Greeter, context: ssl.SSLContext) -> str:
    """Of the certificate that the listener shows."""
    async with dialled(listener, context) as (reader, writer):
        assert await reader.readline() == b"welcome\n"
        return str(writer.get_extra_info("peercert")["serialNumber"])


def nobody_with(ca: Path) -> ssl.SSLContext:
    """A client that trusts the cluster, and has no certificate."""
    return ssl.create_default_context(cafile=ca)


class LongAgo(datetime):
    @classmethod
    def now(cls, tz: tzinfo | None = None) -> "LongAgo":
        past = datetime.now(tz) - timedelta(days=100)
        return cls.fromtimestamp(past.timestamp(), tz)


# Which clients are admitted


@on_each_loop
async def test_members_know_each_other(place: Path) -> None:
    async with Greeter(server_context(files(place, "db1"))) as listener:
        dialler = client_context(files(place, "db2"))
        for name in ("db1", "db1.example", "127.0.0.1"):
            assert await greeting(listener, dialler, name) == b"welcome\n"
        async with dialled(listener, dialler) as (_, writer):
            assert writer.get_extra_info("ssl_object").version() == "TLSv1.3"


@on_each_loop
async def test_who_shows_no_certificate_gets_nothing(place: Path) -> None:
    async with Greeter(server_context(files(place, "db1"))) as listener:
        assert await greeting(listener, nobody_with(place / "ca.pem")) == b""
        assert await greeting(listener, None) == b""
        assert listener.let_in == 0


@on_each_loop
async def test_who_comes_from_another_authority_gets_nothing(
    place: Path, tmp_path: Path
) -> None:
    foreign = tmp_path / "foreign"
    new_authority(foreign)
    issue(foreign, "db2")
    stranger = Files(place / "ca.pem", foreign / "db2.pem", foreign / "db2.key")
    async with Greeter(server_context(files(place, "db1"))) as listener:
        assert await greeting(listener, client_context(stranger)) == b""
        assert listener.let_in == 0


@on_each_loop
async def test_a_certificate_that_has_expired_is_worth_nothing(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(certificates, "datetime", LongAgo)
    issue(place, "old", [NAME], days=99)
    monkeypatch.undo()
    async with Greeter(server_context(files(place, "db1"))) as listener:
        assert await greeting(listener, client_context(files(place, "old"))) == b""
        assert listener.let_in == 0
    async with Greeter(server_context(files(place, "old"))) as listener:
        with pytest.raises(ssl.SSLCertVerificationError, match="expired"):
            async with dialled(listener, client_context(files(place, "db1"))):
                pass
        assert listener.let_in == 0


@on_each_loop
async def test_who_dials_a_host_talks_to_that_host(place: Path) -> None:
    async with Greeter(server_context(files(place, "db1"))) as listener:
        dialler = client_context(files(place, "db2"))
        for wrong in ("db2", "example", "127.0.0.2"):
            with pytest.raises(ssl.SSLCertVerificationError, match=r"mismatch|not valid"):
                async with dialled(listener, dialler, wrong):
                    pass
        without = client_context(files(place, "db2"), check_hostname=False)
        assert await greeting(listener, without, "db2") == b"welcome\n"


@on_each_loop
async def test_nothing_older_than_tls_1_3_is_spoken(place: Path) -> None:
    old = nobody_with(place / "ca.pem")
    old.load_cert_chain(place / "db2.pem", place / "db2.key")
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    async with Greeter(server_context(files(place, "db1"))) as listener:
        assert await greeting(listener, old) == b""
        assert listener.let_in == 0


@on_each_loop
async def test_an_authoritys_own_certificate_is_no_hosts(place: Path) -> None:
    authority = Files(place / "ca.pem", place / "ca.pem", place / "ca.key")
    async with Greeter(server_context(authority)) as listener:
        with pytest.raises(ssl.SSLCertVerificationError):
            async with dialled(listener, client_context(files(place, "db2"))):
                pass


# Certificates of every wrong kind


@dataclass
class Kind:
    """A certificate that is wrong in one way, and what becomes of it."""

    what: str
    own: str  # what its owner is told when it starts
    client: bool = False  # whether a member lets a process in that shows it
    server: str = "certificate is not trusted"  # what a member that dials it says
    names: tuple[str, ...] = (NAME, "127.0.0.1")
    since: timedelta = -timedelta(days=5)
    until: timedelta = timedelta(days=9)
    uses: tuple[str, ...] = ("SERVER_AUTH", "CLIENT_AUTH")
    signs: bool = False  # instead of being for signatures of a handshake
    issuer: str = "ours"

    def __str__(self) -> str:
        return self.what


KINDS = [
    Kind("expired", "expired", until=-timedelta(minutes=1)),
    Kind("not yet valid", "not yet valid", since=timedelta(days=1)),
    Kind("of another authority", "unable to get local issuer", issuer="another"),
    Kind("self-signed", "self-signed certificate", issuer="itself"),
    Kind("for signing only", "unsuitable certificate purpose", signs=True),
    Kind("for clients only", "unsuitable certificate purpose", True, uses=("CLIENT_AUTH",)),
    Kind("for servers only", "unsuitable certificate purpose", uses=("SERVER_AUTH",)),
    Kind(
        "for another name", "not valid for '127.0.0.1'", True, names=("elsewhere.example",)
    ),
]
KINDS[6].server = "welcome"  # its owner could be dialled, and would not get in itself


def make(place: Path, kind: Kind) -> Files:
    """In files of its own."""
    home = place / "wrong"
    home.mkdir(exist_ok=True)
    key = ec.generate_private_key(ec.SECP256R1())
    if kind.issuer == "another":
        new_authority(home / "another")
    if kind.issuer == "itself":
        issuer, signing = certificates.named("wrong"), key
    else:
        found, signing = read_authority(
            place if kind.issuer == "ours" else home / "another"
        )
        issuer = found.subject
    now = datetime.now(UTC)
    uses = [getattr(ExtendedKeyUsageOID, use) for use in kind.uses]
    usage = key_usage(digital_signature=not kind.signs, key_cert_sign=kind.signs)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(certificates.named("wrong"))
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + kind.since)
        .not_valid_after(now + kind.until)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.ExtendedKeyUsage(uses), critical=False)
        .add_extension(
            x509.SubjectAlternativeName([alternative(name) for name in kind.names]),
            critical=False,
        )
        .sign(signing, hashes.SHA256())
    )
    (home / "host.pem").write_bytes(certificates.pem([certificate]))
    (home / "host.key").write_bytes(certificates.private(key))
    return Files(place / "ca.pem", home / "host.pem", home / "host.key")


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_the_owner_of_a_wrong_certificate_is_told_before_it_joins(
    place: Path, kind: Kind
) -> None:
    text = f"others will not trust .*: .*{kind.own}"
    with pytest.raises(ClusterError, match=text) as told:
        Mutual(make(place, kind)).must_be_fit_for("127.0.0.1")
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@on_each_loop
async def test_a_wrong_certificate_opens_no_door(place: Path, kind: Kind) -> None:
    """A member shakes hands with nobody who shows it, and goes on with the others."""
    wrong = make(place, kind)
    async with Greeter(server_context(files(place, "db1"))) as listener:
        heard = await greeting(listener, client_context(wrong))
        assert heard == (b"welcome\n" if kind.client else b"")
        assert listener.let_in == kind.client
        assert await greeting(listener, client_context(files(place, "db2"))) == b"welcome\n"


@pytest.mark.parametrize("kind", KINDS, ids=str)
@on_each_loop
async def test_whoever_dials_a_wrong_certificate_says_what_is_wrong(
    place: Path, kind: Kind
) -> None:
    dialler = client_context(files(place, "db2"))
    async with Greeter(server_context(make(place, kind))) as listener:
        try:
            async with dialled(listener, dialler, "127.0.0.1") as (reader, _):
                said = (await reader.readline()).decode().strip()
        except ssl.SSLError as error:
            said = words(error)
        assert kind.server in said


@pytest.mark.parametrize(
    ("harm", "text"),
    [
        ("truncated", "cannot use .*host.pem"),
        ("empty", "cannot use .*host.pem"),
        ("not text", "cannot use .*host.pem"),
        ("another key", "together: .*mismatch"),
        ("truncated key", "cannot use .*host.key"),
        ("no authority", "cannot use .*ca.pem"),
    ],
)
def test_files_that_are_no_certificates_are_named(
    place: Path, harm: str, text: str
) -> None:
    made = make(place, replace(KINDS[0], until=timedelta(days=9)))
    whole, key = made.certificate.read_bytes(), made.key.read_bytes()
    another = (place / "db1.key").read_bytes()
    harms: dict[str, tuple[Path, bytes]] = {
        "truncated": (made.certificate, whole[: len(whole) // 2]),
        "empty": (made.certificate, b""),
        "not text": (made.certificate, bytes(range(256))),
        "another key": (made.key, another),
        "truncated key": (made.key, key[: len(key) // 2]),
        "no authority": (made.ca, b"nothing of the kind"),
    }
    path, data = harms[harm]
    path.write_bytes(data)
    with pytest.raises(ClusterError, match=text) as told:
        Mutual(made).must_be_fit_for("127.0.0.1")
    assert "\n" not in str(told.value)


# Rotation


@on_each_loop
async def test_a_new_certificate_is_used_without_a_restart(place: Path) -> None:
    dialler = client_context(files(place, "db2"))
    async with Greeter(server_context(files(place, "db1"))) as listener:
        before = await serial_of(listener, dialler)
        async with dialled(listener, dialler) as (reader, writer):
            assert await reader.readline() == b"welcome\n"
            issue(place, "db1", [NAME], force=True)
            issue(place, "db2", force=True)
            after = await serial_of(listener, dialler)
            assert after != before
            writer.write(b"still here\n")
            assert await reader.readline() == b"still here\n"


@on_each_loop
async def test_files_that_do_not_fit_are_not_used_before_they_do(place: Path) -> None:
    one, other = place / "db1.pem", place / "db1.key"
    dialler = client_context(files(place, "db2"))
    async with Greeter(server_context(files(place, "db1"))) as listener:
        before = await serial_of(listener, dialler)
        certificate = one.read_bytes()
        issue(place, "db1", [NAME], force=True)
        newer = one.read_bytes()
        one.write_bytes(certificate)  # as if only the key had been copied so far
        assert await serial_of(listener, dialler) == before
        other.rename(place / "away")
        assert await serial_of(listener, dialler) == before
        (place / "away").rename(other)
        one.write_bytes(newer)
        assert await serial_of(listener, dialler) != before


@on_each_loop
async def test_the_authority_is_replaced_without_downtime(place: Path) -> None:
    old = place.parent / "old"
    old.mkdir()
    for name in ("db2.pem", "db2.key"):
        (old / name).write_bytes((place / name).read_bytes())
    dialler = client_context(files(place, "db2"))
    outdated = client_context(Files(place / "ca.pem", old / "db2.pem", old / "db2.key"))
    async with Greeter(server_context(files(place, "db1"))) as listener:
        renew_authority(place)
        assert len(show(place / "ca.pem")) == 2
        assert await greeting(listener, dialler) == b"welcome\n"
        issue(place, "db2", force=True)  # the dialler has a new one, the listener not yet
        assert await greeting(listener, dialler) == b"welcome\n"
        issue(place, "db1", [NAME], force=True)
        assert await greeting(listener, dialler) == b"welcome\n"
        assert await greeting(listener, outdated) == b"welcome\n"
        retire_authorities(place)
        assert await greeting(listener, dialler) == b"welcome\n"
        assert await greeting(listener, outdated) == b""
        assert listener.let_in == 5


# Files


def test_keys_are_nobody_elses(place: Path) -> None:
    for path in place.glob("*.key"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    assert stat.S_IMODE(place.stat().st_mode) == 0o700


def test_nothing_is_overwritten_unless_one_says_so(place: Path) -> None:
    before = {path: path.read_bytes() for path in place.iterdir()}
    with pytest.raises(UsageError, match=r"ca\.pem exists; --force replaces it"):
        new_authority(place)
    with pytest.raises(UsageError, match=r"db1\.pem exists; --force replaces it"):
        issue(place, "db1")
    assert {path: path.read_bytes() for path in place.iterdir()} == before
    new_authority(place, force=True)
    issue(place, "db1", force=True)
    changed = {path for path, data in before.items() if path.read_bytes() != data}
    assert {path.name for path in changed} == {"ca.pem", "ca.key", "db1.pem", "db1.key"}


def test_a_certificate_says_whose_it_is_and_for_how_long(place: Path) -> None:
    issue(place, "10.0.0.7", ["::1", "db7"], days=30)
    [authority] = show(place / "ca.pem")
    [host] = show(place / "10.0.0.7.pem")
    assert (authority.kind, host.kind) == ("authority", "host")
    assert host.issuer == authority.name == authority.issuer
    assert host.addresses == ("10.0.0.7", "::1", "db7")
    lifetimes = [(shown.until - shown.since).days for shown in (authority, host)]
    assert lifetimes == [3650, 30]
    assert not host.expired(host.until - timedelta(seconds=1))
    assert host.expired(host.until)


@pytest.mark.parametrize("purpose", ["server", "client"])
def test_the_strictest_reading_of_the_standard_takes_them(
    place: Path, purpose: str
) -> None:
    """In memory: both sides refuse whatever RFC 5280 does not allow."""
    server, client = (
        server_context(files(place, "db1")),
        client_context(files(place, "db2")),
    )
    for context in (server, client):
        inner = context._inner
        inner.verify_flags |= ssl.VERIFY_X509_STRICT
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(to_client, to_server, server_hostname="db1"),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    for _ in range(3):
        for end in ends:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
    asked = ends[purpose == "server"]
    assert asked.getpeercert()


@pytest.mark.parametrize(
    ("host", "settings", "text"),
    [
        ("db3", {"days": 0}, "use 1 or more"),
        ("db3", {"days": 4000}, "the authority ends on"),
        ("db3", {"days": 10**9}, "too many for a date"),
        ("../db3", {}, "neither a host name nor an IP address"),
        ("db3", {"addresses": ["a b"]}, "'a b' is neither"),
        ("ca", {}, "invalid host name"),
        ("x" * 65, {}, "invalid host name"),
    ],
)
def test_what_makes_no_sense_is_not_issued(
    place: Path, host: str, settings: dict[str, object], text: str
) -> None:
    before = sorted(place.iterdir())
    with pytest.raises(UsageError, match=text):
        issue(place, host, **settings)  # type: ignore[arg-type]
    assert sorted(place.iterdir()) == before


def test_a_key_that_is_not_the_authoritys_signs_nothing(place: Path) -> None:
    (place / "ca.key").write_bytes((place / "db1.key").read_bytes())
    with pytest.raises(UsageError, match="does not belong to the first certificate"):
        issue(place, "db3")
    (place / "ca.key").write_bytes(b"nonsense")
    with pytest.raises(UsageError, match="is not a key"):
        issue(place, "db3")


def test_contexts_say_which_file_is_wrong(place: Path) -> None:
    with pytest.raises(ClusterError, match=r"cannot read .*db9\.pem"):
        server_context(files(place, "db9"))
    mixed = Files(place / "ca.pem", place / "db1.pem", place / "db2.key")
    with pytest.raises(ClusterError, match=r"together: .*mismatch"):
        client_context(mixed)
    (place / "ca.pem").write_text("nonsense")
    with pytest.raises(ClusterError, match=r"cannot use .*ca\.pem"):
        client_context(files(place, "db1"))


# The command


def peerlock(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["certs", *arguments])
    return int(ended.value.code or 0)


def test_the_command_makes_and_shows_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert peerlock("init") == 0
    assert peerlock("issue", "db1", "--address", "10.0.0.5", "--address", "::1") == 0
    made = sorted(capfd.readouterr().out.split())
    assert made == [f"peerlock-certs/{name}" for name in sorted(os.listdir(made[0][:14]))]
    assert peerlock("show", "peerlock-certs/ca.pem", "peerlock-certs/db1.pem") == 0
    out = capfd.readouterr().out
    assert "db1, 10.0.0.5, ::1" in out
    assert "364 days left" in out
    assert peerlock("show", "--json", "peerlock-certs/db1.pem") == 0
    [told] = json.loads(capfd.readouterr().out)
    assert (told["kind"], told["expired"]) == ("host", False)
    assert told["addresses"] == ["db1", "10.0.0.5", "::1"]
    assert peerlock("init", "--rotate") == 0
    assert peerlock("init", "--retire") == 0
    assert len(show(Path("peerlock-certs/ca.pem"))) == 1


def test_the_command_says_when_one_has_expired(
    place: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(certificates, "datetime", LongAgo)
    issue(place, "old", days=99)
    monkeypatch.undo()
    assert peerlock("show", str(place / "old.pem")) == 1
    assert "expired" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["issue", "db1"], "there is no peerlock-certs/ca.pem; peerlock certs init"),
        (["init", "--rotate"], "there is no peerlock-certs/ca.pem"),
        (["init", "--force", "--retire"], "exclude each other"),
        (["init", "--days", "0"], "use 1 or more"),
        (["issue", "10.0.0.300"], "invalid IPv4 address '10.0.0.300'"),
        (["issue", "db1", "--address", "10.0.1"], "invalid IPv4 address '10.0.1'"),
        (["show", "nothing.pem"], "there is no nothing.pem"),
        (["show", "key.pem"], "key.pem is not a certificate but a key"),
    ],
)
def test_errors_are_one_line(
    arguments: list[str],
    text: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("key.pem").write_text("-----BEGIN PRIVATE KEY-----")
    assert peerlock(*arguments) == 2
    said = capfd.readouterr()
    assert said.out == ""
    assert said.err.startswith("peerlock: ")
    assert text in said.err
    assert said.err.count("\n") == 1


def test_without_its_package_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "peerlock.runtime.certificates")
    monkeypatch.delattr("peerlock.runtime.certificates")
    monkeypatch.setitem(sys.modules, "cryptography", None)
    assert peerlock("show", "x.pem") == 2
    assert "pip install 'peerlock[tls]'" in capfd.readouterr().err
