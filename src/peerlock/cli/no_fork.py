"""`peerlock lock --no-fork`: this process becomes the command, as with flock(1)."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from peerlock.cli.ending import UNAVAILABLE, Failure
from peerlock.cli.lock_line import LockRequest
from peerlock.core.errors import UsageError
from peerlock.supervision.child import Command, become
from peerlock.supervision.detached import Detached, detach
from peerlock.supervision.watchdog import LONGEST

if TYPE_CHECKING:
    from peerlock.api.tasks import Grant

USAGE = 64  # EX_USAGE of sysexits.h, as flock(1) has it
RUN = "run"


def become_holder(request: LockRequest, command: Command) -> int:
    """Returns the exit code if the command may not run."""
    line, inherited = detach(lambda detached: keep(request, detached))
    told, _, rest = line.recv(LONGEST).decode().partition(" ")
    if told == RUN:
        line.close()
        become(command, rest, [inherited])
    if not told:
        raise Failure("the process that would hold the lock was killed", UNAVAILABLE)
    if rest:
        raise Failure(rest, int(told))
    return int(told)


# In the keeper


def keep(request: LockRequest, detached: Detached) -> None:
    from peerlock.api.errors import Conflict, Error

    try:
        code = asyncio.run(hold(request, detached))
        answer = f"{code}"
    except (Conflict, UsageError) as error:
        answer = f"{USAGE} {error}"
    except Error as error:
        answer = f"{UNAVAILABLE} {error}"
    with suppress(OSError):  # it runs, or has been interrupted
        detached.line.send(answer.encode())


async def hold(request: LockRequest, detached: Detached) -> int:
    """Until the command has ended, or the lock is lost; the code if it may not run."""
    from peerlock.api.errors import Timeout, WouldBlock
    from peerlock.cli.session import grace, handles, node_for
    from peerlock.supervision.joining import Patience, member

    over = asyncio.Event()
    asyncio.get_running_loop().add_reader(detached.life, over.set)
    node = node_for(request)
    slack = grace(request.lease)
    node.host.on_renewal = lambda deadline: detached.until(deadline + slack)
    patience = Patience(0.0 if request.nonblock else request.timeout)
    async with member(node, patience.for_joining):
        grants: dict[str, Grant] = {}
        for lock in handles(node, request):
            left = patience.left()
            waiting = asyncio.ensure_future(
                lock.try_acquire() if left == 0 else lock.acquire(left)
            )
            if not await before(over, waiting):
                return 0  # it was interrupted
            try:
                grants[lock.name] = waiting.result()
            except (Timeout, WouldBlock):
                return request.conflict
        fences = ",".join(str(grants[name].fence) for name in request.names)
        detached.line.send(f"{RUN} {fences}".encode())
        detached.line.close()
        for grant in grants.values():
            grant.lost.add_done_callback(lambda _: over.set())
        await over.wait()
        if any(grant.is_lost for grant in grants.values()):
            await stop(detached, slack)
    return 0


async def before(over: asyncio.Event, waiting: asyncio.Future[Grant]) -> bool:
    """Whether this is done before the command is gone; otherwise it is cancelled."""
    ended: asyncio.Future[Any] = asyncio.ensure_future(over.wait())
    both: list[asyncio.Future[Any]] = [ended, waiting]
    await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    ended.cancel()
    if not waiting.done():
        waiting.cancel()
        await asyncio.wait([waiting])
        return False
    return True


async def stop(detached: Detached, seconds: float) -> None:
    """The command, before another process can acquire the lock."""
    detached.send_signal(signal.SIGTERM)
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(detached.command, ended.set)
    try:
        await asyncio.wait_for(ended.wait(), seconds)
    except TimeoutError:
        detached.send_signal(signal.SIGKILL)
