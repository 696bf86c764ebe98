"""`python -m peerlock` is `peerlock`."""

from peerlock.cli.main import main

main()
