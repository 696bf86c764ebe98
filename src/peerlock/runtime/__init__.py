"""Nodes in real processes: asyncio, sockets, frames.  It knows nothing about locking."""
