"""Peerlock in the box of others: each module needs the package that it is named after."""
