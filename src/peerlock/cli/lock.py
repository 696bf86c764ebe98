"""`peerlock lock NAME -- COMMAND`: like flock(1), across the cluster.

To shell, terminal and signals we look like flock(1).  The command is in our process group;
it hears what the group hears, and what is sent to us alone is passed on to it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from dataclasses import dataclass
from math import inf

import click

from peerlock.api.errors import Conflict, Lost, Timeout, WouldBlock
from peerlock.api.meeting import Reach
from peerlock.api.tasks import Grant, Lock, LockNode, join
from peerlock.cli.main import end_by, say
from peerlock.cli.output import (
    Finite,
    cluster_option,
    complain_about_cluster,
    lease_option,
    must_have_descriptors,
    reach_options,
)
from peerlock.core.errors import UsageError
from peerlock.membership.memory import MemoryEngine
from peerlock.node.presence import margin
from peerlock.supervision.child import Command, answered
from peerlock.supervision.joining import Patience, member
from peerlock.supervision.neighbour import Neighbour
from peerlock.supervision.watchdog import FOR_ALL, Watchdog

# Exit codes, from flock(1) and sysexits.h.
NOT_ACQUIRED = 1
USAGE = 64
UNAVAILABLE = 69
LOST = 75

# If one of these has ended the command, it ends us, too: a shell looks for that, to know
# whether Ctrl-C was meant for its script as well.
FROM_THE_KEYBOARD = (signal.SIGINT, signal.SIGQUIT)


class WrongUsage(click.UsageError):
    exit_code = USAGE


class Helpless(click.ClickException):
    exit_code = UNAVAILABLE


class LikeFlock(click.Command):
    """Options may stand before and after the name; what follows is the command's."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        before, rest = self._options(ctx, args)
        after: list[str] = []
        if rest:
            name, *rest = rest
            after, rest = self._options(ctx, rest)
            rest = [name, *rest]
        try:
            return super().parse_args(ctx, [*before, *after, "--", *rest])
        except click.UsageError as error:
            raise WrongUsage(error.format_message()) from None

    def _options(self, ctx: click.Context, args: list[str]) -> tuple[list[str], list[str]]:
        """The options that these begin with, and what follows."""
        only = click.Command(
            None, params=[p for p in self.params if p.param_type_name == "option"]
        )
        try:
            _, rest, _ = only.make_parser(ctx).parse_args(list(args))
        except click.UsageError as error:
            raise WrongUsage(error.format_message()) from None
        options = args[: len(args) - len(rest)]
        return [o for o in options if o != "--"], rest


def last(ctx: click.Context, param: click.Parameter, values: tuple[object, ...]) -> object:
    """Of an option that is given several times, as with flock(1); each must be valid."""
    return values[-1] if values else None


@dataclass(frozen=True)
class Wish:
    name: str
    command: tuple[str, ...]
    cluster: str | None
    lease: float | None
    reach: Reach
    nonblock: bool
    timeout: float | None
    shared: bool
    conflict: int
    permits: int
    algorithm: str | None
    close: bool
    verbose: bool


