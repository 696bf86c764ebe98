"""Small errors in what ships, as data: some words of one function are replaced.

Each mutant was written down before the tests that catch it, or is one that an outsider had
made.  It is caught by the seeds of test_cluster.py, or by a test that is named.
docs/mutants.md is the table of all of them.
"""

from __future__ import annotations

import inspect
import sys
import textwrap
from typing import Any, NamedTuple

import pytest

from peerlock.api.beat import Beat
from peerlock.api.driver import BesideLoop
from peerlock.node.circles import Circles
from peerlock.node.fences import Fences
from peerlock.node.homes import Homes
from peerlock.node.links import Link
from peerlock.node.locks import NamedLock
from peerlock.node.mail import Mail
from peerlock.node.node import Node
from peerlock.node.presence import Presence
from peerlock.node.turnstile import Turnstile
from peerlock.runtime.host import CARRIERS, Host

SEEDS = "seeds"


class Rewritten(NamedTuple):
    what: str
    owner: type
    function: str
    old: str
    new: str
    caught_by: str = SEEDS

    def __str__(self) -> str:
        return self.what

    def apply(self, patch: pytest.MonkeyPatch) -> None:
        found = inspect.getattr_static(self.owner, self.function)
        source = textwrap.dedent(inspect.getsource(getattr(found, "fget", found)))
        assert source.count(self.old) == 1, f"{self.function} has changed: {self.old!r}"
        made: dict[str, Any] = {}
        code = "from __future__ import annotations\n" + source.replace(self.old, self.new)
        exec(code, vars(sys.modules[self.owner.__module__]), made)
        patch.setattr(self.owner, self.function, made[self.function])
        for kind, method in CARRIERS.items():
            if method is found:
                patch.setitem(CARRIERS, kind, made[self.function])


M, P, H, N = Rewritten, Presence, Host, Node

NAMED = (
    M("the margin is ignored", P, "_lease_until", "ours - margin(self.lease)", "ours"),
    M(
        "it joins again without waiting for the margin",
        P,
        "look",
        "if self.clock() < until:",
        "if False:",
    ),
    M(
        "no timer at the end of the lease",
        P,
        "_set_deadline",
        "self._set_alarm(LEASE, deadline)",
        "pass",
        "test_presence.test_a_lease_ends_a_margin_before_others_can_have_the_place",
    ),
    M(
        "a renewal counts from the answer",
        P,
        "renewed",
        "asked_at + self.lease",
        "self.clock() + self.lease",
        "test_presence.test_a_lease_is_counted_from_before_the_question",
    ),
    M(
        "a former self is renewed",
        P,
        "_is_about_us",
        "if not isinstance(question, Renew) or not self.node.member:",
        "self.node.member = True\n    if not isinstance(question, Renew):",
    ),
)


