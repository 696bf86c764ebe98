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
) -> dict[str, Any] | Refused | None:
    """The same, but nothing goes wrong; None if it cannot be reached."""
    try:
        return await ask(member, cluster, transport)
    except Refused as error:
        return error
    except OSError:
        return None


async def must_be_welcome(engine: Engine, transport: Transport) -> None:
    """Who cannot talk with the members would hold them all up.

    One that answers is enough; those that cannot be reached may be dead, and one that
    hangs up may be about to leave.
    """
    refusal = None
    for attempt in range(ATTEMPTS):
        await asyncio.sleep(attempt / ATTEMPTS)
        members = (await engine.read()).members[:ASKED]
        refusal = await refused_by_all(members, engine.cluster, transport)
        if refusal is None:
            return
    assert refusal is not None
    raise refusal


async def refused_by_all(
    members: tuple[Member, ...], cluster: str, transport: Transport
) -> ClusterError | None:
    """Why, if one does not talk with us, and nobody else does, either."""
    refusal = None
    tasks = [asyncio.create_task(answer_of(m, cluster, transport)) for m in members]
    try:
        for answer in asyncio.as_completed(tasks):
            heard = await answer
            if isinstance(heard, Refused):
                refusal = heard
            elif heard is not None:
                return None
    finally:
        for task in tasks:
            task.cancel()
    if refusal is None:
        return None
    return ClusterError(
        f"the members do not talk with us: {refusal}; do all use the same certificates, "
        "or none, and the same version?"
    )


def refused(error: Exception | None) -> Refused:
    return Refused(words(error) if error else "it has closed the connection")


def words(error: Exception) -> str:
    """Why somebody cannot be talked with."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not to be trusted: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        if "ALERT" in str(error):
            return "it does not trust our certificate"
        return "it speaks no TLS like ours"
    if isinstance(error, ConnectionResetError | ConnectionAbortedError):
        return "it has closed the connection"
    return str(getattr(error, "strerror", None) or error) or "it does not answer"