@click.command("lock", cls=LikeFlock, context_settings={"allow_interspersed_args": False})
@click.option(
    "-s",
    "--shared",
    "mode",
    flag_value="shared",
    help="Share it with others that share it.",
)
@click.option(
    "-x",
    "-e",
    "--exclusive",
    "mode",
    flag_value="exclusive",
    help="Have it alone (the default).",
)
@click.option(
    "-n", "--nb", "--nonblock", "nonblock", is_flag=True, help="Fail rather than wait."
)
@click.option(
    "-w",
    "--wait",
    "--timeout",
    "timeout",
    type=Finite(min=0),
    multiple=True,
    callback=last,
    metavar="SECONDS",
    help="Wait no longer than this.",
)
@click.option(
    "-E",
    "--conflict-exit-code",
    "conflict",
    type=click.IntRange(0, 255),
    multiple=True,
    callback=last,
    default=[NOT_ACQUIRED],
    show_default=True,
    metavar="CODE",
    help="Exit code if it was not to be had with -n or -w.",
)
@click.option(
    "-c",
    "--command",
    "shell",
    multiple=True,
    metavar="STRING",
    help="Run this in a shell.",
)
@click.option(
    "-o", "--close", is_flag=True, help="What COMMAND leaves behind does not keep the lock."
)
@click.option("--permits", type=int, metavar="N", help="Let N in at a time: a semaphore.")
@click.option("--algorithm", metavar="NAME", help="By this algorithm: see peerlock list.")
@cluster_option
@lease_option
@reach_options
@click.option("--verbose", is_flag=True, help="Say how long it took.")
@click.argument("name")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def lock_command(
    ctx: click.Context,
    /,
    name: str,
    command: tuple[str, ...],
    shell: tuple[str, ...],
    mode: str | None,
    permits: int | None,
    **options: object,
) -> None:
    """Run COMMAND while holding the lock NAME, which is held once in the whole cluster.

    \b
    peerlock lock invoices -- ./send-invoices     wait for it, however long
    peerlock lock -n backup -- ./backup           not if it is running already
    peerlock lock -w 10 -E 99 x -- make           wait 10 s, then exit with 99
    peerlock lock --permits 4 gpu -- ./train      four at a time

    The command gets the lock's fence in PEERLOCK_FENCE and its name in PEERLOCK_NAME,
    keeps stdin, stdout and stderr, and receives the signals that we get.  Its exit code
    is ours; 128 + N if signal N ended it.  If it leaves something behind in the
    background, that keeps the lock, and we end with it; but not with -o.

    To join the cluster counts as waiting, but it may always take 3 seconds: with -n, and
    with -w if that is less.  If it takes longer, there is no cluster to be had.

    \b
    Other exit codes:
      1    the lock was not to be had with -n or -w (or what -E says)
      64   wrong usage
      69   COMMAND cannot be run, or there is no cluster to be had
      71   the system refuses a process
      75   the lock was lost, and COMMAND and all it started was stopped
    """
    if sys.platform != "linux":
        raise Helpless("only Linux lets us stop all that a command has started")
    if shell:
        if command or len(shell) > 1:
            raise WrongUsage("give one command, or one -c STRING")
        command = (os.environ.get("SHELL") or "/bin/sh", "-c", *shell)
    if not command:
        raise WrongUsage(f"say what to run: peerlock lock {name} -- COMMAND")
    if permits is not None and permits < 1:
        raise WrongUsage(f"at least 1 permit, not {permits}")
    wish = Wish(
        name=name,
        command=command,
        shared=mode == "shared",
        permits=permits or 0,
        **options,  # type: ignore[arg-type]
    )
    ctx.exit(hold_and_run(wish))


def hold_and_run(wish: Wish) -> int:
    node = node_for(wish)
    try:
        lock = handle(node, wish)
    except UsageError as error:
        raise WrongUsage(str(error)) from None
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # or we would not hear how it ends
    watchdog, neighbour = helpers(wish)
    node.host.on_renewal = lambda deadline: watchdog.until(deadline + grace(wish.lease))
    session = Session(wish, node, lock, watchdog, neighbour)
    try:
        with complain_about_cluster():
            code = asyncio.run(session.run())
    except Conflict as error:
        raise WrongUsage(str(error)) from None
    finally:
        watchdog.dismiss()
        neighbour.dismiss()
    if session.interrupted or -code in FROM_THE_KEYBOARD:
        end_by(session.interrupted or -code)
    return code if code >= 0 else 128 - code


def node_for(wish: Wish) -> LockNode:
    must_have_descriptors()
    try:
        with complain_about_cluster():
            node = join(wish.cluster, lease=wish.lease, reach=wish.reach)
    except UsageError as error:
        raise WrongUsage(str(error)) from None
    if isinstance(node.host.engine, MemoryEngine):
        raise WrongUsage("memory:// is within one process, and can exclude no other")
    return node


def helpers(wish: Wish) -> tuple[Watchdog, Neighbour]:
    """Before there are any threads.  The watchdog is the last, for it watches our end of
    the line, and nobody else may have that open."""
    environment = {**os.environ, "PEERLOCK_NAME": wish.name}
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    neighbour = Neighbour()
    return Watchdog(Command(wish.command, environment, blocked)), neighbour