PRESENCE = (
    M(
        "an error of the engine counts as a renewal",
        P,
        "failed",
        "self._look_at_clocks()",
        "self.node.member and self._lease_until(self.clock() + 3.0, self.clock() + 3.0)",
    ),
    M(
        "views that are heard while out are forgotten",
        P,
        "_see",
        "self._newest = max(self._newest, view)",
        "pass",
        "test_presence.test_a_view_heard_before_the_join_is_answered_is_seen_after_it",
    ),
    M(
        "a member that is put out does not join again",
        P,
        "_go_on",
        "self._again or not self.node.member",
        "self._again",
        "test_presence.test_who_is_out_joins_again_in_a_later_view",
    ),
    M(
        "connections to former members are kept",
        P,
        "_go_with",
        "self._drop(member)",
        "pass",
    ),
    M(
        "connections are kept when it joins again",
        P,
        "joined",
        "self._drop(member)",
        "pass",
    ),
    M(
        "a broken connection is not dialled again",
        P,
        "disconnected",
        "self.wanted(member)",
        "pass",
        "test_presence.test_a_broken_connection_is_made_anew",
    ),
    M(
        "the node does not hear of a new connection",
        P,
        "connected",
        "self.node.connected(member, line.again)",
        "pass",
    ),
    M(
        "a dial that failed is not repeated",
        P,
        "unreachable",
        "self._dial_later(member, line)",
        "pass",
    ),
    M(
        "no member asks about one that is out of touch",
        P,
        "suspect",
        "self.look()",
        "pass",
        "test_presence.test_one_that_may_be_dead_is_asked_about",
    ),
    M(
        "a change is not passed on",
        P,
        "renewed",
        "if changed and self.node.member:",
        "if False:",
        "test_presence.test_the_elders_are_told_of_a_view_that_we_have_changed",
    ),
    M(
        "several questions at once",
        P,
        "look",
        "if self._asked is not None:",
        "if False:",
        "test_presence.test_what_calls_for_a_look_meanwhile_calls_for_one_more",
    ),
    M(
        "a look that is asked for meanwhile is forgotten",
        P,
        "look",
        "self._again = True",
        "pass",
        "test_presence.test_what_calls_for_a_look_meanwhile_calls_for_one_more",
    ),
    M(
        "a join that failed is never repeated",
        P,
        "failed",
        "self.clock() + min(self._pace, RETRY_AT_MOST)",
        "inf",
    ),
    M(
        "a join that failed is repeated at once",
        P,
        "failed",
        "self._set_alarm(JOIN, self.clock() + min(self._pace, RETRY_AT_MOST))",
        "pass",
        "test_presence.test_a_join_that_fails_is_tried_again_after_a_pause",
    ),
    M(
        "locks are kept when all members are gone",
        P,
        "failed",
        "self._put_out()",
        "pass",
        "test_presence.test_when_all_members_are_gone_what_they_held_is_lost",
    ),
    M(
        "a pause of the machine is not noticed",
        P,
        "_mind_pauses",
        "if not self.between_machines:",
        "if True:",
        "test_presence.test_a_pause_of_the_machine_shortens_the_lease",
    ),
    M(
        "a pause while it was joining is not noticed",
        P,
        "_lease_until",
        "self._mind_pauses()",
        "self._look_at_clocks()",
        "test_presence.test_a_pause_while_it_was_joining_counts",
    ),
    M(
        "the wall clock counts on one machine, too",
        P,
        "_mind_pauses",
        "if not self.between_machines:",
        "if False:",
        "test_presence.test_on_one_machine_all_stood_still",
    ),
    M(
        "a wall clock that is set back gives time",
        P,
        "_mind_pauses",
        "gained > self._jumped + margin(self.lease) / 10",
        "abs(gained - self._jumped) > margin(self.lease) / 10",
        "test_presence.test_a_wall_clock_that_is_set_back_gives_no_time",
    ),
    M(
        "a jump of the wall clock counts at every look",
        P,
        "_mind_pauses",
        "self._jumped = gained",
        "pass",
        "test_presence.test_a_pause_counts_once",
    ),
    M(
        "a tick that fails is the last",
        P,
        "wake",
        "self._alarms[TICK] = now + self._pace",
        "pass",
    ),
    M(
        "a step that failed counts as done",
        P,
        "stumbled",
        "self.node.lose_everything()",
        "pass",
        "test_presence.test_a_step_that_fails_loses_what_is_held_and_the_tick_goes_on",
    ),
    M(
        "a step that failed is not shown",
        P,
        "faulted",
        "self._fault, self._sound = what, False",
        "pass",
        "test_presence.test_a_step_that_fails_loses_what_is_held_and_the_tick_goes_on",
    ),
    M(
        "fences are never reserved",
        P,
        "look",
        "self.node.wants_fences and not self._reserved",
        "False",
        "test_presence.test_fences_that_run_low_are_reserved_before_a_renewal",
    ),
    M(
        "reserved fences are used before the view is read",
        P,
        "reserved",
        "self._reserved = number",
        "self.node.reserved(number, self.node.view.number)",
        "test_presence.test_fences_that_run_low_are_reserved_before_a_renewal",
    ),
    M(
        "the pause between dials grows without bound",
        P,
        "_dial_later",
        "min(2 * line.pause, RETRY_AT_MOST)",
        "2 * line.pause",
        "test_presence.test_who_accepts_and_hangs_up_is_dialled_after_pauses_that_grow",
    ),
    M(
        "the pause between dials is never reset",
        P,
        "wanted",
        "line.pause = RETRY",
        "pass",
        "test_presence.test_pauses_begin_anew_when_a_connection_has_lasted",
    ),
    M(
        "a member that hangs up is dialled at once",
        P,
        "wanted",
        "if self.clock() - line.since < RETRY_AT_MOST:",
        "if False:",
        "test_presence.test_who_accepts_and_hangs_up_is_dialled_after_pauses_that_grow",
    ),
    M(
        "a member that joins again does not say what it has seen",
        P,
        "look",
        "Join(self._address, self.node.fences.number)",
        "Join(self._address, 0)",
        "test_presence.test_who_is_out_joins_again_in_a_later_view",
    ),
    M(
        "a renewal that comes too late counts",
        P,
        "_is_about_us",
        " or not self.node.member",
        "",
        "test_presence.test_a_renewal_that_comes_when_the_lease_is_over_is_none",
    ),
    M(
        "trouble is never over",
        P,
        "renewed",
        "self._reason = reason",
        "self._reason = reason or self._reason",
        "test_presence.test_a_question_that_failed_is_asked_again_at_the_next_tick",
    ),
    M(
        "a join that took longer than its lease counts",
        P,
        "joined",
        "self._lease_until(deadline, deadline)",
        "self._lease_until(max(deadline, self.clock() + 1.0), deadline)",
        "test_presence.test_a_join_that_took_longer_than_its_lease_is_none",
    ),
    M(
        "a member that leaves notifies no other",
        P,
        "leave",
        "self._untold = set(self.node.elders)",
        "pass",
        "test_presence.test_who_leaves_tells_the_elders_that_it_is_connected_to",
    ),
    M(
        "an engine that tells by itself is asked all the same",
        P,
        "suspect",
        " and not self.watching",
        "",
        "test_presence.test_an_engine_that_tells_by_itself_is_not_asked",
    ),
    M(
        "a member that was put out waits for the end of its lease",
        P,
        "_put_out",
        "self._place_free_at = -inf",
        "pass",
        "test_presence.test_who_was_put_out_joins_again_at_once",
    ),
    M(
        "an elder that is not connected is not notified later",
        P,
        "_tell_elders",
        "self._untold = elders - up",
        "pass",
        "test_presence.test_an_elder_that_is_not_connected_is_told_once_it_is",
    ),
    M(
        "a second pause counts with the first one",
        P,
        "_mind_pauses",
        "(gained - self._jumped)",
        "gained",
        "test_presence.test_two_pauses_count_once_each",
    ),
    M(
        "a lease is not shortened by less than the one before",
        P,
        "_lease_until",
        "self._jumped = 0.0",
        "pass",
        "test_presence.test_a_shorter_pause_after_a_renewal_counts",
    ),
    M(
        "the end of a rest delays the next tick",
        P,
        "stir",
        "min(self._alarms.get(TICK, at), at)",
        "at",
        "test_presence.test_the_end_of_a_rest_does_not_delay_the_next_tick",
    ),
    M(
        "a member is dialled for the former self, too",
        P,
        "_drop",
        "self._alarms.pop(member, None)",
        "pass",
        "test_presence.test_who_joins_again_dials_a_member_once",
    ),
    M(
        "an error does not find that the lease is over",
        P,
        "failed",
        "self._look_at_clocks()",
        "pass",
        "test_presence.test_after_a_suspension_an_error_finds_the_lease_over",
    ),
)

