"""A database as an older Rubrica left it: tables as its migrations made them, with the rows of now in them."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, MetaData, delete, insert, select

import rubrica.store
from rubrica.store.upgrade import VERSION_TABLE

CALLED = {  # before revision 0005
    "evaluations": "rubrics",
    "evaluation_versions": "rubric_versions",
    "evaluation_templates": "market_listings",
    "evaluation_reviews": "market_reviews",
    "game_evaluations": "game_rubrics",
}


def make_older(conn: Connection, revision: str) -> dict[str, int]:
    """Bring a database back to a revision; how many rows each of its tables has. What had no place then is lost."""
    now = MetaData()
    now.reflect(conn)
    rows = {table.name: conn.execute(select(table)).mappings().all() for table in now.sorted_tables}
    now.drop_all(conn)
    _migrate(conn, revision)
    older = MetaData()
    older.reflect(conn)
    conn.execute(delete(older.tables["users"]))
    counted = {}
    for table in older.sorted_tables:
        if table.name == VERSION_TABLE:
            continue
        found = rows[CALLED.get(table.name, table.name)]
        for row in found:
            values = {name: row.get("rubric_id" if name == "evaluation_id" else name) for name in table.c.keys()}  # noqa: SIM118 - columns
            conn.execute(insert(table).values({name: value for name, value in values.items() if value is not None}))
        counted[table.name] = len(found)
    return counted


def _migrate(conn: Connection, revision: str) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(str(rubrica.store.__file__)).parent / "migrations"))
    config.set_main_option("path_separator", "os")
    config.attributes.update(connection=conn, version_table=VERSION_TABLE)
    command.upgrade(config, revision)
