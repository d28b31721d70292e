"""What alembic runs around the migrations: they share the one transaction of the connection they are given."""

from alembic import context

from rubrica.store.game_tables import standings

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=standings.metadata,
    version_table=context.config.attributes["version_table"],
    transactional_ddl=True,  # SQLite can, once its driver leaves the transaction to us
    render_as_batch=True,
)
context.run_migrations()
