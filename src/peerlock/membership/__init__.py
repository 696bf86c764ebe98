"""Membership: engines that keep the members of a cluster and number the changes."""
