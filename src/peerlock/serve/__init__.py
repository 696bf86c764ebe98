"""What `peerlock serve` serves over HTTP: metrics, an API, and a live page."""