def grace(lease: float | None) -> float:
    """Seconds for the command to end by itself, before others can have the lock."""
    return 0.0 if lease is None else margin(lease) / 2


def handle(node: LockNode, wish: Wish) -> Lock:
    if wish.permits and wish.shared:
        raise UsageError("a semaphore is not shared: leave out -s or --permits")
    if wish.permits:
        return node.semaphore(wish.name, wish.permits, algorithm=wish.algorithm)
    return node.lock(wish.name, shared=wish.shared, algorithm=wish.algorithm)


class Session:
    def __init__(
        self,
        wish: Wish,
        node: LockNode,
        lock: Lock,
        watchdog: Watchdog,
        neighbour: Neighbour,
    ) -> None:
        self.wish = wish
        self.node = node
        self.lock = lock
        self.watchdog = watchdog
        self.neighbour = neighbour
        self.started = False
        self.over = asyncio.Event()  # the command has ended, or the lock is lost
        self.unwatched = asyncio.Event()  # the watchdog has ended
        self.interrupted = 0  # by this signal, while we waited for the lock
        self.patience = Patience(0.0 if wish.nonblock else wish.timeout)

    async def run(self) -> int:
        """How the command has ended, a signal being negative; or what we have to say."""
        loop = asyncio.get_running_loop()
        self.task = asyncio.current_task()
        for number in answered():
            loop.add_signal_handler(number, self._signalled, number)
        loop.add_reader(self.watchdog.line, self._hear)
        passing_on = asyncio.ensure_future(self._pass_on_signals())
        try:
            async with member(self.node, self.patience.for_joining):
                return await self._hold()
        except asyncio.CancelledError:
            if self.interrupted:
                return -self.interrupted
            if self.unwatched.is_set():
                raise Helpless("our watchdog was killed while we waited") from None
            raise
        finally:
            passing_on.cancel()

    async def _hold(self) -> int:
        wish, began = self.wish, time.perf_counter()
        try:
            grant = await self._get()
        except (Timeout, WouldBlock):
            if wish.verbose:
                say("failed to get the lock")
            return wish.conflict
        except Lost:
            say(f"lost {wish.name} as soon as we had it")
            return LOST
        if wish.verbose:
            say(f"getting the lock took {time.perf_counter() - began:.6f} seconds")
            say(f"executing {wish.command[0]}")
        try:
            return await self._run(grant)
        except Lost:
            return await self._stop(f"lost {wish.name}")

    async def _get(self) -> Grant:
        left = self.patience.left()
        return await (self.lock.try_acquire() if left == 0 else self.lock.acquire(left))

    async def _run(self, grant: Grant) -> int:
        self.started = True
        self.watchdog.run(grant.fence, self.node.keeps_us_in, not self.wish.close)
        grant.lost.add_done_callback(lambda _: self.over.set())
        await self.over.wait()
        if self.watchdog.status is None and not grant.is_lost:
            return await self._stop("the watchdog was killed")
        grant.release()
        assert self.watchdog.status is not None
        return self.watchdog.status

    async def _stop(self, why: str) -> int:
        """Before our lease is over: others may be let in then."""
        self.watchdog.stop(grace(self.wish.lease))
        await self.unwatched.wait()
        done = self.watchdog.status is not None or self.watchdog.take_over()
        say(f"{why}: {'stopped' if done else 'cannot stop'} {self.wish.command[0]}")
        return LOST

    def _hear(self) -> None:
        if not self.watchdog.hear():
            asyncio.get_running_loop().remove_reader(self.watchdog.line)
            self.unwatched.set()
            self.over.set()
            self._give_up()
        elif self.watchdog.status is not None and -self.watchdog.status in FOR_ALL:
            self.watchdog.stop(inf)  # what it has left behind, too

    def _give_up(self) -> None:
        if not self.started and self.task is not None:
            self.task.cancel()

    def _signalled(self, number: int) -> None:
        if self.started:
            self.neighbour.came(number)
        else:
            self.interrupted = number
            self._give_up()

    async def _pass_on_signals(self) -> None:
        while True:
            number, for_all = await self.neighbour.next()
            if self.watchdog.status is not None:  # there is only what it has left behind
                self.watchdog.stop(inf)
            elif not for_all:
                self.watchdog.send_signal(number)
