"""`python -m peerlock` is `peerlock`."""

from peerlock.cli.start import start

start()
