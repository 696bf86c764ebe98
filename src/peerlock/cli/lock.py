"""`peerlock lock NAME -- COMMAND`: like flock(1), across the cluster."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from dataclasses import dataclass

import click

from peerlock.algorithms.catalogue import UsageError
from peerlock.api.errors import Conflict, Lost, Timeout, WouldBlock
from peerlock.api.meeting import Reach
from peerlock.api.tasks import Grant, Lock, LockNode, join
from peerlock.cli.child import Child
from peerlock.cli.joining import Patience, member
from peerlock.cli.output import (
    cluster_option,
    complain_about_cluster,
    lease_option,
    reach_options,
)
from peerlock.cli.watchdog import Watchdog
from peerlock.runtime.host import margin

# Exit codes, from flock(1) and sysexits.h.
NOT_ACQUIRED = 1
USAGE = 64
LOST = 75

FORWARDED = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGWINCH,
)
FATAL = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class WrongUsage(click.UsageError):
    exit_code = USAGE


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
@click.option("-s", "--shared", is_flag=True, help="Share it with others that share it.")
@click.option("-x", "-e", "--exclusive", is_flag=True, help="Have it alone (the default).")
@click.option(
    "-n", "--nb", "--nonblock", "nonblock", is_flag=True, help="Fail rather than wait."
)
@click.option(
    "-w",
    "--wait",
    "--timeout",
    "timeout",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="Wait no longer than this.",
)
@click.option(
    "-E",
    "--conflict-exit-code",
    "conflict",
    type=click.IntRange(0, 255),
    default=NOT_ACQUIRED,
    show_default=True,
    metavar="CODE",
    help="Exit code if it was not to be had with -n or -w.",
)
@click.option("-c", "--command", "shell", metavar="STRING", help="Run this in a shell.")
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
    shell: str | None,
    exclusive: bool,
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
    is ours; 128 + N if signal N ended it.

    To join the cluster counts as waiting, but it may always take 3 seconds: with -n, and
    with -w if that is less.  If it takes longer, there is no cluster to be had.

    \b
    Other exit codes:
      1    the lock was not to be had with -n or -w (or what -E says)
      64   wrong usage
      69   COMMAND cannot be run, or there is no cluster to be had
      75   the lock was lost, and COMMAND and all it started was stopped
    """
    if shell is not None:
        if command:
            raise WrongUsage("either -c or a command, not both")
        command = (os.environ.get("SHELL") or "/bin/sh", "-c", shell)
    if not command:
        raise WrongUsage(f"say what to run: peerlock lock {name} -- COMMAND")
    if permits is not None and permits < 1:
        raise WrongUsage(f"at least 1 permit, not {permits}")
    wish = Wish(
        name=name,
        command=command,
        permits=permits or 0,
        **options,  # type: ignore[arg-type]
    )
    ctx.exit(hold_and_run(wish))


def hold_and_run(wish: Wish) -> int:
    environment = {**os.environ, "PEERLOCK_NAME": wish.name}
    try:
        with complain_about_cluster():
            node = join(wish.cluster, lease=wish.lease, reach=wish.reach)
        lock = handle(node, wish)
    except UsageError as error:
        raise WrongUsage(str(error)) from None
    child = Child(wish.command, environment)  # before there are any threads
    watchdog = Watchdog(child.pid)
    node.host.on_renewal = lambda deadline: watchdog.until(deadline + grace(wish.lease))
    try:
        with complain_about_cluster():
            return asyncio.run(Session(wish, node, lock, child).run())
    except Conflict as error:
        raise WrongUsage(str(error)) from None
    finally:
        child.abandon()
        watchdog.dismiss()


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
    def __init__(self, wish: Wish, node: LockNode, lock: Lock, child: Child) -> None:
        self.wish = wish
        self.node = node
        self.lock = lock
        self.child = child
        self.over = asyncio.Event()  # the child has ended, or the lock is lost
        self.interrupted = 0  # by this signal, while we waited for the lock
        self.patience = Patience(0.0 if wish.nonblock else wish.timeout)

    async def run(self) -> int:
        loop = asyncio.get_running_loop()
        self.task = asyncio.current_task()
        for number in FORWARDED:
            loop.add_signal_handler(number, self._signalled, number)
        loop.add_signal_handler(signal.SIGCHLD, self._look_after_child)
        try:
            async with member(self.node, self.patience.for_joining):
                return await self._hold()
        except asyncio.CancelledError:
            if not self.interrupted:
                raise
            return 128 + self.interrupted

    async def _hold(self) -> int:
        wish, began = self.wish, time.perf_counter()
        try:
            grant = await self._get()
        except (Timeout, WouldBlock):
            if wish.verbose:
                self._say("failed to get the lock")
            return wish.conflict
        if wish.verbose:
            self._say(f"getting the lock took {time.perf_counter() - began:.6f} seconds")
            self._say(f"executing {wish.command[0]}")
        try:
            self.child.run(grant.fence, None if wish.close else self.node.keeps_us_in)
            await self._until_ended_or(grant)
            grant.release()
        except Lost:
            await self._stop_child()
            self._say(f"lost {wish.name}: stopped {wish.command[0]}")
            return LOST
        assert self.child.status is not None
        return self.child.status

    async def _get(self) -> Grant:
        left = self.patience.left()
        return await (self.lock.try_acquire() if left == 0 else self.lock.acquire(left))

    async def _until_ended_or(self, grant: Grant) -> None:
        grant.lost.add_done_callback(lambda _: self.over.set())
        await self.over.wait()

    async def _stop_child(self) -> None:
        """Before our lease is over: others may be let in then."""
        self.child.send_signal(signal.SIGTERM)
        self.child.send_signal(signal.SIGCONT)
        try:
            async with asyncio.timeout(grace(self.wish.lease)):
                while self.child.status is None:
                    self.over.clear()
                    await self.over.wait()
        except TimeoutError:
            pass
        self.child.send_signal(signal.SIGKILL)

    def _signalled(self, number: int) -> None:
        if self.child.started:
            self.child.send_signal(number)
        elif number in FATAL and self.task is not None:
            self.interrupted = number
            self.task.cancel()

    def _look_after_child(self) -> None:
        if self.child.reap():  # stopped, as by Ctrl-Z: so are we, until we are continued
            os.killpg(os.getpgrp(), signal.SIGSTOP)
            if self.node.host.node.check_lease():
                self.child.resume()
        elif self.child.status is not None:
            self.over.set()

    def _say(self, text: str) -> None:
        print(f"peerlock: {text}", file=sys.stderr)
