"""The address of a cluster, and how its members reach each other."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from peerlock.api.names import must_be_bool
from peerlock.core.errors import UsageError
from peerlock.membership.engine import BetweenMachines, Engine
from peerlock.membership.place import engine_for, own_directory
from peerlock.runtime.transport import (
    Endpoint,
    Tcp,
    Transport,
    UnixSockets,
    host_and_port,
)

if TYPE_CHECKING:
    from peerlock.runtime.tls import Files

CERTIFICATES = "PEERLOCK_CERTIFICATES"


@dataclass(frozen=True)
class Reach:
    """Between machines: addresses and certificates of this process.

    listen: HOST:PORT; by default any free port on all addresses.
    advertise: HOST:PORT that other members dial, if it differs.
    certificates: a directory with ca.pem and this host's certificate and key, as
      `peerlock certs` makes them; by default $PEERLOCK_CERTIFICATES.
    insecure: no certificates and no encryption, for private networks.
    """

    listen: str = ""
    advertise: str | None = None
    certificates: str | os.PathLike[str] | None = None
    insecure: bool = False

    def __post_init__(self) -> None:
        must_be_bool("insecure", self.insecure)


USUAL = Reach()


def rendezvous(
    cluster: str | None, lease: float | None, reach: Reach
) -> tuple[Engine, Transport]:
    engine = engine_for(cluster, lease)
    if isinstance(engine, BetweenMachines):
        return engine, tcp(engine.near, reach)
    if reach != USUAL:
        raise UsageError(
            "listen, advertise, certificates and insecure are for clusters between "
            "machines: etcd://… and postgresql://…"
        )
    return engine, UnixSockets(own_directory())


def tcp(near: tuple[Endpoint, ...], reach: Reach) -> Tcp:
    directory = reach.certificates or os.environ.get(CERTIFICATES)
    if reach.insecure and reach.certificates:
        raise UsageError("certificates and insecure exclude each other: omit one")
    if reach.insecure:
        return Tcp(reach.listen, reach.advertise, near, None)
    if not directory:
        raise UsageError(
            "members on other machines want to see a certificate: give a directory of "
            "`peerlock certs`, or ask for insecure by name"
        )
    from peerlock.runtime.tls import Mutual  # slow to load, and not needed on one machine

    security = Mutual(files_in(Path(directory), reach.advertise or reach.listen))
    return Tcp(reach.listen, reach.advertise, near, security)


def files_in(directory: Path, advertised: str) -> Files:
    """The certificate for the advertised name, or for the host name, or the only one."""
    from peerlock.runtime.tls import Files

    if not directory.is_dir():
        raise UsageError(f"there is no directory {directory} with certificates")
    names = [host_and_port(advertised)[0], socket.getfqdn(), socket.gethostname()]
    names += sorted({path.stem for path in directory.glob("*.key")} - {"ca"})[:2]
    present = [n for n in names if n and (directory / f"{n}.key").exists()]
    if not present or (present[0] not in names[:3] and len(names) > 4):
        raise UsageError(
            f"which certificate in {directory} is this host's? "
            f"There is none for {', '.join(dict.fromkeys(filter(None, names[:3])))}"
        )
    return Files.of_host(directory, present[0])
