"""Every schedule of a small cluster of peers, and the shortest way to what goes wrong."""
