"""What somebody who is no member can ask members."""

from __future__ import annotations

import asyncio
import ssl
from typing import Any

from peerlock.core.peer import RemoteError
from peerlock.membership.engine import ClusterError, Engine
from peerlock.node.views import Member
from peerlock.runtime.codec import VERSION, Ask, Frame, Told
from peerlock.runtime.connection import Connection
from peerlock.runtime.transport import Transport

PATIENCE = 1.0  # seconds for a member to answer

# Before one joins, so many members are asked whether they talk with it, and so often.
ASKED = 4
ATTEMPTS = 3


class Refused(ConnectionError):
    """It is there, and does not want to talk with us."""


class Asker:
    def __init__(self) -> None:
        self.answer: asyncio.Future[dict[str, Any]] = asyncio.Future()

    def frame(self, connection: Connection, frame: Frame) -> None:
        if not isinstance(frame, Told):
            raise RemoteError("no answer")
        if not self.answer.done():
            self.answer.set_result(frame.status)

    def closed(self, connection: Connection) -> None:
        if not self.answer.done():
            self.answer.set_exception(refused(connection.error))


async def ask(member: Member, cluster: str, transport: Transport) -> dict[str, Any]:
    """What goes on at a member, as it says; OSError if it does not."""
    asker = Asker()
    connection = Connection(asker)
    async with asyncio.timeout(PATIENCE):
        try:
            await transport.connect(member.address, connection)
        except (ssl.SSLError, ConnectionResetError, ConnectionAbortedError) as error:
            raise refused(error) from None
        except ValueError as error:  # an address may be nonsense
            raise OSError(str(error)) from None
        connection.send(Ask(VERSION, cluster))
        try:
            return await asker.answer
        finally:
            connection.end()


async def answer_of(
    member: Member, cluster: str, transport: Transport
) -> dict[str, Any] | None:
    """The same; None if it does not."""
    try:
        return await ask(member, cluster, transport)
    except OSError:
        return None


async def must_be_welcome(engine: Engine, transport: Transport) -> None:
    """Who cannot talk with the members would hold them all up.

    One that answers is enough; those that cannot be reached may be dead, and one that
    hangs up may be about to leave.
    """
    for attempt in range(ATTEMPTS):
        await asyncio.sleep(attempt / ATTEMPTS)
        refusal = None
        for member in (await engine.read()).members[:ASKED]:
            try:
                await ask(member, engine.cluster, transport)
                return
            except Refused as error:
                refusal = ClusterError(
                    f"the member at {member.address} does not talk with us: {error}; do "
                    "all use the same certificates, or none, and the same version?"
                )
            except OSError:
                pass
        if refusal is None:
            return
    assert refusal is not None
    raise refusal


def refused(error: Exception | None) -> Refused:
    return Refused(words(error) if error else "it has closed the connection")


def words(error: Exception) -> str:
    """Why somebody cannot be talked with."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not to be trusted: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        alert = "ALERT" in str(error)
        return (
            "it does not trust our certificate" if alert else "it speaks no TLS like ours"
        )
    if isinstance(error, ConnectionResetError | ConnectionAbortedError):
        return "it has closed the connection"
    return str(getattr(error, "strerror", None) or error) or "it does not answer"
