"""`peerlock lab`: the page on which algorithms are played, on this machine."""

from __future__ import annotations

import webbrowser

import click

from peerlock.lab.serve import Lab


@click.command()
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    metavar="PORT",
    help="Port on 127.0.0.1.  [default: a free one]",
)
@click.option("--no-open", is_flag=True, help="Print the address and open no browser.")
def lab(port: int, no_open: bool) -> None:
    """Play, watch, break and check the algorithms on a page in the browser.

    The page is served on 127.0.0.1 until Ctrl-C.  Its address contains a secret,
    because the page runs Python as you: do not pass it on.

    Exit codes: 0 ended by Ctrl-C; 2 wrong usage, or the page is not built.
    """
    with Lab(port) as server:
        click.echo(f"the lab is at {server.address} until Ctrl-C")
        if not no_open:
            webbrowser.open(server.address)
        try:
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            click.echo("ended")
