"""`peerlock migrate`: the schema of a cluster in PostgreSQL."""

from __future__ import annotations

import asyncio

import click

from peerlock.cli.cluster import complain_about_cluster
from peerlock.cli.output import cluster_option
from peerlock.core.errors import UsageError
from peerlock.membership.place import chosen, engine_for
from peerlock.membership.postgresql_schema import GRANTS, SCHEMA


@click.command()
@click.option("--sql", is_flag=True, help="Print the SQL statements and run nothing.")
@cluster_option
def migrate(sql: bool, cluster: str | None) -> None:
    """Make the tables of a postgresql:// cluster.

    The first process that joins makes them, too, if its user may create a schema.  If not,
    let an administrator run the output of `peerlock migrate --sql`, and the GRANT
    statements at its end for that user.  Tables that are there keep their content.

    Exit codes: 0 success; 2 wrong usage; 69 the database cannot be used.
    """
    if sql:
        grants = "".join(f"-- {line}\n" for line in GRANTS.format(role="USER").splitlines())
        click.echo(
            f"{SCHEMA}\n-- For another user than the one that has run this:\n{grants}"
        )
        return
    url = chosen(cluster) or ""
    if not url.startswith(("postgresql://", "postgres://")):
        raise UsageError(
            "only a postgresql:// cluster has tables to be made: use --cluster"
        )
    with complain_about_cluster():
        asyncio.run(made(url))


async def made(url: str) -> None:
    from peerlock.membership.postgresql import PostgresqlEngine

    engine = engine_for(url, None)
    assert isinstance(engine, PostgresqlEngine)
    try:
        await engine.migrate()
    finally:
        engine.close()
