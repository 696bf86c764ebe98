"""Small errors, put into the engines on purpose; the tests must notice each.

A mutant is a text in a file of `peerlock.membership`, and another in its place.  It is
caught when one of the named tests fails on a copy of the package with that text.

    python -m tests.membership.mutants          all of them, which takes some minutes
    python -m tests.membership.mutants WORDS    those with these words in what they break
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "peerlock"
PATIENCE = 600.0


class Mutant(NamedTuple):
    file: str
    old: str
    new: str
    breaks: str  # what
    tests: str  # that notice it, as pytest's -k wants them

    def apply(self, text: str) -> str:
        assert text.count(self.old) == 1, f"{self.file}: {self.old!r} is not there once"
        return text.replace(self.old, self.new)

    def is_caught(self) -> bool:
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "peerlock"
            shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
            file = copy / "membership" / self.file
            file.write_text(self.apply(file.read_text()))
            command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
            service = self.file.removesuffix(".py").partition("_")[0]
            command += sorted(map(str, Path(__file__).parent.glob(f"test_{service}*.py")))
            command += ["-k", self.tests]
            environment = {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"}
            done = subprocess.run(
                command, cwd=ROOT, env=environment, capture_output=True, timeout=PATIENCE
            )
        assert done.returncode in (0, 1), done.stdout.decode()[-2000:]
        return done.returncode == 1


MUTANTS = [
    # Leases
    Mutant(
        "etcd.py",
        'return int(answer.body["ID"]), ttl, answer.sent + ttl',
        'return int(answer.body["ID"]), ttl, now() + ttl',
        "the first lease is counted from after the answer",
        "late_answer",
    ),
    Mutant(
        "etcd.py",
        'return answer.sent, int(answer.body.get("TTL", 0)), term_of(answer.body)',
        'return now(), int(answer.body.get("TTL", 0)), term_of(answer.body)',
        "a renewal is counted from after the answer",
        "late_answer",
    ),
    Mutant(
        "etcd_gateway.py",
        "return EtcdAnswer(sent, result)",
        "return EtcdAnswer(now(), result)",
        "every question is counted from after its answer",
        "from_before_the_question",
    ),
    Mutant(
        "etcd_gateway.py",
        "from peerlock.membership.clock import now",
        "from time import monotonic as now",
        "leases are counted on a clock that stands still while the machine sleeps",
        "machine_sleeps",
    ),
    Mutant(
        "etcd.py",
        "sent + ttl if me in snapshot",
        "sent + ttl if self._me in snapshot",
        "a former self is renewed",
        "former_self_is_not",
    ),
    Mutant(
        "etcd.py",
        "if snapshot.term == term:",
        "if term:",
        "a deposed leader's answer counts",
        "nobody_else_was_elected",
    ),
    Mutant(
        "etcd.py",
        "min(PATIENCE, self.lease / 2)",
        "min(PATIENCE, self.lease * 2)",
        "a question about the lease may take longer than the lease",
        "given_up_in_time",
    ),
    Mutant(
        "etcd.py",
        "return since + (lease.ttl if self._hasty else 0)",
        "return since",
        "an etcd that takes leases away too early is believed",
        "too_early_nobody",
    ),
    Mutant(
        "etcd.py",
        "since = self._gone_since.get(member, now())",
        "since = now()",
        "the dead are put out never, if etcd is older",
        "too_early_nobody",
    ),
    # Coming and going
    Mutant(
        "etcd.py",
        "conditions = [absent(self._keys.of_lease(old.leases[i].id)) for i in dead]",
        "conditions = []",
        "a member is put out though its key is there again",
        "there_again",
    ),
    Mutant(
        "etcd.py",
        "conditions += [there(self._keys.of_lease(lease)) for lease in newcomers]",
        "",
        "a member is let in whose key has gone meanwhile",
        "gone_meanwhile",
    ),
    Mutant(
        "etcd_views.py",
        "unchanged = value_is(key, old.raw) if old.raw else absent(key)",
        "unchanged = value_is(key, old.raw) if not old.raw else absent(b'x')",
        "a view replaces another that its writer has not seen",
        "come_and_go or crowd",
    ),
    Mutant(
        "etcd.py",
        "operations.append(delete(self._keys.of_lease(self._lease_id)))",
        "pass",
        "a former self stays until its lease ends",
        "former_self_is_out",
    ),
    Mutant(
        "etcd_keys.py",
        "return {i for i in self.dead if self.state.leases[i].id in former}",
        "return set()",
        "a member that is back waits for the end of its former self",
        "need_not_wait",
    ),
    Mutant(
        "etcd.py",
        "        self._mourn(snapshot.dead)\n",
        "",
        "the dead that a broken watch has missed wait for a renewal",
        "broken_watch",
    ),
    Mutant(
        "etcd.py",
        "await self._vanish(lease)",
        "pass",
        "a member that did not join after all stays in",
        "does_not_want_to_join",
    ),
    # Numbers
    Mutant(
        "etcd.py",
        "return max(self._views.highest, by_clock)",
        "return by_clock",
        "a member that has seen higher numbers forgets them",
        "the_time_are_lost",
    ),
    Mutant(
        "etcd.py",
        "seen = [state.register.highest, *(card.beyond for card in newcomers.values())]",
        "seen = [state.register.highest]",
        "numbers that a newcomer has seen are given again",
        "former_self_is_out",
    ),
    Mutant(
        "etcd.py",
        "elif state.mark.term != snapshot.term:",
        "elif False:",
        "fences fall after a data directory was copied back",
        "election or copied_back",
    ),
    Mutant(
        "etcd.py",
        "by_clock = clock_or_zero() if self._quiet_until > -inf else 0",
        "by_clock = 0",
        "fences fall after a snapshot was restored",
        "numbers_grow",
    ),
    Mutant(
        "etcd_views.py",
        "await asyncio.sleep(early(change.state.register.highest, time.time()))",
        "await asyncio.sleep(0)",
        "numbers run ahead of the clock",
        "ahead_of_the_clock",
    ),
    Mutant(
        "etcd.py",
        "if state.view.number > self._shown or state.register.highest > self._limit:",
        "if state.register.highest > self._limit + (1 << 40):",
        "a block is taken though another member has just taken one",
        "without_a_new_view",
    ),
    Mutant(
        "etcd.py",
        "        if state.view.number == self._shown:\n            self._limit",
        "        if True:\n            self._limit",
        "the numbers of a newer view are used in the fences of an older one",
        "fences_of_an_older",
    ),
    Mutant(
        "etcd.py",
        "if state.view.number > self._shown:\n            self._shown",
        "if state.view.number >= self._shown:\n            self._shown",
        "a block for fences is taken for a new view",
        "without_a_new_view",
    ),
    Mutant(
        "etcd_keys.py",
        "numbers = (number, highest, self.longest)",
        "numbers = (number, number, self.longest)",
        "a block for fences is not written down",
        "without_a_new_view",
    ),
    # An etcd that goes back
    Mutant(
        "etcd.py",
        "if self._views.gone_since is not None:",
        "if False:",
        "a member that has seen etcd go back joins again at once",
        "whoever_knew_them",
    ),
    Mutant(
        "etcd.py",
        "self._keep_quiet(at, max(state.longest, seconds))",
        "self._keep_quiet(at, seconds)",
        "a newcomer to a restored etcd waits for its own lease only",
        "has_forgotten",
    ),
    Mutant(
        "etcd.py",
        "longest = max(self._views.known.longest, seconds)",
        "longest = seconds",
        "a member of a restored etcd waits for its own lease only",
        "whoever_knew_them",
    ),
    Mutant(
        "etcd.py",
        "longest=max([old.longest, *(lease.ttl for lease in leases.values())])",
        "longest=max([0, *(lease.ttl for lease in leases.values())])",
        "the longest lease is forgotten with its member",
        "has_forgotten",
    ),
    Mutant(
        "etcd.py",
        "mark=self._mark if joining else old.mark._replace(term=snapshot.term)",
        "mark=self._mark",
        "a member that has not waited renews the mark",
        "do_not_hide",
    ),
    Mutant(
        "etcd_keys.py",
        "return same and (not self.log or earlier.log <= self.log)",
        "return same",
        "a snapshot that was restored in place is not noticed by newcomers",
        "which_etcd or newcomer",
    ),
    Mutant(
        "etcd_keys.py",
        'same = earlier.cluster in ("", self.cluster)',
        "same = True",
        "a restored etcd with another cluster_id is not noticed by newcomers",
        "which_etcd or newcomer",
    ),
    Mutant(
        "etcd_views.py",
        "if revision < floor.revision or 0 < state.register.highest < floor.number:",
        "if 0 < state.register.highest < floor.number:",
        "etcd's revision may fall",
        "must_not_fall",
    ),
    Mutant(
        "etcd_views.py",
        "if revision < floor.revision or 0 < state.register.highest < floor.number:",
        "if revision < floor.revision:",
        "numbers may fall",
        "must_not_fall",
    ),
    Mutant(
        "etcd_views.py",
        "        if state.register.highest < floor.number:\n",
        "        if False:\n",
        "keys may be removed",
        "must_not_fall",
    ),
    Mutant(
        "etcd_views.py",
        "            await self._must_follow(known, patience)\n",
        "            pass\n",
        "etcd went back, and was changed so often since that its numbers are higher",
        "changed_since",
    ),
    Mutant(
        "etcd_views.py",
        '            if "compacted" in str(error):\n                return\n',
        "",
        "a compacted etcd counts as one that went back",
        "compacted",
    ),
    Mutant(
        "etcd_views.py",
        "        if self.gone_since is not None:\n            raise Gone(self._why)\n",
        "",
        "a member forgets that etcd went back",
        "must_not_fall",
    ),
    Mutant(
        "etcd_views.py",
        "if state.revision > self.known.revision:",
        "if state.revision != self.known.revision:",
        "an answer that was overtaken replaces a newer one",
        "overtaken",
    ),
    Mutant(
        "etcd.py",
        "            except Gone:\n                self.on_change(None)\n",
        "            except Gone:\n                pass\n",
        "a member whose watch finds that etcd went back is not told to look",
        "has_forgotten",
    ),
    # Servers
    Mutant(
        "etcd_gateway.py",
        "if found != self.cluster_id:",
        "if not found:",
        "another etcd is used as if it were this one",
        "two_etcds or moves_to",
    ),
    Mutant(
        "etcd_gateway.py",
        "if not self.cluster_id:",
        "if self.cluster_id != found:",
        "a member moves to another etcd for good",
        "moves_to",
    ),
    Mutant(
        "etcd_gateway.py",
        "                    self._must_belong(server, result)\n                    yield",
        "                    yield",
        "another etcd is watched",
        "is_not_watched",
    ),
    Mutant(
        "etcd.py",
        "        if self._gateway.trouble:\n            raise self._gateway.trouble\n",
        "",
        "a process joins though one of the servers belongs to another etcd",
        "two_etcds",
    ),
    Mutant(
        "etcd.py",
        "found, trouble = snapshot.state.view.number, self._gateway.trouble",
        "found, trouble = snapshot.state.view.number, None",
        "a member does not say that one of the servers belongs to another etcd",
        "moves_to",
    ),
    Mutant(
        "etcd_gateway.py",
        "share = patience / len(servers)",
        "share = patience",
        "one server that does not answer takes the time of all",
        "share_the_time",
    ),
    Mutant(
        "etcd_gateway.py",
        "            self._current = (server + 1) % len(self.address.endpoints)",
        "            pass",
        "a server that does not answer is asked first, every time",
        "at_another_server",
    ),
    Mutant(
        "etcd_gateway.py",
        'self._token, trouble = "", str(error)',
        "trouble = str(error)",
        "a token that is not valid any more is kept",
        "passwords",
    ),
    # PostgreSQL
    Mutant(
        "postgresql.py",
        "deadline = sent + (self.lease or 0) if is_in else -inf",
        "deadline = clock.now() + (self.lease or 0) if is_in else -inf",
        "PostgreSQL: a lease is counted from after the answer",
        "late_answer",
    ),
    Mutant(
        "postgresql.py",
        "if state.server != self.server:",
        "if False:",
        "PostgreSQL: a member goes on with a replica that was promoted",
        "lagged",
    ),
    Mutant(
        "postgresql.py",
        "if state.log < self.log or 0 < state.highest < self.highest:",
        "if 0 < state.highest < self.highest and False:",
        "PostgreSQL: a member goes on with a directory that was copied back",
        "copied_back",
    ),
    Mutant(
        "postgresql.py",
        "self._quiet_until = clock.now() + max(self._longest, self.lease or 0)",
        "self._quiet_until = clock.now()",
        "PostgreSQL: a member that was forgotten does not wait for the others",
        "rows_that_were_deleted",
    ),
    Mutant(
        "postgresql.py",
        "self._session.on_end = lambda: self.on_change(None)",
        "self._session.on_end = lambda: None",
        "PostgreSQL: the end of a connection is noticed at the next renewal only",
        "in_good_order",
    ),
    Mutant(
        "postgresql_schema.py",
        "                    AND extract(epoch FROM clock_timestamp()) < latest\n",
        "",
        "PostgreSQL: a clock that was set forward puts members out",
        "set_forward",
    ),
    Mutant(
        "postgresql_schema.py",
        "FOR UPDATE SKIP LOCKED",
        "FOR UPDATE",
        "PostgreSQL: a renewal that is under way is waited for",
        "renewal_is_under_way",
    ),
    Mutant(
        "postgresql_schema.py",
        "IF c.server <> here  --",
        "IF false  --",
        "PostgreSQL: a newcomer does not wait for those that a server has forgotten",
        "restored_elsewhere",
    ),
    Mutant(
        "postgresql_schema.py",
        "beyond := greatest(beyond, peerlock.origin() - 1);",
        "NULL;",
        "PostgreSQL: numbers on a promoted server do not continue from its clock",
        "knows_nothing",
    ),
    Mutant(
        "postgresql_schema.py",
        "(token = former OR server <> here)",
        "token = former",
        "PostgreSQL: members of the old server stay on a promoted one",
        "knows_nothing",
    ),
    Mutant(
        "postgresql_schema.py",
        "OR c.quiet_until > clock_timestamp() + quiet * interval '1 second' THEN",
        "THEN",
        "PostgreSQL: a clock that was set back keeps newcomers out",
        "keep_newcomers_out",
    ),
    Mutant(
        "postgresql_schema.py",
        "IF ahead > 0 AND ahead <= {SET_BACK} THEN",
        "IF false THEN",
        "PostgreSQL: numbers are ahead of the clock",
        "ahead_of_the_servers_clock",
    ),
    Mutant(
        "postgresql_schema.py",
        "    WHERE cluster = of AND deadline > clock_timestamp() + lease * interval",
        "    WHERE false AND deadline > clock_timestamp() + lease * interval",
        "PostgreSQL: a clock that was set back keeps the dead in",
        "set_back",
    ),
    Mutant(
        "postgresql_session.py",
        "if self._backend != str(line.backend):",
        "if False:",
        "PostgreSQL: a pooler is not looked at",
        "transaction_mode",
    ),
    Mutant(
        "postgresql_session.py",
        "if line.warning:",
        "if False:",
        "PostgreSQL: an answer with a warning counts",
        "with_a_warning",
    ),
    Mutant(
        "postgresql_session.py",
        "            except Broken:\n                return await",
        "            except ZeroDivisionError:\n                return await",
        "PostgreSQL: a question whose connection breaks is not asked again",
        "asked_again",
    ),
    Mutant(
        "postgresql_session.py",
        "IN ('off', 'local')",
        "IN ('none')",
        "PostgreSQL: a commit need not be on disk",
        "do_not_weaken",
    ),
]


def main(words: list[str]) -> int:
    wanted = [m for m in MUTANTS if " ".join(words) in m.breaks]
    survivors = []
    for mutant in wanted:
        caught = mutant.is_caught()
        print("caught  " if caught else "SURVIVES", mutant.file, mutant.breaks, flush=True)
        survivors += [] if caught else [mutant]
    print(f"{len(wanted) - len(survivors)} of {len(wanted)} are caught")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
