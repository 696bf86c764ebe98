"""`peerlock certs`: an authority for a cluster, and a certificate for each of its hosts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import click

from peerlock.cli.output import F, console, json_option, plain_table, print_json
from peerlock.cli.summaries import Summaries
from peerlock.core.errors import UsageError

if TYPE_CHECKING:
    from peerlock.runtime.certificates import Shown

dir_option = click.option(
    "--dir",
    "directory",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("peerlock-certs"),
    show_default=True,
    help="The directory of the authority; keep it safe.",
)


def force_option(what: str) -> Callable[[F], F]:
    return click.option("--force", is_flag=True, help=what)


def dialled(
    ctx: click.Context, param: click.Parameter, value: str | tuple[str, ...]
) -> str | tuple[str, ...]:
    """No host name ends in a number: this must be an invalid IPv4 address."""
    for text in (value,) if isinstance(value, str) else value:
        if text.rstrip(".").rpartition(".")[2].isdecimal() and not is_address(text):
            raise click.BadParameter(f"invalid IPv4 address {text!r}")
    return value


def is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def tools() -> ModuleType:
    """They need a package that is needed only where certificates are made."""
    try:
        from peerlock.runtime import certificates
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("cryptography"):
            raise
        raise UsageError("certs needs an extra: pip install 'peerlock[tls]'") from None
    return certificates


@click.group(cls=Summaries)
def certs() -> None:
    """Make the certificates with which members on many machines authenticate.

    \b
    peerlock certs init                           once, on a safe machine
    peerlock certs issue db1 --address 10.0.0.5   for each host
    Give each host its own HOST.pem and HOST.key, and ca.pem; never ca.key.

    To replace a certificate, issue it again and copy the files over the old ones: running
    nodes use it from the next connection on.
    """


@certs.command()
@dir_option
@click.option("--days", type=int, help="How long it is valid.  [default: 3650]")
@force_option("Discard the old one, which invalidates all certificates that it signed.")
@click.option("--rotate", is_flag=True, help="Make a new one, and still trust the old one.")
@click.option("--retire", is_flag=True, help="Trust only the newest.")
def init(
    directory: Path, days: int | None, force: bool, rotate: bool, retire: bool
) -> None:
    """Make the cluster's authority: ca.pem, which all hosts trust, and ca.key.

    To replace it without downtime: run --rotate and copy ca.pem to all hosts; issue all
    certificates again with --force and copy them; run --retire and copy ca.pem to all hosts
    again.
    """
    if force + rotate + retire > 1:
        raise UsageError("--force, --rotate and --retire exclude each other")
    made = tools()
    days = made.AUTHORITY_DAYS if days is None else days
    if retire:
        files = made.retire_authorities(directory)
    elif rotate:
        files = made.renew_authority(directory, days)
    else:
        files = made.new_authority(directory, days, force)
    tell(files)


@certs.command()
@click.argument("host", callback=dialled)
@click.option(
    "--address",
    "addresses",
    multiple=True,
    callback=dialled,
    metavar="IP|NAME",
    help="Another name or address of the host; may be repeated.",
)
@click.option("--days", type=int, help="How long it is valid.  [default: 365]")
@dir_option
@force_option("Replace an existing certificate.")
def issue(
    host: str, addresses: tuple[str, ...], days: int | None, directory: Path, force: bool
) -> None:
    """Make a certificate for HOST: HOST.pem and HOST.key.

    HOST is the name or the IP address that other members dial.
    """
    made = tools()
    days = made.HOST_DAYS if days is None else days
    tell(made.issue(directory, host, addresses, days, force))


@certs.command()
@json_option
@click.argument(
    "files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE..."
)
def show(files: tuple[Path, ...], as_json: bool) -> int:
    """Show the names, addresses and expiry dates of certificates.

    Exit code 1 if one of them has expired.
    """
    found = [certificate for path in files for certificate in tools().show(path)]
    now = datetime.now(UTC)
    if as_json:
        print_json([as_plain(certificate, now) for certificate in found])
    else:
        table = plain_table("file", "what", "name", "signed by", "for", "until", "")
        for one in found:
            until, left = f"{one.until:%Y-%m-%d}", days_left(one, now)
            names = ", ".join(one.addresses)
            table.add_row(one.file, one.kind, one.name, one.issuer, names, until, left)
        console().print(table)
    return int(any(certificate.expired(now) for certificate in found))


def as_plain(certificate: Shown, now: datetime) -> dict[str, Any]:
    times = {
        "since": certificate.since.isoformat(),
        "until": certificate.until.isoformat(),
        "expired": certificate.expired(now),
    }
    return {**vars(certificate), **times, "addresses": list(certificate.addresses)}


def days_left(certificate: Shown, now: datetime) -> str:
    if certificate.expired(now):
        return "expired"
    return f"{(certificate.until - now).days} days left"


def tell(files: list[Path]) -> None:
    for path in files:
        click.echo(path)
