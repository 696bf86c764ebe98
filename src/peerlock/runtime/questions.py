"""Questions that a process can ask members without joining."""

from __future__ import annotations

import asyncio
import ssl
from typing import Any

from peerlock.core.peer import RemoteError
from peerlock.membership.engine import ClusterError, Engine
from peerlock.node.views import Member
from peerlock.runtime.codec import VERSION, Ask, Foreign, Frame, Refusal, StatusTold
from peerlock.runtime.connection import Connection
from peerlock.runtime.door import BUSY
from peerlock.runtime.transport import Transport

PATIENCE = 1.0  # seconds for a member to answer

# Before a process joins, it asks this many members whether they talk with it, this often;
# more often if they are busy: a flood of strangers should not keep it out.
ASKED = 4
ATTEMPTS = 3
ATTEMPTS_IF_BUSY = 12


CLOSED = (
    "it has closed the connection; do all use the same certificates, or none, "
    "and the same version of peerlock?"
)


class RefusedByMember(ConnectionError):
    """It is there, but refuses to talk with this process."""


class Busy(RefusedByMember):
    """It is busy."""


class Asker:
    def __init__(self) -> None:
        self.answer: asyncio.Future[dict[str, Any]] = asyncio.Future()
        # The question may have been cancelled by then; the answer is ignored.
        self.answer.add_done_callback(lambda told: told.cancelled() or told.exception())

    def frame(self, connection: Connection, frame: Frame | Foreign) -> None:
        if isinstance(frame, Refusal) and not self.answer.done():
            busy = frame.version == VERSION
            self.answer.set_exception((Busy if busy else RefusedByMember)(frame.reason))
        if not isinstance(frame, StatusTold):
            raise RemoteError("no answer")
        if not self.answer.done():
            self.answer.set_result(frame.status)

    def closed(self, connection: Connection) -> None:
        if not self.answer.done():
            self.answer.set_exception(refused(connection.error))


async def ask(member: Member, cluster: str, transport: Transport) -> dict[str, Any]:
    """The status of a member; raises OSError if it does not answer."""
    asker = Asker()
    connection = Connection(asker)
    connection.welcome()
    async with asyncio.timeout(PATIENCE):
        try:
            await transport.connect(member.address, connection)
        except (ssl.SSLError, ConnectionResetError, ConnectionAbortedError) as error:
            raise refused(error) from None
        except ValueError as error:  # an address may be invalid
            raise OSError(str(error)) from None
        connection.send(Ask(VERSION, cluster))
        try:
            return await asker.answer
        finally:
            connection.end()


async def answer_of(
    member: Member, cluster: str, transport: Transport
) -> dict[str, Any] | RefusedByMember | None:
    """The same without exceptions; None if it cannot be reached."""
    try:
        return await ask(member, cluster, transport)
    except RefusedByMember as error:
        return error
    except OSError:
        return None


async def must_be_welcome(engine: Engine, transport: Transport) -> None:
    """A process that cannot talk with the members would block them.

    One that answers is enough; those that cannot be reached may be dead, and one that
    closes the connection may be about to leave.
    """
    for attempt in range(ATTEMPTS_IF_BUSY):
        await asyncio.sleep(min(attempt / ATTEMPTS, 1.0))
        members = (await engine.read()).members[:ASKED]
        refusal = await refused_by_all(members, engine.cluster, transport)
        if refusal is None:
            return
        if attempt + 1 >= ATTEMPTS and not isinstance(refusal, Busy):
            break
    raise ClusterError(f"the members do not talk with us: {refusal}")


async def refused_by_all(
    members: tuple[Member, ...], cluster: str, transport: Transport
) -> RefusedByMember | None:
    """Why, if a member refuses to talk with us, and no other member does talk."""
    refusal = None
    tasks = [asyncio.create_task(answer_of(m, cluster, transport)) for m in members]
    try:
        for answer in asyncio.as_completed(tasks):
            heard = await answer
            if isinstance(heard, RefusedByMember):
                refusal = heard
            elif heard is not None:
                return None
    finally:
        for task in tasks:
            task.cancel()
    return refusal


def refused(error: Exception | None) -> RefusedByMember:
    reason = words(error) if error else CLOSED
    return Busy(reason) if reason == BUSY else RefusedByMember(reason)


def words(error: Exception) -> str:
    """Why a member cannot be talked with."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        _, alerted, alert = (error.reason or "").partition("ALERT_")
        if alert == "INTERNAL_ERROR":
            return BUSY
        if alerted:
            return f"it does not trust our certificate: {alert.lower().replace('_', ' ')}"
        return "it speaks no TLS like ours"
    if isinstance(error, ConnectionResetError | ConnectionAbortedError):
        return CLOSED
    return str(getattr(error, "strerror", None) or error) or "it does not answer"
