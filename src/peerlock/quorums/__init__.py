"""Quorum systems: which nodes a node asks, with load, resilience and availability."""
