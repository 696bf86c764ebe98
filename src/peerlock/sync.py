"""Locks for threads, with the semantics of threading.Lock.

with peerlock.sync.join() as node:
    with node.lock("invoices") as grant:
        store.write(data, fence=grant.fence)
"""

from peerlock.api.threads import Grant, Lock, LockNode, join

__all__ = ["Grant", "Lock", "LockNode", "join"]
