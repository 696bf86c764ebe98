"""Peers, messages, effects, quorum systems and topologies: no I/O, no clock."""