HOST = (
    M(
        "a connection comes without a greeting",
        H,
        "_connected",
        "connection.send(Hello(VERSION, self.engine.cluster, node.me))",
        "pass",
        "test_host.test_two_hosts_talk",
    ),
    M(
        "what follows from a step that failed is not carried out",
        H,
        "step",
        "self.loop.call_soon_threadsafe(self._carry_out)",
        "pass",
        "test_host.test_a_tick_that_fails_is_reported_and_the_heart_beats_on",
    ),
    M(
        "an engine that fails unforeseen leaves the question open",
        H,
        "_ask",
        "answer = partial(self.presence.failed, repr(error))",
        "return",
        "test_host.test_an_engine_that_fails_in_an_unforeseen_way_is_asked_again",
    ),
    M(
        "leases are counted on CLOCK_MONOTONIC",
        H,
        "__init__",
        "Node(clock.now, knobs)",
        "Node(time.monotonic, knobs)",
        "test_host.test_a_holder_that_was_suspended_has_lost",
    ),
    M(
        "timers are never compared with the lease clock",
        H,
        "_set_timer",
        "abs(self._timer_due - due) <= PRECISION and ",
        "",
        "test_host.test_timers_are_set_again_by_the_difference_of_the_clocks",
    ),
    M(
        "a socket that cannot be looked at is no trouble",
        H,
        "_be_found",
        'self.step(self.presence.hidden, f"cannot be reached by others: {words(error)}")',
        "pass",
        "test_host.test_a_socket_that_cannot_be_looked_at_does_not_end_the_renewals",
    ),
    M(
        "a member that is not connected is not dialled",
        H,
        "flush",
        "self._tell(self.presence.wanted, member)",
        "pass",
        "test_host.test_a_member_whose_connection_is_gone_is_dialled_when_wanted",
    ),
    M(
        "the end of another's connection is not noticed",
        H,
        "closed",
        "self._tell(self.presence.suspect, sender)",
        "pass",
        "test_host.test_the_end_of_a_members_connection_is_a_reason_to_look",
    ),
    M(
        "a connection that comes up after it was hung up is kept",
        H,
        "_connect",
        "if self._dialling.get(member) is not connection:",
        "if False:",
        "test_host.test_a_connection_that_was_hung_up_while_it_was_dialled_is_closed",
    ),
    M(
        "the presence does not hear of a step that failed",
        H,
        "step",
        "self.presence.stumbled(repr(error))",
        "pass",
        "test_host.test_a_step_that_ends_in_the_middle_is_followed_by_a_fresh_start",
    ),
    M(
        "one effect that fails ends all",
        H,
        "_carry_out",
        "except Exception as error:",
        "except RemoteError as error:",
        "test_host.test_a_fault_in_carrying_something_out_does_not_end_the_renewals",
    ),
    M(
        "a member that has rested does not compare its clocks",
        P,
        "stir",
        "self._look_at_clocks()",
        "pass",
        "test_presence.test_a_member_that_rested_over_a_pause_notices_it_when_it_is_used",
    ),
    M(
        "the wall clock is never looked at",
        H,
        "__init__",
        "time.time,",
        "lambda: 0.0,",
        "test_host.test_a_wall_clock_that_jumps_shortens_a_lease_between_machines",
    ),
    M(
        "a blocked loop loses what it holds at the end of its lease",
        Beat,
        "_look",
        "lease - pace - margin(lease)",
        "lease - pace",
        "test_blocked_loops.test_what_a_blocked_loop_holds_is_lost_a_margin_before_the_"
        "end_of_its_lease",
    ),
    M(
        "a loop that has just answered loses what it holds",
        Beat,
        "_take_all",
        "if self._asked_at is None:",
        "if False:",
        "test_blocked_loops.test_an_answer_just_before_the_loss_is_in_time",
    ),
    M(
        "the patrol ends at its first visit",
        BesideLoop,
        "_patrol",
        "bool(again) or not stuck",
        "bool(again)",
        "test_blocked_loops.test_a_turn_that_a_blocked_loop_has_to_take_is_taken_at_the_"
        "second_visit",
    ),
)

