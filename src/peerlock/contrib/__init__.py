"""Peerlock inside other libraries: each module needs the package that it is named after."""
