"""Certificates for a cluster: an authority of its own, and one certificate per host.

A directory holds

  ca.pem, ca.key       the authority: what every host trusts, and what signs (kept safe)
  HOST.pem, HOST.key   a host's certificate and key, for this host only

Keys are ECDSA on P-256: every OpenSSL with TLS 1.3 accepts it, also in FIPS mode, unlike
Ed25519.  A host's certificate is for both ends of a connection, because members dial each
other.  Files are replaced in one step, and keys are never readable
by others, not even for a moment.

To replace the authority without downtime: `renew_authority` puts a new one before the old
one in ca.pem; give that file to all hosts; issue and hand out new certificates for all;
then `retire_authorities` leaves the newest alone, and that file goes to all hosts again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from secrets import token_hex

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from peerlock.core.errors import UsageError

AUTHORITY_DAYS = 3650
HOST_DAYS = 365
LONGEST_NAME = 64  # of a common name, by X.509
EARLIER = timedelta(hours=1)  # valid since: the hosts' clocks need not agree

HOST_NAME = re.compile(r"(\*\.)?[a-z0-9_]([a-z0-9_-]*[a-z0-9])?(\.[a-z0-9_-]+)*\.?", re.I)


@dataclass(frozen=True)
class Shown:
    """The contents of a certificate, for people."""

    file: str
    kind: str  # authority, host
    name: str
    issuer: str
    addresses: tuple[str, ...]
    since: datetime
    until: datetime
    fingerprint: str  # SHA-256 of all of it

    def expired(self, now: datetime) -> bool:
        return now >= self.until


# The authority


def new_authority(
    directory: Path, days: int = AUTHORITY_DAYS, force: bool = False
) -> list[Path]:
    """Make an authority where there is none; with `force`, replace the old one."""
    files = [directory / "ca.pem", directory / "ca.key"]
    must_not_exist(files, force)
    write_authority(directory, days, [])
    return files


def renew_authority(directory: Path, days: int = AUTHORITY_DAYS) -> list[Path]:
    """A new one, which signs from now on; the old ones are trusted as well."""
    trusted = read_certificates(directory / "ca.pem")
    now = datetime.now(UTC)
    write_authority(directory, days, [c for c in trusted if c.not_valid_after_utc > now])
    return [directory / "ca.pem", directory / "ca.key"]


def retire_authorities(directory: Path) -> list[Path]:
    """Trust the newest alone."""
    newest, *_ = read_certificates(directory / "ca.pem")
    write(directory / "ca.pem", pem([newest]))
    return [directory / "ca.pem"]


def write_authority(directory: Path, days: int, older: list[x509.Certificate]) -> None:
    must_be_positive(days)
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make {directory}: {error.strerror}") from None
    key = ec.generate_private_key(ec.SECP256R1())
    # Two authorities must not bear the same name: a chain is looked up by name.
    name = named(f"peerlock CA {token_hex(4)}")
    usage = key_usage(key_cert_sign=True, crl_sign=True)
    certificate = (
        begun(name, name, key.public_key(), days)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .sign(key, hashes.SHA256())
    )
    write(directory / "ca.key", private(key), secret=True)
    write(directory / "ca.pem", pem([certificate, *older]))


# Hosts


def issue(
    directory: Path,
    host: str,
    addresses: Sequence[str] = (),
    days: int = HOST_DAYS,
    force: bool = False,
) -> list[Path]:
    """A certificate for the host with this name and these addresses."""
    must_be_positive(days)
    if host == "ca" or len(host) > LONGEST_NAME:
        raise UsageError(f"invalid host name {host!r}: use another")
    files = [directory / f"{host}.pem", directory / f"{host}.key"]
    names = [alternative(name) for name in dict.fromkeys([host, *addresses])]
    must_not_exist(files, force)
    authority, signing_key = read_authority(directory)
    key = ec.generate_private_key(ec.SECP256R1())
    both = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    signer = x509.SubjectKeyIdentifier.from_public_key(signing_key.public_key())
    signed_by = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(signer)
    certificate = (
        begun(named(host), authority.subject, key.public_key(), days)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(key_usage(digital_signature=True), critical=True)
        .add_extension(x509.ExtendedKeyUsage(both), critical=False)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(signed_by, critical=False)
        .sign(signing_key, hashes.SHA256())
    )
    if certificate.not_valid_after_utc > authority.not_valid_after_utc:
        end = authority.not_valid_after_utc.date()
        raise UsageError(f"the authority ends on {end}: fewer --days, or init --rotate")
    write(files[1], private(key), secret=True)
    write(files[0], pem([certificate]))
    return files


def read_authority(
    directory: Path,
) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    """The newest: it is the first in the file, and its key is the one that signs."""
    certificate, *_ = read_certificates(directory / "ca.pem")
    path = directory / "ca.key"
    try:
        key = load_pem_private_key(contents(path), None)
    except (ValueError, TypeError):
        raise UsageError(f"{path} is not a key without a password") from None
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise UsageError(f"{path} is not a key that peerlock certs made")
    if key.public_key() != certificate.public_key():
        raise UsageError(f"{path} does not belong to the first certificate in ca.pem")
    return certificate, key


# Showing them


def show(path: Path) -> list[Shown]:
    return [shown(path, certificate) for certificate in read_certificates(path)]


def shown(path: Path, certificate: x509.Certificate) -> Shown:
    extensions = certificate.extensions
    try:
        is_authority = extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except x509.ExtensionNotFound:
        is_authority = False
    try:
        names = extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        addresses = tuple(str(name.value) for name in names)
    except x509.ExtensionNotFound:
        addresses = ()
    return Shown(
        file=str(path),
        kind="authority" if is_authority else "host",
        name=common_name(certificate.subject),
        issuer=common_name(certificate.issuer),
        addresses=addresses,
        since=certificate.not_valid_before_utc,
        until=certificate.not_valid_after_utc,
        fingerprint=certificate.fingerprint(hashes.SHA256()).hex(":"),
    )


def read_certificates(path: Path) -> list[x509.Certificate]:
    found = contents(path)
    try:
        return x509.load_pem_x509_certificates(found)
    except ValueError:
        hint = "a key" if b"PRIVATE KEY" in found else "something else"
        raise UsageError(f"{path} is not a certificate but {hint}") from None


# Parts


def begun(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, days: int
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    try:
        until = now + timedelta(days=days)
    except OverflowError:
        raise UsageError(f"invalid --days {days}: too many for a date") from None
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - EARLIER)
        .not_valid_after(until)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def named(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def common_name(name: x509.Name) -> str:
    for attribute in name.get_attributes_for_oid(NameOID.COMMON_NAME):
        return str(attribute.value)
    return name.rfc4514_string()


def alternative(text: str) -> x509.GeneralName:
    """An IP address, or otherwise a host name."""
    try:
        return x509.IPAddress(ip_address(text))
    except ValueError:
        pass
    if not HOST_NAME.fullmatch(text):
        raise UsageError(f"{text!r} is neither a host name nor an IP address")
    return x509.DNSName(text)


def key_usage(
    digital_signature: bool = False, key_cert_sign: bool = False, crl_sign: bool = False
) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=digital_signature,
        key_cert_sign=key_cert_sign,
        crl_sign=crl_sign,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def private(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def pem(certificates: Iterable[x509.Certificate]) -> bytes:
    return b"".join(certificate.public_bytes(Encoding.PEM) for certificate in certificates)


# Files


def contents(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        hint = "; peerlock certs init makes one" if path.name.startswith("ca.") else ""
        raise UsageError(f"there is no {path}{hint}") from None
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None


def write(path: Path, data: bytes, secret: bool = False) -> None:
    """All of it or nothing; a key is private from the first byte on."""
    beside = path.with_name(f".{path.name}.{token_hex(4)}")
    try:
        mode = 0o600 if secret else 0o644
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        try:
            with open(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(descriptor)
            os.replace(beside, path)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None


def must_not_exist(files: list[Path], force: bool) -> None:
    for path in files:
        if path.exists() and not force:
            raise UsageError(f"{path} exists; --force replaces it")


def must_be_positive(days: int) -> None:
    if days < 1:
        raise UsageError(f"invalid --days {days}: use 1 or more")