NODE = (
    M(
        "a gap is accepted",
        Link,
        "accept",
        "if known < 0:",
        "known = max(known, 0)\n    if False:",
    ),
    M(
        "a gap is not noticed",
        Link,
        "accept",
        'raise RemoteError(f"message {batch.first} follows {self.received}")',
        "return ()",
    ),
    M(
        "what is new is taken with what came before",
        Link,
        "accept",
        "messages[known:] if known else messages",
        "messages",
        "test_links.test_each_message_is_accepted_once_and_in_order",
    ),
    M(
        "what came early is taken in another order",
        Mail,
        "catch_up",
        "return due",
        "return due[::-1]",
        "test_mail.test_all_early_batches_are_kept_in_order",
    ),
    M(
        "a member that is out keeps its links",
        Mail,
        "forget",
        "self._links.clear()",
        "pass",
        "test_node.test_a_member_that_is_out_says_nothing_more",
    ),
    M(
        "the next one is not served when one gives up",
        Turnstile,
        "give_up",
        "self.serve(lock)",
        "pass",
        "test_turnstile.test_a_user_that_gives_up_lets_those_behind_it_in",
    ),
    M(
        "a name is kept when the last one gives up",
        Turnstile,
        "give_up",
        "self._circles.forget_if_unused(lock)",
        "pass",
        "test_turnstile.test_a_user_that_gives_up_before_there_is_a_view_leaves_nothing",
    ),
    M(
        "a turn continues after the end of the lease",
        Turnstile,
        "_start_turns",
        "min(ends, slot.until)",
        "ends",
        "test_turnstile.test_together_nothing_is_taken_after_the_end_of_the_lease",
    ),
    M(
        "a member that is alone continues after the end of the lease",
        Turnstile,
        "_start_turns",
        "slot.until = self.deadline",
        "slot.until = float('inf')",
        "test_turnstile.test_alone_nothing_is_taken_after_the_end_of_the_lease",
    ),
    M(
        "a member that is alone stays without bounds when another comes",
        Turnstile,
        "_bound",
        "if slot.peer is not None else UNBOUNDED",
        "if slot.left < 0 else UNBOUNDED",
        "test_turnstile.test_the_quick_way_is_bounded_too",
    ),
    M(
        "a lock is put back although others wait",
        Turnstile,
        "put_back",
        "lock.waiters or ",
        "",
        "test_turnstile.test_a_lock_that_a_local_user_waits_for_is_not_put_back",
    ),
    M(
        "what lingers is kept when another asks",
        Circles,
        "_to_peer",
        "self.turnstile.called_for(lock)",
        "pass",
        "test_turnstile.test_what_lingers_is_let_go_of_as_soon_as_another_asks",
    ),
    M(
        "a lock lingers although another waits",
        Turnstile,
        "release",
        "if slot.peer is None or not slot.peer.others_may_wait:",
        "if True:",
        "test_turnstile.test_what_lingers_and_is_in_use_is_let_go_of_at_the_turn_after_"
        "another_has_asked",
    ),
    M(
        "a lock that is in use is let go of when another asks",
        Turnstile,
        "called_for",
        "slot.here and not slot.users",
        "slot.here",
        "test_turnstile.test_what_lingers_and_is_in_use_is_let_go_of_at_the_turn_after_"
        "another_has_asked",
    ),
    M(
        "the quick way forgets that another has asked",
        Turnstile,
        "called_for",
        "lock.lingers = False",
        "pass",
        "test_turnstile.test_what_lingers_and_is_in_use_is_let_go_of_at_the_turn_after_"
        "another_has_asked",
    ),
    M(
        "what lingers is never given back",
        Circles,
        "sweep",
        "self.turnstile.called_for(lock)",
        "pass",
        "test_turnstile.test_what_lingers_unused_is_given_back",
    ),
    M(
        "what lingers does not count as idle",
        Turnstile,
        "release",
        "self._circles.rest(lock, used=True)",
        "pass",
        "test_turnstile.test_what_lingers_unused_is_given_back",
    ),
    M(
        "what lingers is given back although it is taken in the quick way",
        Circles,
        "sweep",
        "k.slots[0].left != left",
        "False",
        "test_turnstile.test_what_lingers_and_is_used_in_the_quick_way_is_kept",
    ),
    M(
        "a lock is kept although all hand-overs were used",
        Turnstile,
        "release",
        "or not slot.left ",
        "",
        "test_turnstile.test_one_that_comes_when_all_hand_overs_were_used_asks_a_turn_later",
    ),
    M(
        "a user that comes when a bound was reached asks again at once",
        Turnstile,
        "_let_go",
        "(lock.waiters or not in_time)",
        "lock.waiters",
        "test_turnstile.test_one_that_comes_when_all_hand_overs_were_used_asks_a_turn_later",
    ),
    M(
        "a former home says nothing to a member that asks it",
        N,
        "_receive_open",
        "message.view < self.view.number",
        "False",
        "test_circles.test_a_member_that_asks_a_former_home_learns_that_there_is_a_later_view",
    ),
    M(
        "a local user waits for what lingers",
        Turnstile,
        "serve",
        "if lock.lingers and lock.waiters:",
        "if False:",
        "test_turnstile.test_a_local_user_that_cannot_come_back_asks_anew_at_once",
    ),
    M(
        "a tick does not acknowledge",
        Mail,
        "acknowledge",
        "link.remind() or link.owes_acknowledgement",
        "link.remind()",
    ),
    M(
        "nothing is repeated that goes unanswered",
        Mail,
        "acknowledge",
        "link.remind() or link.owes_acknowledgement",
        "link.owes_acknowledgement",
        "test_mail.test_the_last_batch_on_a_live_connection_is_not_lost_in_silence",
    ),
    M(
        "what comes twice is not acknowledged again",
        Link,
        "accept",
        "if messages:",
        "if False:",
        "test_mail.test_an_acknowledgement_that_was_lost_is_repeated",
    ),
    M(
        "a batch is taken after the end of the lease",
        N,
        "receive",
        "self.lose_everything()",
        "pass",
        "test_node.test_a_batch_finds_that_the_lease_is_over",
    ),
    M(
        "a batch repeats what was not sent yet",
        Link,
        "remind",
        " and not self._fresh",
        "",
        "test_links.test_what_was_not_sent_yet_is_no_reminder",
    ),
    M(
        "what was kept for a former self is heard",
        Mail,
        "forget",
        "self._ahead.clear()",
        "pass",
        "test_mail.test_a_member_that_is_out_itself_keeps_nothing_for_the_one_that_"
        "it_becomes",
    ),
    M(
        "the oldest message that is kept says whether a view is asked for",
        Mail,
        "waits_for_view",
        "kept[-1]",
        "kept[0]",
        "test_mail.test_what_comes_after_the_question_calls_for_another_one_at_once",
    ),
    M(
        "a limit that is heard replaces a higher one",
        Fences,
        "_hear_of_more",
        "if limit > self.limit:",
        "if True:",
        "test_fences.test_a_higher_fence_of_one_that_knows_less_leaves_the_limit_as_it_is",
    ),
    M(
        "an idle name stays open when others come and go",
        Circles,
        "rest",
        "used or lock not in self._idle_for_longer",
        "True",
        "test_trouble.test_a_name_is_given_back_though_others_begin_and_cease_to_use_it_all_"
        "the_time",
    ),
    M(
        "a new epoch counts as a use of the name",
        Turnstile,
        "serve",
        "used=False",
        "used=True",
        "test_trouble.test_a_name_is_given_back_though_others_begin_and_cease_to_use_it_all_"
        "the_time",
    ),
    M(
        "a lock lingers on in the next epoch",
        NamedLock,
        "halt",
        "self.lingers = False",
        "self.lingers = getattr(self, 'lingers', False)",
        "test_turnstile.test_what_has_lingered_may_be_idle_while_the_circle_is_formed_anew",
    ),
    M(
        "a lock that was to be let go of at a loss never is again",
        Turnstile,
        "lose_everything",
        "lock.marked = False",
        "pass",
        "test_turnstile.test_what_was_to_be_let_go_of_when_all_was_lost_is_let_go_"
        "of_again_later",
    ),
    M(
        "a reader waits for holders of the epoch",
        Turnstile,
        "_others_wait",
        "lock.order[lock.entering :]",
        "lock.order",
        "test_turnstile.test_a_reader_from_before_the_epoch_joins_if_no_other_member_waits",
    ),
    M(
        "a reader waits for those of an earlier grant",
        Turnstile,
        "_start_turns",
        "slot.joinable = LONG_AGO",
        "pass",
        "test_turnstile.test_a_reader_from_before_the_epoch_joins_readers_that_are_"
        "in_by_a_later_grant",
    ),
    M(
        "a probe is answered by what was said before",
        Turnstile,
        "_judge_probe",
        "waiter.others = None",
        "pass",
        "test_turnstile.test_a_probe_that_is_put_again_asks_all_again",
    ),
    M(
        "newcomers are not asked by a probe",
        Turnstile,
        "probe",
        "waiter.others is None or waiter.others.epoch != lock.epoch",
        "waiter.others is None",
        "test_turnstile.test_all_are_asked_again_when_the_circle_is_formed_anew_"
        "before_all_have_said_so",
    ),
    M(
        "the death of one that was refused concerns the name",
        Homes,
        "_open_if_all_formed",
        "{*entry.circle, *forming.newcomers}",
        "{*entry.circle}",
        "test_homes.test_who_was_refused_may_die_when_the_name_is_gone",
    ),
    M(
        "a former home waits for answers",
        Homes,
        "_drop",
        "self._forming.pop(name, None)",
        "pass",
        "test_homes.test_a_former_home_waits_for_no_answer_any_more",
    ),
    M(
        "a demand that was given up keeps its place",
        Homes,
        "_open_if_all_formed",
        "since.setdefault(member, request.since)",
        "since[member] = request.since",
        "test_homes.test_a_member_waits_for_its_first_waiter_although_another_has_"
        "asked_the_home",
    ),
)

ALL = (*NAMED, *PRESENCE, *HOST, *NODE)
